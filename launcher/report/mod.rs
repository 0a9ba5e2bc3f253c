//! Reports the denials of a run: the block at its end, `why`, and the events about rules and layers.

pub(crate) mod events;
pub(crate) mod exposed_files;
pub(crate) mod git_config;
pub(crate) mod summary;
pub(crate) mod why;
