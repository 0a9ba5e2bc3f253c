//! Handles the trapped calls, one file for each kind. Each handler reads the arguments, pins the objects, has them
//! judged, and acts on them for the caller. The answers match those of the preload library's hooks with the same names.

pub(super) mod abstract_sockets;
mod ancillary_data;
pub(super) mod attributes;
pub(super) mod directories;
mod enforcing;
pub(super) mod entries;
pub(super) mod exec;
mod git_links;
pub(super) mod inotify;
pub(super) mod library_reports;
pub(super) mod links;
pub(super) mod listening;
mod loaders;
pub(super) mod loopback;
mod netlink;
pub(super) mod network;
pub(super) mod open;
pub(super) mod openat2;
pub(super) mod processes;
pub(super) mod queues;
pub(super) mod receive;
pub(super) mod refused;
pub(super) mod renames;
pub(super) mod send;
pub(super) mod sockets;
mod terminal_changes;
pub(super) mod terminals;
pub(super) mod vetting;
pub(super) mod xattrs;
