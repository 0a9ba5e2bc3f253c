//! The path policy of jp-confine: what was written, what it means, and the one evaluator of it.
//!
//! The half that is always here ([`capability`], [`image`], [`decide`]) is `no_std` and never
//! allocates: the preload library is built on it. The rest, behind the feature `std`, turns what
//! people write into an image.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

pub mod capability;
pub mod decide;
pub mod image;
pub mod telling;
mod walk;

#[cfg(feature = "std")]
pub mod approvals;
#[cfg(feature = "std")]
pub mod authorize;
#[cfg(feature = "std")]
pub mod build;
#[cfg(feature = "std")]
pub mod canonical;
#[cfg(feature = "std")]
pub mod check;
#[cfg(feature = "std")]
pub mod compile;
#[cfg(feature = "std")]
pub mod compile_error;
#[cfg(feature = "std")]
mod denial;
#[cfg(feature = "std")]
pub mod explain;
#[cfg(feature = "std")]
pub mod layers;
#[cfg(feature = "std")]
pub mod lexical;
#[cfg(feature = "std")]
pub mod model;
#[cfg(feature = "std")]
pub mod pin;
#[cfg(feature = "std")]
pub mod warning;
#[cfg(feature = "std")]
pub mod workspace;

pub use capability::{Capabilities, Capability};
