//! What a person is asked.

use std::fmt::Write as _;

use jp_confine_policy::Capabilities;

use crate::report;

/// How many questions are put together: an answer is only for what can be read.
pub(super) const TOGETHER: usize = 6;

/// One thing that somebody wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// Canonical path.
    pub(crate) path: Vec<u8>,
    /// The same as people see it: relative to the workspace where it is in it.
    pub(crate) shown: Vec<u8>,
    /// What is granted only with consent.
    pub(crate) wanted: Capabilities,
    /// The program that wants it.
    pub(crate) program: Vec<u8>,
    pub(crate) pid: u32,
    /// Why it is asked about.
    pub(crate) reason: String,
    /// It is about a sensitive path, of which a person is warned once.
    pub(crate) warning: bool,
}

impl Question {
    /// Whether an answer to the one is an answer to the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.path == other.path && self.wanted == other.wanted && self.program == other.program
    }
}

/// The questions in words, without the answers to choose from.
pub(crate) fn words(questions: &[&Question]) -> String {
    let mut text = String::new();
    for Question { shown, wanted, program, pid, reason, .. } in questions {
        let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let (name, shown, reason) =
            (report::short(name), report::short(shown), report::short(reason.as_bytes()));
        let _ = writeln!(text, "jp-confine: {name} ({pid}) wants to {wanted}");
        let _ = writeln!(text, "    {shown}");
        let _ = writeln!(text, "  {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(shown: &[u8], reason: &str) -> String {
        words(&[&Question {
            path: b"/w/f".to_vec(),
            shown: shown.to_vec(),
            wanted: Capabilities::READ,
            program: b"/usr/bin/c\x1b[2Jat".to_vec(),
            pid: 7,
            reason: reason.to_owned(),
            warning: false,
        }])
    }

    #[test]
    fn names_and_patterns_cannot_forge_a_question() {
        let text = asked(b"a\njp-confine: b\x1bc", "prompt_paths has `**/{x,\u{1b}c\ry}`");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.chars().any(|one| one.is_control() && one != '\n'), "{text:?}");
    }

    #[test]
    fn a_long_name_does_not_fill_the_screen() {
        let name = format!("begin{}end", " ".repeat(4000));
        let text = asked(name.as_bytes(), "why");
        assert!(text.len() < 400 && text.contains("begin ") && text.contains(" end"), "{text}");
        assert!(text.contains("[… 3768 characters …]"), "{text}");
    }
}
