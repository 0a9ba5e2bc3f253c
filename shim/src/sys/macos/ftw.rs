//! Constants of nftw(3) in libSystem (ftw.h).

use core::ffi::c_int;

use crate::hooks::walk::ObjectKind;

pub(crate) const PHYSICAL: c_int = 1;
pub(crate) const MOUNT: c_int = 2;
pub(crate) const DEPTH: c_int = 4;
pub(crate) const CHANGE: c_int = 8;
/// Only in glibc.
pub(crate) const ACTIONS: c_int = 0;

/// The entry type of readdir(3).
pub(crate) type Entry = libc::dirent;

/// The number of a kind.
pub(crate) const fn number(kind: ObjectKind) -> c_int {
    match kind {
        ObjectKind::File => 0,
        ObjectKind::Directory => 1,
        ObjectKind::Unreadable => 2,
        ObjectKind::DirectoryAfter => 3,
        ObjectKind::Unknown => 4,
        ObjectKind::Link => 5,
        ObjectKind::DanglingLink => 6,
    }
}
