//! The file service of jp-confine. A tool that touches nothing itself asks for everything it needs, one line of JSON at
//! a time. It gets what the policy of a workspace grants (spec §14).
//!
//! ```text
//!   tool ── requests on its standard output ──► host: session ► service ► policy, files
//!   tool ◄── replies on its standard input ──── host
//! ```
//!
//! | part | what it is |
//! |---|---|
//! | [`sdk`] | for tools in Rust: a client that waits for each answer |
//! | [`message`], [`method`], [`content`], [`fault`] | the protocol |
//! | `incoming` | reading what a tool says |
//! | `service`, `files`, `person` | serving a request: check the policy, perhaps ask a person, use the files |
//! | `session` | one tool from start to end: its lines, its time, its process group |
//! | `handles` | tools that live longer than one call, several at once |
//!
//! The rows without links need the feature `host`, which is for Linux alone. That half has types of `jp_confine_engine`
//! in its signatures. Like the engine, it promises no stability. The client brings neither the engine nor an HTTP stack.
//!
//! The engine is the only evaluator of policies. Nothing here decides what is allowed.

#![forbid(unsafe_code)]

pub mod content;
pub mod fault;
pub mod message;
pub mod method;
mod poll_backoff;
pub mod sdk;

#[cfg(all(feature = "host", target_os = "linux"))]
pub mod files;
#[cfg(all(feature = "host", target_os = "linux"))]
mod group;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod handles;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod incoming;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod person;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod service;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod session;

pub use fault::{Code, Fault};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
