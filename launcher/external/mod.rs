//! Rules for paths outside the workspace: mounts and their approvals.

pub(crate) mod approvals;
pub(crate) mod control_paths;
pub(crate) mod mounts;
