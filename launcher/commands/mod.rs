//! Implements the subcommands, one file each.

pub(crate) mod allow;
pub(crate) mod approvals;
pub(crate) mod authorize;
pub(crate) mod cache;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod init;
mod inner_run;
pub(crate) mod learn;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod mounts;
mod policy_edit;
pub(crate) mod profiles;
pub(crate) mod query;
mod question;
pub(crate) mod run;
pub(crate) mod run_end;
#[cfg(test)]
mod schemas;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod status;
pub(crate) mod vfs;
