//! The entry points, with one file for each kind. Each has two statements: perform the mediated operation, and reply as
//! libc does.

pub(crate) mod attributes;
pub(crate) mod directories;
pub(crate) mod entries;
mod exec;
mod fts;
pub(crate) mod metadata;
mod moves_alone;
pub(crate) mod object;
pub(crate) mod open;
mod refusal;
mod renames;
mod set_id_bits;
pub(crate) mod sockets;
pub(crate) mod streams;
pub(crate) mod temporary;
pub(crate) mod walk;

// Hooks for functions and calls that only Linux has.
#[cfg(target_os = "linux")]
mod accounting;
#[cfg(target_os = "linux")]
mod aliases;
#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod configured;
#[cfg(target_os = "linux")]
mod databases;
#[cfg(target_os = "linux")]
mod dynamic;
#[cfg(target_os = "linux")]
pub(crate) mod filesystem;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
pub(crate) mod inotify;
#[cfg(target_os = "linux")]
mod internals;
#[cfg(target_os = "linux")]
mod interrupts;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "linux")]
pub(crate) mod namespaces;
#[cfg(target_os = "linux")]
mod openat2;
#[cfg(target_os = "linux")]
mod popen;
#[cfg(target_os = "linux")]
pub(crate) mod posix_names;
#[cfg(target_os = "linux")]
mod privileged;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod syscall;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod tail;
#[cfg(target_os = "linux")]
mod variadic;
#[cfg(target_os = "linux")]
mod words;
#[cfg(target_os = "linux")]
pub(crate) mod xattrs;

// Hooks for functions that only libSystem has, and the table in which dyld finds all hooks.
#[cfg(target_os = "macos")]
mod macos;
