//! Hooks for directory entries that exist only on Linux.

use core::ffi::{CStr, c_char, c_int, c_uint};

use libc::dev_t;

use crate::errno::{Errno, Reply};
use crate::hooks::entries::{Argument, make_node};
use crate::hooks::renames::move_entry;
use crate::memory;

/// `mknod` for programs built before glibc 2.33.
#[unsafe(no_mangle)]
extern "C" fn __xmknod(_: c_int, path: *const c_char, mode: c_uint, device: *const dev_t) -> c_int {
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
    device: *const dev_t,
) -> c_int {
    read_device(device)
        .and_then(|device| make_node(c"mknodat", Argument { dirfd, path }, mode, device))
        .reply()
}

/// The flags of renameat2(2).
const RENAME_FLAGS: c_uint = libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE | libc::RENAME_WHITEOUT;

fn read_device(device: *const dev_t) -> Result<dev_t, Errno> {
    memory::check(device.addr())?;
    // SAFETY: the word was just found readable.
    Ok(unsafe { device.read_unaligned() })
}

/// rename(2), and with flags renameat2(2).
#[inline(always)]
#[expect(clippy::inline_always, reason = "little stack is left for a call in between")]
pub(crate) fn rename(
    call: &CStr,
    old: Argument,
    new: Argument,
    flags: c_uint,
) -> Result<(), Errno> {
    let swaps_and_more = flags & libc::RENAME_EXCHANGE != 0 && flags != libc::RENAME_EXCHANGE;
    if flags & !RENAME_FLAGS != 0 || swaps_and_more {
        return Err(Errno::EINVAL);
    }
    move_entry(call, old, new, flags)
}

#[unsafe(no_mangle)]
extern "C" fn renameat2(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    let old = Argument { dirfd: olddirfd, path: old };
    rename(c"renameat2", old, Argument { dirfd: newdirfd, path: new }, flags).reply()
}
