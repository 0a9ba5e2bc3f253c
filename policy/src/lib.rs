//! The path policy of jp-confine: what was written, what it means, and the one evaluator of it.
//!
//! # For programs that check their own tools
//!
//! [`workspace::Workspace::open`] compiles a policy for a folder; a tool that receives a compiled one
//! from its host uses [`received::Received`]. Then there are three ways to ask, all of which end at
//! the one evaluator, [`decide`]:
//!
//! | to ask about | call | the answer |
//! |---|---|---|
//! | a path relative to the workspace | [`check::Context::check_read`] and its four sisters | the canonical path, or a refusal with its reason |
//! | the same, to use it | `check::Context::pin` | a [`pin::Pin`] on what was judged |
//! | an absolute path, in one of several folders | [`authorize::Authorizer`] | the canonical path and a pin, or a refusal |
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
//! A path is a name, and names change hands: between the answer and its use somebody may put a
//! symbolic link where a folder was. A pin is a descriptor of the very object that was judged, or of
//! the folder in which something is to come to be, and does only what was asked for.
//! `examples/authorize.rs` is a host of tools that never uses anything else. Pins are proved right by
//! `openat2`, and where there is none by `/proc`; without either whatever asks for one is refused.
//!
//! This is for tools that ask. Programs that do not are for `jp-confine -- PROGRAM` to hold.
//!
//! # Features
//!
//! The half that is always here ([`capability`], [`image`], [`decide`], [`existing`], [`moves`], [`script`],
//! [`set_id`], [`variables`], [`invocation`]) is `no_std` and never allocates: the preload library is built on it. The
//! rest, behind the feature `std`, turns what people write into an image, and answers questions about it;
//! pins, and what hands them out, are for Linux alone.

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
pub mod script;
pub mod set_id;
mod spelled;
pub mod telling;
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
