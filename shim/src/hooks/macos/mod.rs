//! Entry points that only libSystem has, or has in a form of its own, and the table of all hooks.

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
