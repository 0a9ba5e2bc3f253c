//! Hooks for renaming with flags, and for exchanging.

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong};

use crate::errno::{Errno, Reply};
use crate::hooks::entries::Argument;
use crate::hooks::renames::move_entry;
use crate::sys;

/// Rejects flags that change which entries are meant, and unknown flags.
fn rename(call: &CStr, from: Argument, to: Argument, flags: c_uint) -> Result<(), Errno> {
    /// `RENAME_NOFOLLOW_ANY` (sys/stdio.h): holds anyway, because no symlink is followed from a pinned directory.
    const NOFOLLOW_ANY: c_uint = 0x10;
    let flags = flags & !NOFOLLOW_ANY;
    if flags & !(sys::RENAME_EXCHANGE | sys::RENAME_NOREPLACE) != 0 {
        return Err(Errno::EINVAL);
    }
    move_entry(call, from, to, flags)
}

pub(super) extern "C" fn renamex_np(
    from: *const c_char,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    rename(c"renamex_np", Argument::here(from), Argument::here(to), flags).reply()
}

pub(super) extern "C" fn renameatx_np(
    from_dirfd: c_int,
    from: *const c_char,
    to_dirfd: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    let from = Argument { dirfd: from_dirfd, path: from };
    rename(c"renameatx_np", from, Argument { dirfd: to_dirfd, path: to }, flags).reply()
}

/// exchangedata(2): exchanges the contents. Judged as if the entries changed places.
pub(super) extern "C" fn exchangedata(
    first: *const c_char,
    second: *const c_char,
    _options: c_ulong,
) -> c_int {
    let (first, second) = (Argument::here(first), Argument::here(second));
    move_entry(c"exchangedata", first, second, sys::RENAME_EXCHANGE).reply()
}
