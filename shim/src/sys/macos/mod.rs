//! macOS: the functions of libSystem that are one system call each. They bypass the library's own hooks: dyld does not
//! interpose calls of the image that holds the table.

mod calls;
pub(crate) mod ftw;
pub(crate) mod glob;
pub(crate) mod image;
pub(crate) mod next;
mod object;
pub(crate) mod preload;
pub(crate) mod process;
mod sockets;
pub(crate) mod startup;

pub(crate) use calls::*;
pub(crate) use object::*;
pub(crate) use sockets::*;
