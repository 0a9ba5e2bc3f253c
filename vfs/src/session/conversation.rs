//! What a tool that lives longer than one call is told (spec §14.9).

use std::fmt;

use serde_json::Value;

use crate::message::Contents;

/// Who goes on with such a tool.
pub trait Conversation: fmt::Debug {
    /// More for a tool that runs, if there is any.
    fn running(&mut self, content: &Contents) -> Option<Value>;

    /// The answer to the tool's question; `None` where nobody has one, which ends the tool.
    fn waiting(&mut self, content: &Contents, question: &Value) -> Option<Value>;
}

/// Has nothing more to say.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneShot;

impl Conversation for OneShot {
    fn running(&mut self, _: &Contents) -> Option<Value> {
        None
    }

    fn waiting(&mut self, _: &Contents, _: &Value) -> Option<Value> {
        None
    }
}
