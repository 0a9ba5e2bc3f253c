//! The person behind the host, who may be asked (spec §14.8).

use std::fmt;

/// What a tool wants and nothing that was written allows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// What it wants to do: `update`, `run`, `get`.
    pub action: String,
    /// With what, in words; may hold any character.
    pub what: String,
    /// Why it is asked about.
    pub reason: String,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Not this.
    No,
    /// This time.
    Once,
    /// Now and for the rest of the session.
    Session,
}

/// Who can be asked.
pub trait Person: fmt::Debug {
    /// Whether there is anybody to answer.
    fn is_there(&self) -> bool;

    /// Puts the questions of one request; the answer is to all of them. `gone` tells when nobody waits for it any more.
    fn ask(&mut self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Answer;
}

/// Nobody: what nothing allows is refused.
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
