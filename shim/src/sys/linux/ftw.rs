//! Constants of nftw(3) in glibc and musl (ftw.h).

use core::ffi::c_int;

use crate::hooks::walk::Kind;
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
pub(crate) fn number(kind: Kind) -> c_int {
    let number = match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Unreadable => 2,
        Kind::Unknown => 3,
        Kind::Link => 4,
        Kind::DirectoryAfter => 5,
        Kind::DanglingLink => 6,
    };
    if libc_functions::is_glibc() { number } else { number.wrapping_add(1) }
}
