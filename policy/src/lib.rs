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
//!
//! # Features
//!
//! One half is always available ([`capability`], [`image`], [`decide`], [`existing`], [`moves`], [`script`],
//! [`set_id`], [`variables`], [`invocation`]). It is `no_std` and never allocates, because the preload library is built
//! on it. The rest needs the feature `std`. It compiles policies to images and answers questions about them. Pins, and
//! the functions that return them, are for Linux alone.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

mod arrival;
mod automaton;
pub mod autorun;
pub mod capability;
pub mod config_mode;
pub mod coverage;
pub mod decide;
pub mod device;
pub mod existing;
pub mod image;
pub mod invocation;
pub mod loader;
mod lookup;
pub mod moves;
mod moves_plain;
pub mod planted;
mod reaches;
mod relocation;
pub mod report_protocol;
pub mod script;
pub mod set_id;
mod spelled;
pub mod tier;
pub mod variables;
mod volume;
mod walk;

#[cfg(all(feature = "std", target_os = "linux"))]
pub mod absent;
#[cfg(feature = "std")]
pub mod approvals;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod authorize;
#[cfg(feature = "std")]
pub mod build;
#[cfg(feature = "std")]
pub mod canonical;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod case;
#[cfg(feature = "std")]
mod characters;
#[cfg(feature = "std")]
pub mod check;
#[cfg(feature = "std")]
pub mod commands;
#[cfg(feature = "std")]
pub mod compile;
#[cfg(feature = "std")]
pub mod compile_error;
#[cfg(feature = "std")]
pub mod control;
#[cfg(feature = "std")]
mod denial;
#[cfg(feature = "std")]
pub mod env;
#[cfg(feature = "std")]
pub mod explain;
#[cfg(feature = "std")]
pub mod external;
#[cfg(feature = "std")]
pub mod file_policy;
#[cfg(feature = "std")]
mod git_config;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod git_links;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod granted;
#[cfg(feature = "std")]
mod granting;
#[cfg(feature = "std")]
pub mod layers;
#[cfg(feature = "std")]
pub mod lexical;
#[cfg(feature = "std")]
pub mod model;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod moves_alone;
#[cfg(feature = "std")]
pub mod net;
#[cfg(feature = "std")]
pub mod pattern;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod pin;
#[cfg(feature = "std")]
pub mod received;
#[cfg(feature = "std")]
pub mod resources;
#[cfg(feature = "std")]
pub mod slips;
#[cfg(feature = "std")]
pub mod tiers;
#[cfg(feature = "std")]
pub mod vetting;
#[cfg(feature = "std")]
mod wanted;
#[cfg(feature = "std")]
pub mod warning;
#[cfg(feature = "std")]
pub mod workspace;

pub use capability::{Capabilities, Capability};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
