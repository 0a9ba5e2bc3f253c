//! Asks the kernel what this user may do with a file.

use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

/// What the system says of the user's own access to a place.
pub(crate) type Rights = fn(&Path, Access) -> Result<(), Errno>;
