//! The person behind the host, who may be prompted (spec §14.8).

use std::fmt;

/// A request of a tool that no rule allows or denies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// The action: `update`, `run`, `get`.
    pub action: String,
    /// The object of the action, in words. May contain any character, line ends too.
    pub what: String,
    /// The path as the tool wrote it, if that is not how `what` ends.
    pub written: Option<String>,
    /// The text that would be written there. Empty if there is none.
    pub preview: String,
    /// Why the person is prompted.
    pub reason: String,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Deny.
    No,
    /// Allow this time.
    Once,
    /// Allow now and for the rest of the session.
    Session,
}

/// A person who can be prompted.
pub trait Person: fmt::Debug {
    /// Whether anybody is there to answer.
    fn is_there(&self) -> bool;

    /// Shows the prompts of one request; the answer is for all of them. `gone` returns true once nobody waits for the
    /// answer.
    fn ask(&mut self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Answer;
}

/// Nobody is there: a request that no rule allows is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn is_there(&self) -> bool {
        false
    }

    fn ask(&mut self, _: &[Question], _: &mut dyn FnMut() -> bool) -> Answer {
        Answer::No
    }
}
