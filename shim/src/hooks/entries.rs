//! Hooks that create, move and delete directory entries. None of them follows a symlink at the end of a path.

use core::cell::OnceCell;
use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_engine::changes::{self, Enforcer, Pinned, may_create};
use jp_confine_engine::decide::{self, Denial, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry::{self, Change, Last, PathArgument};
use jp_confine_engine::report_protocol::{PRIVATE_DIRECTORY, is_private_directory};
use jp_confine_engine::{Capabilities, set_id};
use libc::dev_t;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::{Errno, Reply};
#[cfg(target_os = "linux")]
use crate::hooks::attributes::path_of;
use crate::hooks::renames::move_entry;
use crate::memory::Text;
use crate::mmap_box::MmapBox;
use crate::path::{NAME, Spelling};
use crate::report::{self, Other, Reason, Subject};
use crate::resolve::{self, Entry};
use crate::{session, sys, working_directory};

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

/// Pins the directory of an entry, asks `judge`, and calls `act` there.
///
/// # Errors
/// The kernel's; `EACCES` or `ENOENT` if the policy denies it.
fn on_entry(
    call: &CStr,
    argument: Argument,
    kind: Change,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    act: impl FnOnce(c_int, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(argument.dirfd, argument.path)?;
    match resolve::entry(image, &mut spelling) {
        Ok(Some(entry)) => {
            changes::settle_entry(&Enforcing { image, call }, &entry, judge)?;
            act(entry.dirfd(), entry.name())
        }
        Ok(None) => Err(no_entry(image, call, &spelling, kind)),
        Err(errno) => {
            judge_missing(image, call, &mut spelling, judge, errno, || as_spelled(argument, act))
        }
    }
}

/// The error for a path that names no entry.
#[cold]
#[inline(never)]
pub(super) fn no_entry(image: &Image<'_>, call: &CStr, spelling: &Spelling, kind: Change) -> Errno {
    no_entry::error(&Enforcing { image, call }, spelling, kind)
}

/// The outcome for an entry in a missing directory. The verdict on its spelling comes first. In a learning run the
/// supervisor must see the call, so `again` makes it and its outcome counts.
#[cold]
pub(super) fn judge_missing(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    errno: Errno,
    again: impl FnOnce() -> Result<(), Errno>,
) -> Result<(), Errno> {
    resolve::apply_verdict_where_absent(image, call, spelling, judge)?;
    if image.is_learned_from() { again() } else { Err(errno) }
}

/// Calls `act` with the path as the program spelled it.
#[cold]
#[inline(never)]
pub(super) fn as_spelled(
    at: Argument,
    act: impl FnOnce(c_int, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut spelling = MmapBox::<Spelling>::blank()?;
    spelling.read(at.dirfd, at.path)?;
    let (dirfd, path) = spelling.as_spelled();
    act(dirfd, path)
}

/// Creates an entry with `act`.
///
/// # Errors
/// The kernel's; `EACCES` or `ENOENT` if the policy denies it.
#[cfg(target_os = "macos")]
pub(super) fn create(
    call: &CStr,
    at: Argument,
    act: impl FnOnce(c_int, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    on_entry(call, at, Change::Create, may_create, act)
}

/// mkdir(2).
///
/// # Errors
/// The kernel's; `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn make_directory(call: &CStr, at: Argument, mode: c_uint) -> Result<(), Errno> {
    on_entry(told(call, mode), at, Change::Create, decide::make_directory, |dirfd, name| {
        sys::mkdirat(dirfd, name, set_id::of_new(mode))
    })
}

/// The name under which a denied mkdir of this mode is reported.
const fn told(call: &CStr, mode: c_uint) -> &CStr {
    if is_private_directory(mode) { PRIVATE_DIRECTORY } else { call }
}

pub(super) fn make_node(
    call: &CStr,
    at: Argument,
    mode: c_uint,
    device: dev_t,
) -> Result<(), Errno> {
    let kind = mode & c_uint::from(libc::S_IFMT);
    // A device node bypasses every path. 0:0 marks a deleted file in overlay filesystems.
    if (kind == c_uint::from(libc::S_IFCHR) && device != 0) || kind == c_uint::from(libc::S_IFBLK) {
        return Err(refuse_device(call, at));
    }
    make_plain_node(call, at, mode, device)
}

#[inline(never)] // keeps its stack out of a denial
fn make_plain_node(call: &CStr, at: Argument, mode: c_uint, device: dev_t) -> Result<(), Errno> {
    on_entry(call, at, Change::Create, may_create, |dirfd, name| {
        sys::mknodat(dirfd, name, set_id::of_new(mode), device)
    })
}

/// Reports the denial, by the path as it is spelled.
#[cold]
#[inline(never)]
fn refuse_device(call: &CStr, at: Argument) -> Errno {
    let Ok(image) = session::image() else { return Errno::EACCES };
    let mut spelling = Spelling::new();
    if let Err(errno) = spelling.read(at.dirfd, at.path) {
        return errno;
    }
    spelling.collapse();
    report::refused(image, Reason::Namespace, Subject::new(call, spelling.lexical()))
}

pub(super) fn make_symlink(call: &CStr, target: *const c_char, at: Argument) -> Result<(), Errno> {
    // The kernel looks at the text first.
    if Text::at(target)?.first() == 0 {
        return Err(Errno::ENOENT);
    }
    let copied = OnceCell::new();
    let judge = |image: &Image<'_>, entry: &Request<'_>| {
        decide::symlink(image, entry, || text_of(target, &copied))
    };
    on_entry(call, at, Change::Create, judge, |dirfd, name| {
        let target =
            copied.get().map_or(target, |text: &MmapBox<PathBuffer>| text.c_str(0).as_ptr());
        sys::symlinkat(target, dirfd, name)?;
        working_directory::announce_change();
        Ok(())
    })
}

/// The target of a new symlink, copied once, so that the kernel gets the judged text. Empty if it is not a path.
#[cold]
#[inline(never)]
fn text_of(target: *const c_char, copied: &OnceCell<MmapBox<PathBuffer>>) -> &[u8] {
    if copied.get().is_none() {
        let Ok(mut text) = MmapBox::<PathBuffer>::blank() else { return &[] };
        if Text::at(target).and_then(|at| at.copy_to(&mut text)).is_err() {
            return &[];
        }
        let _ = copied.set(text);
    }
    copied.get().map_or(&[], |text| text.as_bytes())
}

pub(super) fn remove_entry(call: &CStr, at: Argument, flags: c_int) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    if flags & !libc::AT_REMOVEDIR != 0 {
        return Err(Errno::EINVAL);
    }
    let is_directory = flags & libc::AT_REMOVEDIR != 0;
    let kind = if is_directory { Change::RemoveDirectory } else { Change::Remove };
    let judge = if is_directory { decide::remove_directory } else { decide::remove };
    let outcome = on_entry(call, at, kind, judge, |dirfd, name| sys::unlinkat(dirfd, name, flags));
    if is_directory && outcome.is_ok() {
        working_directory::announce_change();
    }
    outcome
}

/// link(2): pins the object that gets a second name, so that no other can take its place.
pub(super) fn make_link(
    call: &CStr,
    old: Argument,
    new: Argument,
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !(sys::EMPTY_PATH | libc::AT_SYMLINK_FOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    let image = session::image()?;
    let mut path = PathBuffer::new();
    #[cfg(target_os = "linux")]
    let Some(named) = path_of(old.dirfd, old.path, flags)? else {
        resolve::locate(old.dirfd, &mut path)?;
        let is_symlink = sys::is_symlink_descriptor(old.dirfd);
        return link_object(image, call, (&path, is_symlink), new, |dirfd, name| {
            sys::link_descriptor(old.dirfd, dirfd, name)
        });
    };
    #[cfg(target_os = "linux")]
    let old = Argument { path: named, ..old };
    let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
    let held = hold(image, call, old, if follow { 0 } else { libc::O_NOFOLLOW }, &mut path)?;
    let old = (&path, sys::is_held_symlink(&held));
    link_object(image, call, old, new, |dirfd, name| sys::link(&held, dirfd, name))
}

/// Pins an object that should get another name.
#[inline(never)]
fn hold(
    image: &Image<'_>,
    call: &CStr,
    old: Argument,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<sys::Object, Errno> {
    let mut from = Spelling::new();
    from.read(old.dirfd, old.path)?;
    resolve::pin_by_place(image, call, &mut from, flags, path, decide::metadata)
}

#[inline(never)]
fn link_object(
    image: &Image<'_>,
    call: &CStr,
    (path, is_symlink): (&PathBuffer, bool),
    new: Argument,
    act: impl FnOnce(c_int, &CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut to = Spelling::new();
    to.read(new.dirfd, new.path)?;
    let entry = match resolve::entry(image, &mut to) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(no_entry(image, call, &to, Change::Create)),
        Err(errno) => {
            let again = || as_spelled(new, act);
            return judge_missing(image, call, &mut to, may_create, errno, again);
        }
    };
    let object = (!resolve::is_anonymous(path.as_bytes())).then_some((path.as_bytes(), is_symlink));
    changes::settle_link(&Enforcing { image, call }, object, &entry)?;
    act(entry.dirfd(), entry.name())?;
    if is_symlink {
        working_directory::announce_change();
    }
    Ok(())
}

/// The library as the layer that enforces verdicts, in a call of this name.
pub(super) struct Enforcing<'a> {
    pub(super) image: &'a Image<'a>,
    pub(super) call: &'a CStr,
}

impl Enforcer for Enforcing<'_> {
    type Error = Errno;
    const EXISTS: Errno = Errno::EEXIST;
    const MISSING: Errno = Errno::ENOENT;
    const ELSEWHERE: Errno = Errno::EXDEV;
    const DENIED: Errno = Errno::EACCES;
    const BUSY: Errno = Errno::EBUSY;
    const IN_USE: Errno = Errno::EADDRINUSE;
    const IS_DIRECTORY: Errno = Errno::EISDIR;
    const INVALID: Errno = Errno::EINVAL;
    const NOT_EMPTY: Errno = Errno::ENOTEMPTY;

    fn image(&self) -> &Image<'_> {
        self.image
    }

    fn called(&self, call: &'static CStr) -> Self {
        Self { call, ..*self }
    }

    fn settle(
        &self,
        denial: Denial,
        about: &Request<'_>,
        (path, wanted): (&[u8], Capabilities),
    ) -> Result<(), Errno> {
        let subject = Subject::of(self.call, about);
        report::apply_verdict_to_pair(self.image, denial, subject, Other { path, wanted })
    }
}

impl PathArgument<Enforcing<'_>> for Spelling {
    fn last(&self) -> Last {
        Self::last(self)
    }

    fn find_before_dots(&self, layer: &Enforcing<'_>) -> Result<(), Errno> {
        let (dirfd, path) = self.as_spelled();
        let path = path.to_bytes();
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let before = if path == b".." { b"." } else { path.strip_suffix(b"/..").unwrap_or(path) };
        let mut text = MmapBox::<PathBuffer>::blank()?;
        text.push(before)?;
        text.push(b"/.")?;
        let mut directory = MmapBox::<Self>::blank()?;
        directory.read_own(dirfd, text.as_bytes())?;
        let Enforcing { image, call } = *layer;
        let held = resolve::pin_judged_far(image, call, &mut directory, 0, decide::metadata)?;
        // The lookup fails, as the kernel's would, if the caller may not search the directory.
        #[cfg(target_os = "linux")]
        sys::find(held.raw(), c".")?;
        #[cfg(target_os = "macos")]
        let _ = held;
        Ok(())
    }

    #[inline(never)] // keeps its stack out of the search before the dots
    fn settle_entry(
        &mut self,
        layer: &Enforcing<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
        settle: impl FnOnce(&Request<'_>) -> Result<(), Errno>,
    ) -> Result<bool, Errno> {
        match resolve::entry(layer.image, self) {
            Ok(Some(entry)) => settle(&entry.request()).map(|()| true),
            Ok(None) => Ok(false),
            Err(errno) => {
                resolve::apply_verdict_where_absent(layer.image, layer.call, self, judge)?;
                Err(errno)
            }
        }
    }
}

impl Pinned for Entry<'_> {
    type Error = Errno;

    fn request(&self) -> Request<'_> {
        Self::request(self)
    }

    fn find(&self) -> Result<(), Errno> {
        if self.wants_directory() { find_bare(self) } else { sys::find(self.dirfd(), self.name()) }
    }

    fn is_directory(&self) -> bool {
        sys::is_directory(self.dirfd(), self.name())
    }

    fn is_symlink(&self) -> bool {
        sys::is_symlink(self.dirfd(), self.name())
    }
}

#[cold]
#[inline(never)]
fn find_bare(entry: &Entry<'_>) -> Result<(), Errno> {
    let mut name = Buffer::<NAME>::new();
    let spelled = entry.name().to_bytes();
    name.push(spelled.strip_suffix(b"/").unwrap_or(spelled))?;
    sys::find(entry.dirfd(), name.c_str(0))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    make_directory(c"mkdir", Argument::here(path), mode).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn mkdirat(dirfd: c_int, path: *const c_char, mode: c_uint) -> c_int {
    make_directory(c"mkdirat", Argument { dirfd, path }, mode).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn mknod(path: *const c_char, mode: c_uint, device: dev_t) -> c_int {
    make_node(c"mknod", Argument::here(path), mode, device).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn mknodat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    device: dev_t,
) -> c_int {
    make_node(c"mknodat", Argument { dirfd, path }, mode, device).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn mkfifo(path: *const c_char, mode: c_uint) -> c_int {
    make_node(c"mkfifo", Argument::here(path), c_uint::from(libc::S_IFIFO) | mode, 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn mkfifoat(dirfd: c_int, path: *const c_char, mode: c_uint) -> c_int {
    make_node(c"mkfifoat", Argument { dirfd, path }, c_uint::from(libc::S_IFIFO) | mode, 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn symlink(target: *const c_char, path: *const c_char) -> c_int {
    make_symlink(c"symlink", target, Argument::here(path)).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn symlinkat(
    target: *const c_char,
    dirfd: c_int,
    path: *const c_char,
) -> c_int {
    make_symlink(c"symlinkat", target, Argument { dirfd, path }).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn link(old: *const c_char, new: *const c_char) -> c_int {
    make_link(c"link", Argument::here(old), Argument::here(new), 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
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

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn unlink(path: *const c_char) -> c_int {
    remove_entry(c"unlink", Argument::here(path), 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn unlinkat(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    remove_entry(c"unlinkat", Argument { dirfd, path }, flags).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn rmdir(path: *const c_char) -> c_int {
    remove_entry(c"rmdir", Argument::here(path), libc::AT_REMOVEDIR).reply()
}

/// remove(3): `unlink`, then `rmdir` if the entry is a directory.
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn remove(path: *const c_char) -> c_int {
    let at = Argument::here(path);
    match remove_entry(c"remove", at, 0) {
        Err(sys::IS_DIRECTORY) => remove_entry(c"remove", at, libc::AT_REMOVEDIR).reply(),
        outcome => outcome.reply(),
    }
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    move_entry(c"rename", Argument::here(old), Argument::here(new), 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn renameat(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
) -> c_int {
    let old = Argument { dirfd: olddirfd, path: old };
    move_entry(c"renameat", old, Argument { dirfd: newdirfd, path: new }, 0).reply()
}
