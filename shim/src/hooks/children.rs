//! Hooks that create child processes: fork(2), daemon(3), and clone(2) with its sharing flags.

use core::ffi::{CStr, c_int, c_long, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::tail::tail_jumps;
use crate::report::{self, Reason, Subject};
use crate::sys::next::Original;
use crate::{memory, path_cache, session, working_directory};

static FORK: Original = Original::new(c"fork");
static DAEMON: Original = Original::new(c"daemon");
static CLONE: Original = Original::new(c"clone");

type Fork = extern "C" fn() -> libc::pid_t;
type Daemon = extern "C" fn(c_int, c_int) -> c_int;

/// The child of fork(2) has memory of its own.
#[unsafe(no_mangle)]
extern "C" fn fork() -> libc::pid_t {
    let Some(original) = FORK.address() else { return Err::<c_int, _>(Errno::ENOSYS).reply() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Fork>(original) };
    let child = original();
    if child == 0 {
        path_cache::adopt();
    }
    child
}

/// daemon(3) changes the directory inside libc. It returns in the child.
#[unsafe(no_mangle)]
extern "C" fn daemon(stay: c_int, keep: c_int) -> c_int {
    let Some(original) = DAEMON.address() else { return Err::<c_int, _>(Errno::EACCES).reply() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Daemon>(original) };
    let mut result = -1;
    let _ = working_directory::change(|| {
        result = original(stay, keep);
        path_cache::adopt();
        Ok(())
    });
    result
}

/// With these flags, the child would see other trees, or another `/proc/self`, than the policy covers.
const REFUSED: u64 = flag(libc::CLONE_NEWUSER) | flag(libc::CLONE_NEWNS) | flag(libc::CLONE_NEWPID);
const SHARES_DIRECTORY: u64 = flag(libc::CLONE_FS);
const SHARES_MEMORY: u64 = flag(libc::CLONE_VM);

const fn flag(flag: c_int) -> u64 {
    flag.cast_unsigned() as u64
}

/// Prepares for creating a child with `flags`.
///
/// # Errors
/// `EPERM` if it would get namespaces of its own.
fn prepare(call: &CStr, flags: u64) -> Result<(), Errno> {
    if flags & REFUSED != 0 {
        let image = session::image()?;
        return Err(report::refused(image, Reason::Namespace, Subject::new(call, b"/")));
    }
    let shared = flags & (SHARES_DIRECTORY | SHARES_MEMORY);
    if shared == SHARES_DIRECTORY || shared == SHARES_MEMORY {
        // Two processes would share one cache without sharing the directory, or the reverse. The end of that is
        // unknown.
        path_cache::suspend();
    }
    Ok(())
}

/// Prepares for the raw call `number`, if it creates a child.
///
/// # Errors
/// As [`prepare`].
pub(super) fn prepare_raw(number: c_long, first: usize, second: usize) -> Result<(), Errno> {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_vfork {
        return prepare(c"vfork", SHARES_MEMORY);
    }
    match number {
        libc::SYS_clone => prepare(c"clone", first as u64),
        libc::SYS_clone3 => {
            let arguments = core::ptr::with_exposed_provenance::<u64>(first);
            let last = first.wrapping_add(size_of::<u64>().wrapping_sub(1));
            if second < size_of::<u64>() || memory::check(first).and(memory::check(last)).is_err() {
                // The kernel rejects it.
                return Ok(());
            }
            // SAFETY: the first and the last byte were just found readable.
            prepare(c"clone3", unsafe { arguments.read_unaligned() })
        }
        _ => Ok(()),
    }
}

tail_jumps! {
    clone => choose_clone;
    __clone => choose_clone;
}

extern "C" fn choose_clone(_start: *const c_void, _stack: *const c_void, flags: c_int) -> usize {
    let prepared = prepare(c"clone", flag(flags));
    match prepared.and_then(|()| CLONE.address().ok_or(Errno::ENOSYS)) {
        Ok(original) => original,
        Err(errno) => {
            errno.set();
            (refused as *const ()).expose_provenance()
        }
    }
}

/// The result of a denied call. `errno` is already set.
extern "C" fn refused() -> c_int {
    -1
}
