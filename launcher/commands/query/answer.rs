//! Defines the answer about one target. Used by `environment`, `hosts`, `programs` and `resources`.

use std::fmt::Write as _;

use jp_confine_engine::check::{CheckVerdict, Reason};
use jp_confine_engine::model::{RuleSource, TYPED};
use jp_confine_engine::rule_name::RuleName;
use serde::Serialize;

use crate::commands::query::common::word;
use crate::text::quote;

/// The verdict on one target.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TargetVerdict {
    /// The target as given. Bytes that are not UTF-8 are replaced.
    pub(crate) target: String,
    pub(crate) capability: &'static str,
    pub(crate) verdict: CheckVerdict,
    /// The reason for a denial, as in spec §5.3.
    pub(crate) reason: Option<Reason>,
    /// The canonical file of a program.
    pub(crate) resolved: Option<String>,
    /// The rule that decided.
    pub(crate) rule: Option<RuleName>,
    /// The things of this kind that are granted.
    pub(crate) granting: Vec<String>,
}

impl TargetVerdict {
    /// The line that `check` prints.
    pub(crate) fn line(&self) -> String {
        let Self { capability, verdict, .. } = self;
        let mut line = format!("{} {capability} {}", word(*verdict), quote::path(&self.target));
        if *verdict != CheckVerdict::Allow {
            let rule = self.rule.as_deref().unwrap_or("no rule grants it");
            let _ = write!(line, ": {}", quote::path(rule));
            if !self.granting.is_empty() {
                let granting = quote::path(&self.granting.join(", "));
                let _ = write!(line, "; {capability} is granted on: {granting}");
            }
        }
        line.push('\n');
        line
    }
}

/// A rule about the target.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Candidate {
    pub(crate) rule: RuleName,
    /// The text of the rule.
    pub(crate) says: String,
    /// Whether it decides.
    pub(crate) wins: bool,
}

/// An answer, and how it is reached.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExplainedVerdict {
    #[serde(flatten)]
    pub(crate) answer: TargetVerdict,
    /// All rules about the target, in the order declared.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) held_by: String,
}

impl ExplainedVerdict {
    /// The text that `explain` prints.
    pub(crate) fn text(&self) -> String {
        let TargetVerdict { target, capability, verdict, resolved, rule, .. } = &self.answer;
        let mut text = format!("{capability} {}\n", quote::path(target));
        if let Some(resolved) = resolved {
            let _ = writeln!(text, "  resolved {}", quote::path(resolved));
        }
        let rule = quote::path(rule.as_deref().unwrap_or("no rule is about it"));
        let _ = writeln!(text, "  {}: {rule}", word(*verdict));
        let _ = writeln!(text, "  held by: {}", self.held_by);
        for Candidate { rule, says, wins } in &self.candidates {
            let mark = if *wins { "*" } else { " " };
            let _ = writeln!(text, "  {mark} {}: {}", quote::path(rule), quote::path(says));
        }
        text
    }
}

/// The rule that is written there, in words with its place.
pub(crate) fn named(words: &str, source: &RuleSource) -> RuleName {
    RuleName::written(format!("{words} ({})", place(source)), source.place().as_ref())
}

/// The place of a written rule, for people.
fn place(source: &RuleSource) -> String {
    match source.line {
        Some(line) => format!("{}:{line}", source.layer),
        None if *source.layer == *TYPED => "typed".to_owned(),
        None => format!("{}, rule {}", source.layer, source.index + 1),
    }
}
