//! macOS: the functions of libSystem that are one system call each. dyld leaves out the image that holds the table, so
//! this library's calls never go to its own hooks.

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
