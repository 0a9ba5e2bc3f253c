//! Asks the path policy of jp-confine: what may a tool do to a path?
//!
//! For programs that check their own tools. For programs that do not, use `jp-confine -- PROGRAM`.
//!
//! | name | what it is |
//! |---|---|
//! | [`Policy`] | what a policy says, and which targets outside the workspace a person approved |
//! | [`Workspace`] | a directory and its compiled policy |
//! | [`Context`] | answers questions about paths in a workspace |
//! | `Pin` | a descriptor of the very object that was judged |
//! | [`Error`] | why there is no workspace, or why a path may not be used |
//!
//! ```
//! use jp_confine_policy::{Capability, ErrorKind, Policy, Workspace};
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # std::fs::create_dir(root.join("drafts"))?;
//! let policy = Policy::from_json(
//!     r#"{"access": {"fs": [
//!         {"path": ".", "read": true},
//!         {"path": "drafts", "read": true, "write": true}]}}"#,
//! )?;
//! let workspace = Workspace::open(root, &policy)?;
//! let context = workspace.context();
//!
//! context.pin("drafts/poem", Capability::Create)?.write(b"spring")?;
//! let refusal = context.check("poem", Capability::Update).unwrap_err();
//! assert_eq!(refusal.kind(), ErrorKind::Denied);
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
//! `openat2`, or by `/proc` where that does not exist. Without either, every request for a pin is denied. Pins are for
//! Linux alone.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod authorizer;
mod error;
#[cfg(target_os = "linux")]
mod pin;
mod policy;
mod workspace;

#[cfg(target_os = "linux")]
pub use authorizer::Authorizer;
pub use error::{Error, ErrorKind};
pub use jp_confine_engine::Capability;
#[cfg(target_os = "linux")]
pub use pin::Pin;
pub use policy::Policy;
pub use workspace::{Context, Workspace};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
