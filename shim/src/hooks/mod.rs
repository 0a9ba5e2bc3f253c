//! The entry points, a file for each kind. Each is two statements: do the mediated operation,
//! reply as libc does.

mod accounting;
mod aliases;
pub(crate) mod attributes;
mod children;
mod configured;
mod databases;
pub(crate) mod directories;
mod dynamic;
pub(crate) mod entries;
mod exec;
pub(crate) mod filesystem;
mod fts;
mod guard;
pub(crate) mod inotify;
mod internals;
pub(crate) mod metadata;
pub(crate) mod namespaces;
pub(crate) mod object;
pub(crate) mod open;
mod openat2;
mod popen;
pub(crate) mod posix_names;
mod privileged;
pub(crate) mod sockets;
mod spawn;
pub(crate) mod streams;
mod syscall;
mod system;
mod tail;
pub(crate) mod temporary;
mod variadic;
mod walk;
mod words;
