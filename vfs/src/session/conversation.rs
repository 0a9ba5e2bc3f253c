//! What a tool that lives longer than one call is told (spec §14.9).

use std::fmt;

use serde_json::Value;

use crate::message::Contents;

/// What there is for a tool that has said where it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This.
    Apply(Value),
    /// Something, some time: [`Conversation::later`] will have it, and the tool may wait for that.
    Later,
    /// Nothing that is known of. A tool that waits for an answer is ended then.
    Nothing,
}

/// Who goes on with such a tool.
pub trait Conversation: fmt::Debug {
    /// More for a tool that runs: data, in whatever form it takes.
    fn running(&mut self, content: &Contents) -> Next;

    /// The answer to the tool's question.
    fn waiting(&mut self, content: &Contents, question: &Value) -> Next;

    /// What has come in the meantime, for a tool that has said where it is. Does not wait.
    fn later(&mut self) -> Option<Value> {
        None
    }
}

/// Has nothing more to say.
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
