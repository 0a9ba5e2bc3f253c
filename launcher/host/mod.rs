//! Finds out about this machine and this user: features, directories, the workspace, the environment.

pub(crate) mod cache_dirs;
pub(crate) mod context;
pub(crate) mod data_dirs;
pub(crate) mod installation;
pub(crate) mod invocation;
pub(crate) mod machine;
pub(crate) mod outer_views;
pub(crate) mod program_lookup;
pub(crate) mod run_directory;
pub(crate) mod workspace;
pub(crate) mod workspace_markers;
