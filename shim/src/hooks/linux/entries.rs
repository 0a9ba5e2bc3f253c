//! Hooks for directory entries that exist only on Linux.

use core::ffi::{c_char, c_int, c_uint};

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

#[unsafe(no_mangle)]
pub(crate) extern "C" fn renameat2(
    olddirfd: c_int,
    old: *const c_char,
    newdirfd: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    let swaps_and_more = flags & libc::RENAME_EXCHANGE != 0 && flags != libc::RENAME_EXCHANGE;
    if flags & !RENAME_FLAGS != 0 || swaps_and_more {
        return Err::<c_int, _>(Errno::EINVAL).reply();
    }
    let old = Argument { dirfd: olddirfd, path: old };
    move_entry(c"renameat2", old, Argument { dirfd: newdirfd, path: new }, flags).reply()
}
