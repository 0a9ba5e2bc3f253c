//! Supplies input to a tool that lives longer than one call (spec §14.9). Used by `session` and `handles`.

use std::fmt;

use serde_json::Value;

use crate::message::Contents;

/// The next input for a tool that has reported its state.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This input.
    Apply(Value),
    /// Input at some later time, which [`Conversation::later`] returns. The tool may wait for it.
    Later,
    /// No input is known. A tool that waits for an answer is then ended.
    Nothing,
}

/// The source of input for such a tool.
pub trait Conversation: fmt::Debug {
    /// More input for a running tool: data in any form that it accepts.
    fn running(&mut self, content: &Contents) -> Next;

    /// The answer to the tool's question.
    fn waiting(&mut self, content: &Contents, question: &Value) -> Next;

    /// Input that has arrived by now. A tool that runs gets it as data, at any time. Does not wait.
    fn later(&mut self) -> Option<Value> {
        None
    }
}

/// A conversation without any input.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneShot;

impl Conversation for OneShot {
    fn running(&mut self, _: &Contents) -> Next {
        Next::Nothing
    }

    fn waiting(&mut self, _: &Contents, _: &Value) -> Next {
        Next::Nothing
    }
}
