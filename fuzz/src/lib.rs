//! Judges the product on generated input. `tests/generated.rs` gives each target some thousand random inputs, and
//! `fuzz/run.sh` lets libFuzzer look for others.
//!
//! A target is a function `judge`, which panics at a wrong answer. Names in inputs are few, so that paths often match.

// The targets.
pub mod image;
pub mod library;
pub mod moves;
pub mod resolver;

// What they generate, and what they ask.
mod asker;
mod policy;
mod tiered;
mod tree;
