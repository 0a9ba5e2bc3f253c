//! Asks the kernel what this user may do with a file.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

/// The user's own access to a place, as the system reports it.
pub(crate) type Rights = fn(&Path, Access) -> Result<(), Errno>;

/// The system's current answer.
pub(super) fn rights(place: &Path, access: Access) -> Result<(), Errno> {
    accessat(CWD, place, access, AtFlags::EACCESS)
}
