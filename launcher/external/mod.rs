//! Rules for paths outside of the workspace: mounts, and the approvals of them.

pub(crate) mod approvals;
pub(crate) mod control_paths;
pub(crate) mod mounts;
