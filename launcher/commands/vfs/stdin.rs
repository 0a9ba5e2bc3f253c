//! Continues with a tool that asks questions while it runs (spec §14.9).

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use jp_confine_vfs::message::Contents;
use jp_confine_vfs::session::{Conversation, Next};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;
use serde_json::Value;

use crate::output;
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;
use crate::text::quote;

/// Shows questions on the terminal, and passes lines of standard input to a running tool.
#[derive(Debug)]
pub(super) struct Talk {
    non_interactive: bool,
    turns: PromptQueue,
    /// The terminal that shows a question.
    asked: Option<Terminal>,
    /// The part of standard input that was read but not passed on.
    unread: Vec<u8>,
    /// Standard input has ended.
    is_over: bool,
    /// The tool has said that it runs, and may get another line.
    may_pass: bool,
}

impl Talk {
    /// A conversation, unless prompts are off.
    pub(super) const fn new(non_interactive: bool, turns: PromptQueue) -> Self {
        Self {
            non_interactive,
            turns,
            asked: None,
            unread: Vec::new(),
            is_over: false,
            may_pass: false,
        }
    }
}

impl Conversation for Talk {
    fn running(&mut self, content: &Contents) -> Next {
        output::note(&quote::path(&content.to_text()));
        self.may_pass = true;
        // Nobody knows whether somebody will ever type a line, so the tool's timeout continues.
        Next::Nothing
    }

    fn waiting(&mut self, content: &Contents, question: &Value) -> Next {
        let content = quote::path(&content.to_text());
        let question = quote::path(words(question));
        self.may_pass = false;
        self.asked = Terminal::open(&self.turns, self.non_interactive)
            .and_then(|mut it| it.put(&format!("{content}\n{question} ")).ok().map(|()| it));
        if self.asked.is_some() { Next::Later } else { Next::Nothing }
    }

    fn later(&mut self) -> Option<Value> {
        if let Some(terminal) = &mut self.asked {
            // A terminal that is gone counts as an empty answer.
            let answer = terminal.answer(Duration::ZERO).unwrap_or_else(|_| Some(String::new()))?;
            self.asked = None;
            return Some(Value::String(answer));
        }
        if !self.may_pass {
            return None;
        }
        // A process that reads a terminal in the background is stopped.
        let unheard = io::stdin().is_terminal() && !Terminal::is_there(&self.turns, false);
        let mut ready = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        while !(self.is_over || unheard || self.unread.contains(&b'\n'))
            && matches!(poll(&mut ready, Some(&Timespec::default())), Ok(1..))
        {
            let mut chunk = [0; 4096];
            let count = rustix::io::read(stdin(), &mut chunk).unwrap_or(0);
            self.unread.extend(chunk.get(..count).unwrap_or_default());
            self.is_over = count == 0;
        }
        let end = self.unread.iter().position(|byte| *byte == b'\n');
        let end =
            end.or_else(|| (self.is_over && !self.unread.is_empty()).then_some(self.unread.len()))?;
        let line: Vec<u8> = self.unread.drain(..end).collect();
        self.unread.drain(..self.unread.len().min(1));
        self.may_pass = false;
        Some(Value::String(String::from_utf8_lossy(&line).into_owned()))
    }
}

/// The text of the question, in whichever field the tool puts it.
fn words(question: &Value) -> &str {
    let field = ["text", "question", "message"].iter().find_map(|name| question.get(name));
    field.unwrap_or(question).as_str().unwrap_or("?")
}
