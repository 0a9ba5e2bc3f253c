//! Explains a denial: what was denied, the rule that decided, and the steps that would allow it. The block at the end of
//! a run, `why` and the page of `learn` print it.

use std::collections::BTreeMap;
use std::path::Path;

use jp_confine_engine::Capabilities;

use super::relocated::RelocatedMount;
use crate::advice::advisor::{Advice, Advisor, First, Written};
use crate::advice::rule_additions::RuleAddition;
use crate::advice::user_additions;
use crate::host::invocation::CommandHint;
use crate::record::command_line::CommandLine;
use crate::record::denial::Denial;
use crate::report::why::record::{ExplainedDenial, Rules};
use crate::report::{events, summary};
use crate::text::quote;

impl Rules {
    pub(super) fn of(addition: &RuleAddition<'_>) -> Self {
        addition.text().map_or_else(Self::default, |text| Self {
            toml: Some(text),
            file: Some(addition.file().to_owned()),
            list: addition.list().map(str::to_owned),
            new_list: addition.is_for_new_list(),
            instead: addition.instead.clone(),
            grants: BTreeMap::new(),
        })
    }

    /// The rules of `written`.
    pub(super) fn of_written(written: &Written, advisor: &Advisor<'_>) -> Self {
        let names = |caps: &Capabilities| caps.iter().map(|one| one.to_string()).collect();
        let grants = written.rules.iter().map(|(path, caps)| (path.clone(), names(caps)));
        Self { grants: grants.collect(), ..Self::of(&advisor.rule_addition(&written.rules)) }
    }
}

impl ExplainedDenial {
    /// The denial, which occurred so many times, with its suggestion.
    pub(crate) fn of(denial: &Denial, times: u64, advice: Advice, advisor: &Advisor<'_>) -> Self {
        let arguments = CommandLine::arguments_of(denial);
        let [path, route] = [&denial.path, &denial.route].map(|path| advisor.named(path));
        let route = if arguments.is_some() { &path } else { &route };
        let network = denial.reason.is_network().then(|| "net".to_owned());
        let denied = Self {
            denied: summary::asked(denial),
            capability: denial.missing.iter().map(|one| one.to_string()).chain(network).collect(),
            path: quote::printable(&path),
            route: quote::printable(route),
            other: (!denial.other.is_empty())
                .then(|| quote::printable(&advisor.named(&denial.other))),
            other_capability: advisor.beside(denial).iter().map(|it| it.to_string()).collect(),
            arguments,
            program: quote::printable(&denial.program),
            call: quote::printable(&denial.call),
            times,
            reason: events::reason(denial).to_owned(),
            rule: advisor.rule(denial),
            layer: denial.layer.as_str().to_owned(),
            hidden: denial.hidden,
            ..Self::default()
        };
        denied.with(advice, denial, advisor)
    }

    fn with(self, advice: Advice, denial: &Denial, advisor: &Advisor<'_>) -> Self {
        let words = |options: &[_]| (!options.is_empty()).then(|| quote::words(options));
        let written = |written: &Written| {
            let patterns = user_additions::additions(advisor.own_lists, written);
            (Rules::of_written(written, advisor), patterns)
        };
        match advice {
            Advice::Grant { first, options, written: all, question } => {
                let (rules, patterns) = written(&all);
                let mount = RelocatedMount::by(&options, advisor.mounts);
                let options = words(&options);
                Self { first, options, mount, rules, patterns, question, ..self }
            }
            Advice::Connection(way) => {
                let addition = advisor.host_addition(denial, &way);
                Self {
                    options: Some(format!("--net {}", quote::quoted(way.typed.as_bytes()))),
                    other_port: way.at_other_ports(),
                    rules: addition.as_ref().map(Rules::of).unwrap_or_default(),
                    ..self
                }
            }
            Advice::Command { key, rule, instead } => {
                let addition = advisor.program_addition(&key, &rule, instead.as_ref());
                Self { rules: Rules::of(&addition), ..self }
            }
            Advice::Approve { rules, options } => {
                Self { unapproved: rules, options: words(&options), ..self }
            }
            Advice::Withheld { first, options, written: all, question } => {
                let (rules, patterns) = written(&all);
                let (never, unapproved) = match first {
                    First::TakeOut(words) => (Some(words), Vec::new()),
                    First::Approve(rules) => (None, rules),
                };
                let then = words(&options);
                Self { unapproved, rules, patterns, question, never, then, ..self }
            }
            Advice::Never(reason) => Self { never: Some(reason), ..self },
        }
    }

    /// Adapts the commands to a person in the directory `here`.
    pub(crate) fn show_for(&mut self, here: &CommandHint) {
        self.approve = (!self.unapproved.is_empty()).then(|| here.approvals(&self.unapproved));
        if let Some(mount) = self.mount.take() {
            self.options = mount.option(here);
        }
    }

    /// For people: the steps that allow it by options and approvals, or why nothing does. Rules and patterns for files
    /// are not among them. Files of the workspace are named relative to it.
    pub(crate) fn steps(&self, workspace: &Path) -> Vec<String> {
        let has_more =
            self.then.is_some() || self.rules.toml.is_some() || !self.patterns.is_empty();
        let when = if has_more { "first" } else { "allow" };
        let or = if self.approve.is_some() { "or, to allow no more" } else { "allow" };
        let approve = self.approve.as_ref().map(|approve| format!("{when}: {approve}"));
        let then = self.then.as_ref().map(|options| format!("then allow: jp-confine {options}"));
        let options = self.options.as_ref().map(|options| format!("{or}: jp-confine {options}"));
        let words = [&self.first, &self.never].into_iter().flatten();
        let words = words.map(|words| quote::within(words, workspace));
        words.chain(approve).chain(then).chain(options).chain(self.other_port.clone()).collect()
    }
}
