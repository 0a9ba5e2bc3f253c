//! The engine of jp-confine's policies: as written, their compiled form, and the one evaluator.
//!
//! This crate promises no stability. A program that checks its own paths uses `jp-confine-policy`.
//!
//! # Features
//!
//! One half is always available. It is `no_std` and never allocates, because the preload library is built on it:
//! [`capability`], [`image`], [`decide`], [`executable`], [`existing`], [`moves`], [`script`], [`set_id`],
//! [`variables`], [`invocation`], [`views`]. The rest needs the feature `std`. It compiles policies to images and answers questions about them.
//! Pins, and the functions that return them, are for Linux alone.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

mod automaton;
pub mod autorun;
pub mod calls;
pub mod capability;
pub mod changes;
mod components;
pub mod config_mode;
pub mod coverage;
pub mod decide;
pub mod device;
mod exclusions;
pub mod executable;
pub mod existing;
pub mod image;
pub mod invocation;
mod layout;
pub mod loader;
mod lookup;
pub mod moves;
pub mod no_entry;
pub mod planted;
mod reaches;
pub mod report_protocol;
mod request;
pub mod script;
pub mod set_id;
pub mod tier;
mod tier_layer;
pub mod variables;
mod verdict;
pub mod views;
mod volume;

#[cfg(all(feature = "std", target_os = "linux"))]
pub mod absent;
#[cfg(feature = "std")]
pub mod approvals;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod authorize;
#[cfg(feature = "std")]
pub mod batch;
#[cfg(feature = "std")]
pub mod build;
#[cfg(feature = "std")]
mod build_error;
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
pub mod env;
#[cfg(feature = "std")]
pub mod explain;
#[cfg(feature = "std")]
pub mod external;
#[cfg(feature = "std")]
pub mod file_policy;
#[cfg(feature = "std")]
mod fold_table;
#[cfg(feature = "std")]
mod git_config;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod git_links;
#[cfg(feature = "std")]
mod grant;
#[cfg(all(feature = "std", target_os = "linux"))]
pub mod granted;
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
pub mod rule_name;
#[cfg(feature = "std")]
pub mod sbpl;
#[cfg(feature = "std")]
pub mod slips;
#[cfg(feature = "std")]
pub mod surroundings;
#[cfg(feature = "std")]
mod table;
#[cfg(feature = "std")]
pub mod tiers;
#[cfg(feature = "std")]
pub mod vetting;
#[cfg(feature = "std")]
pub mod warning;
#[cfg(feature = "std")]
pub mod workspace;

pub use capability::{Capabilities, Capability};
