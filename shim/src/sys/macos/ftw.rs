//! Constants of nftw(3) in libSystem (ftw.h).

use core::ffi::c_int;

use crate::hooks::walk::Kind;

pub(crate) const PHYSICAL: c_int = 1;
pub(crate) const MOUNT: c_int = 2;
pub(crate) const DEPTH: c_int = 4;
pub(crate) const CHANGE: c_int = 8;
/// Only in glibc.
pub(crate) const ACTIONS: c_int = 0;

/// The entry type of readdir(3).
pub(crate) type Entry = libc::dirent;

/// The number of a kind.
pub(crate) const fn number(kind: Kind) -> c_int {
    match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Unreadable => 2,
        Kind::DirectoryAfter => 3,
        Kind::Unknown => 4,
        Kind::Link => 5,
        Kind::DanglingLink => 6,
    }
}
