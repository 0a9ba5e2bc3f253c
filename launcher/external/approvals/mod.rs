//! Approved targets outside the workspace (spec §8, RFD D43).
//!
//! An approval binds a rule's path to one canonical target, whatever the capabilities. It belongs to one user and one
//! workspace, and is stored where no confined program can write.

pub(crate) mod patterns;
pub(crate) mod question;
pub(crate) mod store;
