//! What the fuzz targets generate: small trees of folders, files and links, spellings of paths that
//! lead through them, and grants on them.
//!
//! There are few names, so that spellings meet what exists.

pub mod asker;
pub mod policy;
pub mod tiered;
pub mod tree;
