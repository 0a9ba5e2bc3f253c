//! Making, moving and removing directory entries. None of them follows a link at the end.

use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, Destination, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::path::Spelling;
use crate::places::DescriptorLink;
use crate::report::{self, Subject};
use crate::resolve::{self, Entry};
use crate::sys::{self, word};
use crate::{session, working_directory};

/// A path argument of a call.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) dirfd: c_int,
    pub(crate) path: *const c_char,
}

impl Argument {
    pub(crate) const fn here(path: *const c_char) -> Self {
        Self { dirfd: libc::AT_FDCWD, path }
    }
}

/// Pins the directory of an entry, has `judge` decide, and lets `act` do it there. `no_entry` is
/// the answer for `.`, `..` and the root, which cannot be made or removed.
///
/// # Errors
/// The kernel's; `EACCES` or `ENOENT` where the policy refuses.
fn on_entry(
    call: &CStr,
    argument: Argument,
    no_entry: Errno,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    act: impl FnOnce(c_int, &CStr) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(argument.dirfd, argument.path)?;
    match resolve::entry(image, &mut spelling) {
        Ok(Some(entry)) => {
            let verdict = judge(image, &entry.request());
            if is_making_what_exists(verdict, &entry) {
                return Err(Errno::EEXIST);
            }
            report::settle(image, verdict, Subject::new(call, entry.path()))?;
            act(entry.dirfd(), entry.name()).map(|_| ())
        }
        Ok(None) => Err(no_entry),
        Err(errno) => Err(nowhere(image, call, &mut spelling, judge, errno)),
    }
}

/// Tools make every directory above the one they want. That one on the way to something granted
/// exists is no secret, and it is what they need to hear.
fn is_making_what_exists(verdict: Verdict, entry: &Entry<'_>) -> bool {
    matches!(verdict, Verdict::Deny(denial)
        if denial.visible == entry.path().len() && denial.missing == Capabilities::CREATE && exists(entry))
}

/// An entry in a directory that does not exist: the verdict of its spelling goes first.
#[cold]
fn nowhere(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    errno: Errno,
) -> Errno {
    spelling.collapse();
    let verdict = judge(image, &spelling.request());
    report::settle(image, verdict, Subject::new(call, spelling.lexical())).err().unwrap_or(errno)
}

fn may_create(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    decide::access(image, request, Capabilities::CREATE)
}

fn address(text: &CStr) -> usize {
    text.as_ptr().expose_provenance()
}

/// mkdir(2).
///
/// # Errors
/// The kernel's; `EACCES` or `ENOENT` where the policy refuses.
pub(crate) fn make_directory(call: &CStr, at: Argument, mode: c_uint) -> Result<(), Errno> {
    on_entry(call, at, Errno::EEXIST, may_create, |dirfd, name| {
        sys::call(libc::SYS_mkdirat, [word(dirfd), address(name), mode as usize, 0, 0, 0])
    })
}

fn make_node(call: &CStr, at: Argument, mode: c_uint, device: u64) -> Result<(), Errno> {
    let device = usize::try_from(device).map_err(|_| Errno::EINVAL)?;
    let kind = mode & libc::S_IFMT;
    // A device node is a way around every path; 0:0 is the mark of overlay filesystems.
    if (kind == libc::S_IFCHR && device != 0) || kind == libc::S_IFBLK {
        return Err(Errno::EPERM);
    }
    on_entry(call, at, Errno::EEXIST, may_create, |dirfd, name| {
        let args = [word(dirfd), address(name), mode as usize, device, 0, 0];
        sys::call(libc::SYS_mknodat, args)
    })
}

fn make_symlink(call: &CStr, target: *const c_char, at: Argument) -> Result<(), Errno> {
    on_entry(call, at, Errno::EEXIST, may_create, |dirfd, name| {
        let target = target.expose_provenance();
        sys::call(libc::SYS_symlinkat, [target, word(dirfd), address(name), 0, 0, 0])
    })
}

fn remove_entry(call: &CStr, at: Argument, flags: c_int) -> Result<(), Errno> {
    let no_entry = if flags & libc::AT_REMOVEDIR == 0 { Errno::EISDIR } else { Errno::EINVAL };
    let outcome = on_entry(call, at, no_entry, decide::remove, |dirfd, name| {
        sys::call(libc::SYS_unlinkat, [word(dirfd), address(name), word(flags), 0, 0, 0])
    });
    if flags & libc::AT_REMOVEDIR != 0 && outcome.is_ok() {
        working_directory::announce_change();
    }
    outcome
}

/// link(2): the object that gets a second name is held, so that none other can take its place.
fn make_link(call: &CStr, old: Argument, new: Argument, flags: c_int) -> Result<(), Errno> {
    if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_FOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    let image = session::image()?;
    let mut path = PathBuffer::new();
    if flags & libc::AT_EMPTY_PATH != 0 && crate::memory::first_byte(old.path)? == 0 {
        resolve::locate(old.dirfd, &mut path)?;
        return link_object(image, call, &path, old.dirfd, new);
    }
    let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
    let held = hold(image, call, old, if follow { 0 } else { libc::O_NOFOLLOW }, &mut path)?;
    link_object(image, call, &path, held.raw(), new)
}

/// Holds an object that is to get another name.
#[inline(never)]
fn hold(
    image: &Image<'_>,
    call: &CStr,
    old: Argument,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<sys::Fd, Errno> {
    let mut from = Spelling::new();
    from.read(old.dirfd, old.path)?;
    resolve::pin(&from, flags, path)
        .map_err(|errno| nowhere(image, call, &mut from, decide::metadata, errno))
}

#[inline(never)]
fn link_object(
    image: &Image<'_>,
    call: &CStr,
    path: &PathBuffer,
    fd: c_int,
    new: Argument,
) -> Result<(), Errno> {
    let mut to = Spelling::new();
    to.read(new.dirfd, new.path)?;
    let entry = match resolve::entry(image, &mut to) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(Errno::EEXIST),
        Err(errno) => return Err(nowhere(image, call, &mut to, may_create, errno)),
    };
    let old = Request::canonical(path.as_bytes());
    let verdict = if resolve::is_anonymous(path.as_bytes()) {
        may_create(image, &entry.request())
    } else {
        decide::link(image, &old, &entry.request())
    };
    settle_pair(image, call, verdict, &old, &entry.request())?;
    let link = DescriptorLink::new(fd);
    let args = [
        word(libc::AT_FDCWD),
        address(link.as_c_str()),
        word(entry.dirfd()),
        address(entry.name()),
        word(libc::AT_SYMLINK_FOLLOW),
        0,
    ];
    sys::call(libc::SYS_linkat, args).map(|_| ())
}

/// Reports a refusal about the one of two paths that it is about.
fn settle_pair(
    image: &Image<'_>,
    call: &CStr,
    verdict: Verdict,
    first: &Request<'_>,
    second: &Request<'_>,
) -> Result<(), Errno> {
    let subject = match verdict {
        Verdict::Deny(denial) if denial.second => Subject::new(call, second.path),
        _ => Subject { call, path: first.path, route: second.path },
    };
    report::settle(image, verdict, subject)
}

/// rename(2) and renameat2(2).
fn move_entry(call: &CStr, old: Argument, new: Argument, flags: c_uint) -> Result<(), Errno> {
    let image = session::image()?;
    let mut from = Spelling::new();
    let mut to = Spelling::new();
    from.read(old.dirfd, old.path)?;
    to.read(new.dirfd, new.path)?;
    let source = match resolve::entry(image, &mut from) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(Errno::EBUSY),
        Err(errno) => return Err(nowhere(image, call, &mut from, decide::remove, errno)),
    };
    let target = match resolve::entry_beside(image, &source, &mut to) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(Errno::EBUSY),
        Err(errno) => return Err(nowhere(image, call, &mut to, may_create, errno)),
    };
    let plan = plan(image, &source, &target, flags);
    let subject = [source.request(), target.request()];
    let (flags, if_exists) = match plan {
        Plan::Go(flags) => (flags, None),
        Plan::OnlyNew(flags, denial) => (flags, Some(denial)),
        Plan::Refuse(denial) => {
            let [first, second] = subject;
            settle_pair(image, call, Verdict::Deny(denial), &first, &second)?;
            return Err(Errno::EACCES);
        }
    };
    let args = [
        word(source.dirfd()),
        address(source.name()),
        word(target.dirfd()),
        address(target.name()),
        flags as usize,
        0,
    ];
    let outcome = sys::call(libc::SYS_renameat2, args).map(|_| ());
    working_directory::announce_change();
    match (outcome, if_exists) {
        (Err(Errno::EEXIST), Some(denial)) => {
            let [first, second] = subject;
            settle_pair(image, call, Verdict::Deny(denial), &first, &second)
        }
        (outcome, _) => outcome,
    }
}

/// What of a rename is allowed.
enum Plan {
    /// With these flags of renameat2(2).
    Go(c_uint),
    /// With these flags, which make the kernel refuse an existing destination; the denial is for
    /// that case, unless the program asked for the refusal itself.
    OnlyNew(c_uint, Denial),
    Refuse(Denial),
}

fn plan(image: &Image<'_>, source: &Entry<'_>, target: &Entry<'_>, flags: c_uint) -> Plan {
    let judge =
        |destination| decide::rename(image, &source.request(), &target.request(), destination);
    if flags & libc::RENAME_EXCHANGE != 0 {
        return match judge(Destination::Exchange) {
            Verdict::Allow => Plan::Go(flags),
            Verdict::Deny(denial) => Plan::Refuse(denial),
        };
    }
    let fresh = judge(Destination::Missing);
    if flags & libc::RENAME_NOREPLACE != 0 {
        return match fresh {
            Verdict::Allow => Plan::Go(flags),
            Verdict::Deny(denial) => Plan::Refuse(denial),
        };
    }
    match (judge(Destination::Exists), fresh) {
        (Verdict::Allow, Verdict::Allow) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Allow) => {
            Plan::OnlyNew(flags | libc::RENAME_NOREPLACE, denial)
        }
        (Verdict::Allow, Verdict::Deny(_)) if exists(target) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Deny(_)) if exists(target) => Plan::Refuse(denial),
        (_, Verdict::Deny(denial)) => Plan::Refuse(denial),
    }
}

/// Whether an entry of that name exists, be it a dangling link.
fn exists(entry: &Entry<'_>) -> bool {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    sys::openat(entry.dirfd(), entry.name(), flags, 0).is_ok()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    make_directory(c"mkdir", Argument::here(path), mode).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mkdirat(dirfd: c_int, path: *const c_char, mode: c_uint) -> c_int {
    make_directory(c"mkdirat", Argument { dirfd, path }, mode).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mknod(path: *const c_char, mode: c_uint, device: u64) -> c_int {
    make_node(c"mknod", Argument::here(path), mode, device).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mknodat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    device: u64,
) -> c_int {
    make_node(c"mknodat", Argument { dirfd, path }, mode, device).reply()
}

/// `mknod` of programs built before glibc 2.33.
#[unsafe(no_mangle)]
extern "C" fn __xmknod(_: c_int, path: *const c_char, mode: c_uint, device: *const u64) -> c_int {
    read_device(device)
        .and_then(|device| make_node(c"mknod", Argument::here(path), mode, device))
        .reply()
}

#[unsafe(no_mangle)]
extern "C" fn __xmknodat(
    _: c_int,
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    device: *const u64,
) -> c_int {
    read_device(device)
        .and_then(|device| make_node(c"mknodat", Argument { dirfd, path }, mode, device))
        .reply()
}

fn read_device(device: *const u64) -> Result<u64, Errno> {
    crate::memory::check(device.addr())?;
    // SAFETY: the word was just found readable.
    Ok(unsafe { device.read_unaligned() })
}

#[unsafe(no_mangle)]
extern "C" fn mkfifo(path: *const c_char, mode: c_uint) -> c_int {
    make_node(c"mkfifo", Argument::here(path), libc::S_IFIFO | mode, 0).reply()
}

#[unsafe(no_mangle)]
extern "C" fn mkfifoat(dirfd: c_int, path: *const c_char, mode: c_uint) -> c_int {
    make_node(c"mkfifoat", Argument { dirfd, path }, libc::S_IFIFO | mode, 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn symlink(target: *const c_char, path: *const c_char) -> c_int {
    make_symlink(c"symlink", target, Argument::here(path)).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn symlinkat(
    target: *const c_char,
    dirfd: c_int,
    path: *const c_char,
) -> c_int {
    make_symlink(c"symlinkat", target, Argument { dirfd, path }).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn link(old: *const c_char, new: *const c_char) -> c_int {
    make_link(c"link", Argument::here(old), Argument::here(new), 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn linkat(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
    flags: c_int,
) -> c_int {
    let old = Argument { dirfd: olddirfd, path: old };
    make_link(c"linkat", old, Argument { dirfd: newdirfd, path: new }, flags).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn unlink(path: *const c_char) -> c_int {
    remove_entry(c"unlink", Argument::here(path), 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn unlinkat(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    remove_entry(c"unlinkat", Argument { dirfd, path }, flags).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rmdir(path: *const c_char) -> c_int {
    remove_entry(c"rmdir", Argument::here(path), libc::AT_REMOVEDIR).reply()
}

/// remove(3): `unlink`, and `rmdir` where that finds a directory.
#[unsafe(no_mangle)]
extern "C" fn remove(path: *const c_char) -> c_int {
    let at = Argument::here(path);
    match remove_entry(c"remove", at, 0) {
        Err(Errno::EISDIR) => remove_entry(c"remove", at, libc::AT_REMOVEDIR).reply(),
        outcome => outcome.reply(),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    move_entry(c"rename", Argument::here(old), Argument::here(new), 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn renameat(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
) -> c_int {
    let old = Argument { dirfd: olddirfd, path: old };
    move_entry(c"renameat", old, Argument { dirfd: newdirfd, path: new }, 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn renameat2(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    let old = Argument { dirfd: olddirfd, path: old };
    move_entry(c"renameat2", old, Argument { dirfd: newdirfd, path: new }, flags).reply()
}
