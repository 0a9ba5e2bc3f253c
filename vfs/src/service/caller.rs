//! The tool's side of a request that takes time: may give up, or learn that a person was asked.

use std::fmt;

/// The tool that waits for an answer.
pub trait Caller: fmt::Debug {
    /// Whether nobody waits any more. Returns quickly and may be called often.
    fn is_gone(&mut self) -> bool;

    /// Tells the tool that a person was asked.
    fn told_to_wait(&mut self, reason: &str);
}

/// A caller that waits as long as it takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patient;

impl Caller for Patient {
    fn is_gone(&mut self) -> bool {
        false
    }

    fn told_to_wait(&mut self, _: &str) {}
}
