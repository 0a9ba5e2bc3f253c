//! Hooks of functions that only libSystem has, or has in its own form, and the table of all hooks.

mod attribute_lists;
mod by_name;
mod clones;
pub(in crate::hooks) mod directories;
mod flags;
mod interpose;
mod names;
mod refused;
mod renames;
mod spawn;
mod streams;
mod temporary;
mod xattrs;
