//! What a person is asked.

use std::fmt::Write as _;

use jp_confine_policy::Capabilities;

use crate::report;

/// How many questions are shown one by one; the rest is counted.
const SHOWN: usize = 12;

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
    for Question { shown, wanted, program, pid, reason, .. } in questions.iter().take(SHOWN) {
        let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let (name, shown) = (report::printable(name), report::printable(shown));
        let _ = writeln!(text, "jp-confine: {name} ({pid}) wants to {wanted}");
        let _ = writeln!(text, "    {shown}");
        let _ = writeln!(text, "  {reason}");
    }
    if let Some(more) = questions.len().checked_sub(SHOWN + 1) {
        let _ = writeln!(text, "  and {} more", more + 1);
    }
    text
}
