//! Constants of nftw(3) in glibc and musl (ftw.h).

use core::ffi::c_int;

use crate::hooks::walk::ObjectKind;
use crate::libc_functions;

pub(crate) const PHYSICAL: c_int = 1;
pub(crate) const MOUNT: c_int = 2;
pub(crate) const CHANGE: c_int = 4;
pub(crate) const DEPTH: c_int = 8;
/// Only in glibc.
pub(crate) const ACTIONS: c_int = 16;

/// The entry type of readdir(3).
pub(crate) type Entry = libc::dirent64;

/// The number of a kind. musl's are greater by one.
pub(crate) fn number(kind: ObjectKind) -> c_int {
    let number = match kind {
        ObjectKind::File => 0,
        ObjectKind::Directory => 1,
        ObjectKind::Unreadable => 2,
        ObjectKind::Unknown => 3,
        ObjectKind::Link => 4,
        ObjectKind::DirectoryAfter => 5,
        ObjectKind::DanglingLink => 6,
    };
    if libc_functions::is_glibc() { number } else { number.wrapping_add(1) }
}
