//! Generates the inputs of the fuzz targets: small trees of directories, files and symlinks, spellings of paths that
//! lead through them, and grants on them.
//!
//! Names are few, so that spellings often match existing entries.

pub mod asker;
pub mod policy;
pub mod tiered;
pub mod tree;
