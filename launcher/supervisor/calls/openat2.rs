//! openat2(2): its resolve flags change the meaning of a path. So the kernel must say where it leads before the policy
//! can judge.

use std::os::fd::OwnedFd;

use rustix::fs::ResolveFlags;
use rustix::io::Errno;

use super::open::{OpenArguments, learn_absent, open_argument, open_held};
use crate::supervisor::descriptor_slot;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::resolve::openat2::{HowToResolve, Reached};
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;

/// The size of `struct open_how` as known here, and the largest that the kernel accepts.
const KNOWN_SIZE: usize = 24;
const LARGEST: usize = 4096;

/// Flags of open(2) that openat2(2) accepts and that have no meaning here.
const WITHOUT_MEANING: i32 = libc::O_LARGEFILE | 0o100_000;

/// `RESOLVE_CACHED`.
const CACHED: u64 = ResolveFlags::CACHED.bits();

/// `RESOLVE_NO_XDEV` to `RESOLVE_CACHED`.
const KNOWN_RESOLVE: u64 = 0x3f;

/// openat2(2).
pub(crate) fn open(
    task: &Task<'_>,
    dirfd: i32,
    path: u64,
    how: u64,
    size: u64,
) -> Result<CallResult, Errno> {
    let (how, resolve) = read(task, how, size)?;
    how.check()?;
    if how.has(libc::O_PATH) {
        // Such a descriptor cannot be handed over. A caller that makes the call itself may have changed the flags in
        // its memory. The older calls support it.
        return Err(Errno::NOSYS);
    }
    let argument = task.argument(dirfd, path)?;
    let resolution = match ResolveFlags::from_bits_retain(resolve) {
        none if none.is_empty() => None,
        flags => Some(HowToResolve::new(&argument, dirfd, flags)?),
    };
    if how.changes() {
        descriptor_slot::expect(&task.caller)?;
    }
    let _acting = task.begin()?;
    let task = task.called(how.name(task.call));
    match resolution {
        None => open_argument(&task, &argument, how),
        Some(resolution) => open_resolved(&task, &argument, &resolution, how),
    }
}

/// Reads `struct open_how`, whose fields are 64-bit words.
fn read(task: &Task<'_>, address: u64, size: u64) -> Result<(OpenArguments, u64), Errno> {
    let size = usize::try_from(size).map_err(|_| Errno::TOOBIG)?;
    if size < KNOWN_SIZE {
        return Err(Errno::INVAL);
    }
    if size > LARGEST {
        return Err(Errno::TOOBIG);
    }
    let bytes = task.caller.bytes(address, size)?;
    let (known, later) = bytes.split_at_checked(KNOWN_SIZE).ok_or(Errno::INVAL)?;
    // Later fields ask for something unknown here unless they are zero.
    if later.iter().any(|&byte| byte != 0) {
        return Err(Errno::TOOBIG);
    }
    let (words, _) = known.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |&word| u64::from_ne_bytes(word));
    let flags = i32::try_from(word(0)).map_err(|_| Errno::INVAL)?;
    let mode = u32::try_from(word(1)).map_err(|_| Errno::INVAL)?;
    let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let how = OpenArguments::new(flags, mode);
    // Unlike open(2), it rejects unknown flags, and a mode without a file to create.
    let unknown = how.flags() != flags & !WITHOUT_MEANING || word(2) & !KNOWN_RESOLVE != 0;
    if unknown || mode & !0o7777 != 0 || (!creates && mode != 0) {
        return Err(Errno::INVAL);
    }
    // A file that is not cached cannot be created or truncated from the cache.
    if word(2) & CACHED != 0 && how.changes() {
        return Err(Errno::AGAIN);
    }
    Ok((how, word(2)))
}

/// Opens the target of the path, mediated.
fn open_resolved(
    task: &Task<'_>,
    argument: &Argument<'_>,
    resolution: &HowToResolve<'_>,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    let opened = if how.has(libc::O_CREAT) {
        resolution
            .entry(how.stops_at_link())
            .and_then(|reached| open_or_make(task, argument, reached, how))
    } else {
        resolution
            .object(how.stops_at_link())
            .and_then(|found| open_found(task, argument, found, how))
    };
    opened.inspect_err(|errno| learn_absent(task, argument, how, *errno))
}

/// Opens a pinned object.
fn open_found(
    task: &Task<'_>,
    argument: &Argument<'_>,
    found: OwnedFd,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    let object = Object::reached(argument.caller(), found)?;
    open_held(task, argument, &object, how)
}

/// Opens or creates the last component of a path.
fn open_or_make(
    task: &Task<'_>,
    argument: &Argument<'_>,
    reached: Reached,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    match reached {
        Reached::Directory(_) if how.exclusive() => Err(Errno::EXIST),
        Reached::Directory(found) => open_found(task, argument, found, how),
        Reached::Entry { directory, name } => {
            let argument = Argument::below(*argument.caller(), directory, name);
            open_argument(task, &argument, how.with(libc::O_NOFOLLOW))
        }
    }
}
