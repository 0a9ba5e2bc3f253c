//! Hooks with names or forms that only Linux has. Other systems have the same kinds of functions.

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
mod walk;
