//! Answers questions about variables.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_engine::check::{CheckVerdict, Reason};
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::EnvRule;
use jp_confine_engine::rule_name::RuleName;
use jp_confine_engine::variables;

use super::answer::{Candidate, ExplainedVerdict, TargetVerdict, named};
use super::resources::QueriedPolicy;
use crate::config::environment::beyond_rules;
use crate::error::Failure;
use crate::text::quote;

/// The layers that enforce rules about variables.
const HOLDERS: &str = "the start of the run; inside, what a rule denies: library";

impl QueriedPolicy<'_> {
    /// Whether a program of the run gets the variable `name`, if the user has it.
    pub(crate) fn env(&self, name: &OsStr) -> Result<ExplainedVerdict, Failure> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes.contains(&b'=') {
            let name = quote::printable(bytes);
            return Err(Failure::own(format!("`{name}` is no name of a variable")));
        }
        let environment = &self.prepared.environment;
        let rules = &self.prepared.written.env;
        let granted = rules.iter().filter(|rule| rule.read).map(|rule| rule.name.clone());
        let base = environment.is_declared.then(|| "the base set".to_owned());
        let passes = environment.passes(name) || variables::is_owned(bytes);
        let candidate = |found: jp_confine_engine::env::EnvCandidate| {
            let rule = rules.get(found.index)?;
            let says = format!("read = {}", rule.read);
            Some(Candidate { rule: described(rule), says, wins: found.wins })
        };
        let answer = TargetVerdict {
            target: name.to_string_lossy().into_owned(),
            capability: "env",
            verdict: if passes { CheckVerdict::Allow } else { CheckVerdict::Deny },
            reason: (!passes).then_some(Reason::Denied),
            resolved: None,
            rule: self.decides(name),
            granting: base.into_iter().chain(granted).collect(),
        };
        let candidates = environment.rules.candidates(bytes).into_iter().filter_map(candidate);
        Ok(ExplainedVerdict {
            answer,
            candidates: candidates.collect(),
            held_by: HOLDERS.to_owned(),
        })
    }

    /// The rule that decides about the variable.
    fn decides(&self, name: &OsStr) -> Option<RuleName> {
        let bytes = name.as_bytes();
        let environment = &self.prepared.environment;
        if let Some(why) = name.to_str().and_then(beyond_rules) {
            return Some(why.into());
        }
        if environment.rules.judge(bytes) == Coverage::Uncovered {
            return match (environment.passes(name), environment.is_declared) {
                (true, true) => Some("the base set".into()),
                (true, false) => Some("no rules are declared: everything is handed on".into()),
                (false, _) => None,
            };
        }
        let winner = environment.rules.candidates(bytes).into_iter().find(|found| found.wins)?;
        self.prepared.written.env.get(winner.index).map(described)
    }
}

fn described(rule: &EnvRule) -> RuleName {
    named(&format!("access.env `{}`", rule.name), &rule.source)
}
