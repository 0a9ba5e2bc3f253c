//! Entry points that other systems also have, with names or forms that exist only on Linux.

pub(crate) mod attributes;
pub(in crate::hooks) mod directories;
pub(crate) mod entries;
pub(crate) mod exec;
mod fts;
pub(crate) mod metadata;
mod open_names;
pub(crate) mod sockets;
pub(crate) mod streams;
mod temporary;
pub(super) mod told_paths;
mod walk;
