//! Targets outside the workspace that a person approved (spec §8, RFD D43).
//!
//! An approval binds a rule's path to one canonical target, and says nothing of capabilities. It is kept
//! for one user and one workspace, where no confined program can write.

pub(crate) mod patterns;
pub(crate) mod question;
pub(crate) mod store;
