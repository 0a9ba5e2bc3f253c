//! What is to say about one target.

use std::fmt::Write as _;

use jp_confine_policy::check::Verdict;
use jp_confine_policy::model::{RuleSource, TYPED};
use serde::Serialize;

use crate::query::word;
use crate::report;

/// The verdict on one target.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// As given; bytes that are not UTF-8 are replaced.
    pub(super) target: String,
    pub(super) capability: &'static str,
    pub(super) verdict: Verdict,
    /// Why not, as in spec §5.3.
    pub(super) reason: Option<&'static str>,
    /// The file of a program, canonical.
    pub(super) resolved: Option<String>,
    /// What decided.
    pub(super) rule: Option<String>,
    /// What is granted of this kind.
    pub(super) granting: Vec<String>,
}

impl Answer {
    /// As `check` prints it.
    pub(super) fn line(&self) -> String {
        let Self { capability, verdict, .. } = self;
        let mut line = format!("{} {capability} {}", word(*verdict), report::path(&self.target));
        if *verdict != Verdict::Allow {
            let rule = self.rule.as_deref().unwrap_or("no rule grants it");
            let _ = write!(line, ": {}", report::path(rule));
            if !self.granting.is_empty() {
                let granting = report::path(&self.granting.join(", "));
                let _ = write!(line, "; {capability} is granted on: {granting}");
            }
        }
        line.push('\n');
        line
    }
}

/// A rule about the target.
#[derive(Debug, Serialize)]
pub(super) struct Candidate {
    /// Which.
    pub(super) rule: String,
    /// What it says.
    pub(super) says: String,
    /// Whether it decides.
    pub(super) wins: bool,
}

/// An answer, and how it comes about.
#[derive(Debug, Serialize)]
pub(super) struct Explained {
    #[serde(flatten)]
    pub(super) answer: Answer,
    /// Every rule about the target, in the order declared.
    pub(super) candidates: Vec<Candidate>,
    pub(super) held_by: String,
}

impl Explained {
    /// As `explain` prints it.
    pub(super) fn text(&self) -> String {
        let Answer { target, capability, verdict, resolved, rule, .. } = &self.answer;
        let mut text = format!("{capability} {}\n", report::path(target));
        if let Some(resolved) = resolved {
            let _ = writeln!(text, "  resolved {}", report::path(resolved));
        }
        let rule = report::path(rule.as_deref().unwrap_or("no rule is about it"));
        let _ = writeln!(text, "  {}: {rule}", word(*verdict));
        let _ = writeln!(text, "  held by: {}", self.held_by);
        for Candidate { rule, says, wins } in &self.candidates {
            let mark = if *wins { "*" } else { " " };
            let _ = writeln!(text, "  {mark} {}: {}", report::path(rule), report::path(says));
        }
        text
    }
}

/// The place of a rule that was written, for people.
pub(super) fn place(source: &RuleSource) -> String {
    match source.line {
        Some(line) => format!("{}:{line}", source.layer),
        None if *source.layer == *TYPED => "typed".to_owned(),
        None => format!("{}, rule {}", source.layer, source.index + 1),
    }
}
