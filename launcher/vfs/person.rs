//! The person at the terminal, asked about what a tool wants.

use std::fmt::Write as _;

use jp_confine_vfs::person::{Answer, Person, Question};

use super::refusals::without_passwords;
use crate::log::Log;
use crate::reply::Reply;
use crate::report;
use crate::terminal::Terminal;
use crate::turns::Turns;

/// How many questions are shown one by one; the rest is counted.
const SHOWN: usize = 12;

/// Whoever sits at the terminal.
#[derive(Debug)]
pub(super) struct OnTerminal<'a> {
    non_interactive: bool,
    turns: Turns,
    tool: String,
    /// Where answers are put on record.
    log: Option<&'a Log>,
}

impl<'a> OnTerminal<'a> {
    /// Somebody to ask on behalf of `tool`, unless nobody is to be asked.
    pub(super) const fn new(
        non_interactive: bool,
        turns: Turns,
        tool: String,
        log: Option<&'a Log>,
    ) -> Self {
        Self { non_interactive, turns, tool, log }
    }

    fn words(&self, questions: &[Question]) -> String {
        let mut text = String::new();
        let tool = report::path(&self.tool);
        for Question { action, what, reason } in questions.iter().take(SHOWN) {
            let shown = |text: &str| report::short(without_passwords(text).as_bytes());
            let (what, reason) = (shown(what), shown(reason));
            let _ = writeln!(
                text,
                "jp-confine: the tool {tool} wants to {action}\n    {what}\n  {reason}"
            );
        }
        if let Some(more) = questions.len().checked_sub(SHOWN + 1) {
            let _ = writeln!(text, "  and {} more", more + 1);
        }
        text.push_str("  [y] yes, once  [r] yes, in this run  [N] no: ");
        text
    }
}

impl Person for OnTerminal<'_> {
    fn is_there(&self) -> bool {
        Terminal::is_there(&self.turns, self.non_interactive)
    }

    fn ask(&mut self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Answer {
        let words = self.words(questions);
        let terminal = Terminal::open(&self.turns, self.non_interactive);
        let answer = terminal.and_then(|mut it| it.ask_unless(&words, gone).ok()?);
        let answer = match answer {
            Some(Reply::Yes) => Answer::Once,
            Some(Reply::Run) => Answer::Session,
            Some(Reply::Each | Reply::No) | None => Answer::No,
        };
        if let Some(log) = self.log {
            for question in questions {
                log.answer(&self.tool, question, answer);
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_no_password() {
        let question = Question {
            action: "run".to_owned(),
            what: "git clone https://me:secret@host/a".to_owned(),
            reason: "no rule is about it".to_owned(),
        };
        let words =
            OnTerminal::new(false, Turns::default(), "edit".to_owned(), None).words(&[question]);
        assert!(words.contains("clone https://me@host/a\n"), "{words}");
    }

    #[test]
    fn names_do_what_text_does() {
        let question = Question {
            action: "update".to_owned(),
            what: "/w/a\u{1b}[2Jb".to_owned(),
            reason: "no rule is about it".to_owned(),
        };
        let person = OnTerminal::new(false, Turns::default(), "edit".to_owned(), None);
        assert_eq!(
            person.words(&[question]),
            "jp-confine: the tool edit wants to update\n    /w/a\\x1b[2Jb\n  no rule is about it\n  \
             [y] yes, once  [r] yes, in this run  [N] no: "
        );
    }
}
