//! The path policy of jp-confine: policies as written, their compiled form, and the one evaluator.
//!
//! # For programs that check their own tools
//!
//! [`workspace::Workspace::open`] compiles a policy for a directory. A tool that receives a compiled policy from its
//! host uses [`received::Received`]. Then there are three ways to ask. All of them end at the one evaluator,
//! [`decide`]:
//!
//! | to ask about | call | the answer |
//! |---|---|---|
//! | a path relative to the workspace | [`check::Context::check_read`] and its four sisters | the canonical path, or a denial with its reason |
//! | the same, to use it | `check::Context::pin` | a [`pin::Pin`] on the judged path |
//! | an absolute path, in one of several directories | [`authorize::Authorizer`] | the canonical path and a pin, or a denial |
//!
//! ```
//! use jp_confine_policy::Capability;
//! use jp_confine_policy::approvals::ApprovedTargets;
//! use jp_confine_policy::model::Policy;
//! use jp_confine_policy::workspace::Workspace;
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # std::fs::create_dir(root.join("drafts"))?;
//! let policy: Policy = serde_json::from_str(
//!     r#"{"access": {"fs": [
//!         {"path": ".", "read": true},
//!         {"path": "drafts", "read": true, "write": true}]}}"#,
//! )?;
//! let workspace = Workspace::open(root, &policy, &ApprovedTargets::default())?;
//! let context = workspace.context();
//!
//! context.pin(b"drafts/poem", Capability::Create)?.write(b"spring")?;
//! let refusal = context.check_update("poem".into()).unwrap_err();
//! assert_eq!(
//!     refusal.to_string(),
//!     "cannot update poem: the policy does not grant it. update is granted on: `drafts`. \
//!      To allow it, ask the user for an `access.fs` rule on this path with `read = true` and \
//!      `update = true`, or for the flag `--write PATH`."
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A path is only a name. Between the answer and its use somebody may replace a directory by a symlink. A pin is a
//! descriptor of the very object that was judged, or of the directory in which an entry will be created. It does only
//! what was requested. `examples/authorize.rs` is a host of tools that never uses anything else. Pins are verified by
//! `openat2`, or by `/proc` where that does not exist. Without either, every request for a pin is denied.
//!
//! This crate is for tools that ask. For programs that do not, use `jp-confine -- PROGRAM`.

#![forbid(unsafe_code)]

pub use jp_confine_engine::{
    Capabilities, Capability, approvals, authorize, check, decide, model, pin, received, workspace,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
