//! The entry points, a file for each kind. Each is two statements: do the mediated operation,
//! reply as libc does.

pub(crate) mod attributes;
pub(crate) mod directories;
pub(crate) mod entries;
mod exec;
pub(crate) mod metadata;
pub(crate) mod namespaces;
pub(crate) mod object;
pub(crate) mod open;
mod openat2;
mod popen;
pub(crate) mod sockets;
mod spawn;
pub(crate) mod streams;
mod syscall;
mod system;
pub(crate) mod temporary;
mod variadic;
