//! Prompts the person at the terminal about a tool's requests.

use jp_confine_vfs::person::{Answer, Person, Question};

use crate::commands::question;
use crate::output;
use crate::output::event_log::Log;
use crate::prompt::choices::{Choices, Reply};
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;
use crate::prompt::visibility::Size;
use crate::text::quote;
use crate::text::wrap;

/// Limit on the screens of one request. A request that needs more is denied.
const MOST: usize = 20;

/// Assumed size of a terminal that does not tell its own: rows and columns.
const USUAL: Size = (24, 80);

/// Rows of a screen that are reserved for the offered answers, and for a word to type.
const RESERVED: u16 = 5;

/// The person at the terminal.
#[derive(Debug)]
pub(super) struct OnTerminal<'a> {
    non_interactive: bool,
    turns: PromptQueue,
    tool: String,
    /// The log for answers.
    log: Option<&'a Log>,
}

impl<'a> OnTerminal<'a> {
    /// A person to prompt on behalf of `tool`, unless prompts are off.
    pub(super) const fn new(
        non_interactive: bool,
        turns: PromptQueue,
        tool: String,
        log: Option<&'a Log>,
    ) -> Self {
        Self { non_interactive, turns, tool, log }
    }

    /// The questions in full, on screens of this size: nobody consents to something that was not shown.
    fn screens(&self, questions: &[Question], size: Option<Size>) -> Vec<(String, Choices)> {
        let (rows, columns) = size.filter(|size| size.0 > 0 && size.1 > 0).unwrap_or(USUAL);
        let room = usize::from(rows.saturating_sub(RESERVED)).max(1);
        let tool = quote::path(&self.tool);
        let mut screens: Vec<Vec<String>> = vec![Vec::new()];
        for question in questions {
            let parts = question::lines(&format!("the tool {tool}"), question);
            let lines: Vec<String> =
                parts.iter().flat_map(|(indent, text)| wrapped(indent, text, columns)).collect();
            let left = room.saturating_sub(screens.last().map_or(0, Vec::len));
            if lines.len() > left && left < room {
                screens.push(Vec::new());
            }
            for line in lines {
                if screens.last().is_some_and(|screen| screen.len() == room) {
                    screens.push(Vec::new());
                }
                screens.last_mut().into_iter().for_each(|screen| screen.push(line.clone()));
            }
        }
        let count = screens.len();
        let screen = |(place, lines): (usize, &Vec<String>)| {
            let choices = match count - place - 1 {
                0 => Choices::of([(Reply::Yes, "yes, once"), (Reply::Run, "yes, in this run")]),
                more => Choices::of([(Reply::Yes, format!("show the rest, screens: {more}"))]),
            };
            (format!("{}\n{}", lines.join("\n"), choices.offer()), choices)
        };
        screens.iter().enumerate().map(screen).collect()
    }

    /// The answer to all the questions: yes only if all of them were shown.
    fn answer(&self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Option<Answer> {
        let mut terminal = Terminal::open(&self.turns, self.non_interactive)?;
        let screens = self.screens(questions, terminal.size());
        if screens.len() > MOST {
            let tool = quote::path(&self.tool);
            let count = screens.len();
            output::warning(&format!(
                "the tool {tool} wants more than can be asked about, {count} screens: denied"
            ));
            return None;
        }
        let mut reply = Reply::No;
        for (screen, choices) in screens {
            reply = terminal.ask_unless(&screen, &choices, gone).ok()??;
            if !matches!(reply, Reply::Yes | Reply::Run) {
                return None;
            }
        }
        Some(if reply == Reply::Run { Answer::Session } else { Answer::Once })
    }
}

/// `text` in lines that a terminal of this width does not wrap, each after `indent`.
fn wrapped(indent: &str, text: &str, columns: u16) -> Vec<String> {
    // A wide character may wrap before the last column.
    let room = usize::from(columns).saturating_sub(1 + indent.len()).max(2);
    let mut lines = vec![indent.to_owned()];
    let mut used = 0;
    for one in text.chars() {
        let width = wrap::width(one.encode_utf8(&mut [0; 4]));
        if used + width > room {
            lines.push(indent.to_owned());
            used = 0;
        }
        lines.last_mut().into_iter().for_each(|line| line.push(one));
        used += width;
    }
    lines
}

impl Person for OnTerminal<'_> {
    fn is_there(&self) -> bool {
        Terminal::is_there(&self.turns, self.non_interactive)
    }

    fn ask(&mut self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Answer {
        let answer = self.answer(questions, gone).unwrap_or(Answer::No);
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

    fn screens(questions: &[(&str, &str)], size: Option<Size>) -> Vec<String> {
        let question = |(action, what): &(&str, &str)| Question {
            action: (*action).to_owned(),
            what: (*what).to_owned(),
            written: None,
            preview: String::new(),
            reason: "no rule is about it".to_owned(),
        };
        let questions: Vec<Question> = questions.iter().map(question).collect();
        shown(&questions, size)
    }

    fn shown(questions: &[Question], size: Option<Size>) -> Vec<String> {
        let person = OnTerminal::new(false, PromptQueue::default(), "edit".to_owned(), None);
        person.screens(questions, size).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_text_that_would_be_written_is_shown_in_lines() {
        let preview = "line\u{1b}[2J\n".repeat(10);
        let what = "sh -c 'a\r\nb'".to_owned();
        let (action, reason) = ("update".to_owned(), "no rule is about it".to_owned());
        let text = &shown(
            &[Question { action, what, written: Some("a/../b".to_owned()), preview, reason }],
            None,
        )[0];
        let begin = "jp-confine: the tool edit wants to update\n    sh -c 'a\\x0d\n    b'\n  written as a/../b\n    | line\\x1b[2J\n";
        assert!(text.starts_with(begin), "{text}");
        let end = "    | line\\x1b[2J\n    | (2 more lines)\n  no rule is about it\n";
        assert!(text.contains(end), "{text}");
    }

    #[test]
    fn a_question_shows_no_password() {
        let words = screens(&[("run", "git clone https://me:secret@host/a")], None);
        assert!(words[0].contains("clone https://me@host/a\n"), "{words:?}");
    }

    #[test]
    fn names_do_what_text_does() {
        assert_eq!(
            screens(&[("update", "/w/a\u{1b}[2Jb")], None),
            [
                "jp-confine: the tool edit wants to update\n    /w/a\\x1b[2Jb\n  no rule is about it\n  \
             [y] yes, once  [r] yes, in this run  [N] no  [?] help: "
            ]
        );
    }

    #[test]
    fn all_that_is_asked_about_is_shown() {
        let names: Vec<String> = (0..13).map(|number| format!("/w/file-{number}.")).collect();
        let questions: Vec<(&str, &str)> = names.iter().map(|name| ("read", &**name)).collect();
        let long = format!("sh -c '{}'", "資x".repeat(3000));
        for size in [None, Some((24, 80)), Some((6, 20)), Some((50, 200)), Some((1, 1))] {
            let shown = screens(&questions, size);
            let lines = |screen: &String| {
                let (lines, _) = screen.rsplit_once('\n').unwrap_or_default();
                lines.lines().map(str::trim_start).collect::<String>()
            };
            let text: String = shown.iter().map(lines).collect();
            assert!(names.iter().all(|name| text.contains(name)), "{size:?}: {shown:?}");
            let shown = screens(&[("run", &long)], size);
            let text = shown.concat().matches('資').count();
            assert_eq!(text, 3000, "{size:?}");
            let (rows, columns) = size.unwrap_or(USUAL);
            for screen in screens(&questions, size).iter().chain(&shown) {
                let fits = |line: &str| wrap::width(line) < usize::from(columns);
                assert!(columns < 20 || screen.lines().rev().skip(1).all(fits), "{screen}");
                assert!(rows < 7 || screen.lines().count() < usize::from(rows), "{screen}");
                let is_last = screen.ends_with("[r] yes, in this run  [N] no  [?] help: ");
                assert!(is_last || screen.contains("[y] show the rest"), "{screen}");
            }
        }
    }
}
