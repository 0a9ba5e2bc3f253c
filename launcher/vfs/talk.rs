//! Going on with a tool that asks as it goes (spec §14.9).

use jp_confine_vfs::message::Contents;
use jp_confine_vfs::session::Conversation;
use serde_json::Value;

use crate::report;
use crate::terminal::Terminal;

/// Questions go to the terminal.
#[derive(Debug)]
pub(super) struct Talk {
    non_interactive: bool,
}

impl Talk {
    /// A conversation, unless nobody is to be asked.
    pub(super) const fn new(non_interactive: bool) -> Self {
        Self { non_interactive }
    }
}

impl Conversation for Talk {
    fn running(&mut self, content: &Contents) -> Option<Value> {
        report::note(&report::path(&content.to_text()));
        None
    }

    fn waiting(&mut self, content: &Contents, question: &Value) -> Option<Value> {
        let mut terminal = Terminal::open(self.non_interactive)?;
        let content = report::path(&content.to_text());
        let question = report::path(words(question));
        terminal.ask(&format!("{content}\n{question} ")).ok().map(Value::String)
    }
}

/// The question in words, wherever a tool puts them.
fn words(question: &Value) -> &str {
    let field = ["text", "question", "message"].iter().find_map(|name| question.get(name));
    field.unwrap_or(question).as_str().unwrap_or("?")
}
