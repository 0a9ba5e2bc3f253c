//! Explains a denial: what was denied, the rule that decided, and the steps that would allow it. The block at the end of
//! a run, `why` and the page of `learn` print it.

use std::path::Path;

use jp_confine_engine::Capabilities;

use super::relocated::RelocatedMount;
use crate::advice::advisor::{Advice, Advisor, First, Written};
use crate::host::invocation::CommandHint;
use crate::output::Style;
use crate::record::command_line::CommandLine;
use crate::record::denial::{Denial, Reason};
use crate::report::why::record::ExplainedDenial;
use crate::report::{events, git_config};
use crate::text::quote;

/// What is told before a suggestion about a file of the list of sensitive paths.
const SENSITIVE: &str = "it may hold secrets, which every program of the run could then use";

impl ExplainedDenial {
    /// The denial, which occurred so many times, with its suggestion.
    pub(crate) fn of(denial: &Denial, times: u64, advice: Advice, advisor: &Advisor<'_>) -> Self {
        let arguments = CommandLine::arguments_of(denial);
        let [path, route] = [&denial.path, &denial.route].map(|path| advisor.named(path));
        // Rules on links and patterns may be about the spelling.
        let is_spelled = denial.reason.is_policy() && arguments.is_none();
        let route = if is_spelled { &route } else { &path };
        let network = denial.reason.is_network().then(|| "net".to_owned());
        let denied = Self {
            denied: asked(denial),
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
            reason: events::reason(denial),
            rule: advisor.rule(denial),
            remark: git_config::changes(denial, advisor),
            layer: denial.layer.name(),
            hidden: denial.hidden,
            sensitive: advisor.is_sensitive(denial),
            ..Self::default()
        };
        denied.with(advice, denial, advisor)
    }

    fn with(self, advice: Advice, denial: &Denial, advisor: &Advisor<'_>) -> Self {
        let words = |options: &[_]| (!options.is_empty()).then(|| quote::words(options));
        let grants = |written: &Written| {
            let names = |caps: &Capabilities| caps.iter().map(|one| one.to_string()).collect();
            written.rules.iter().map(|(path, caps)| (path.clone(), names(caps))).collect()
        };
        match advice {
            Advice::Grant { first, options, written, question } => {
                let (changes, grants) = (advisor.changes(&written), grants(&written));
                let mount = RelocatedMount::by(&options, advisor.mounts);
                let options = words(&options);
                Self { first, options, mount, changes, grants, question, ..self }
            }
            Advice::Connection(way) => Self {
                options: Some(format!("--net {}", quote::quoted(way.typed.as_bytes()))),
                other_port: way.at_other_ports(),
                changes: advisor.host_change(denial, &way).into_iter().collect(),
                ..self
            },
            Advice::Command { key, rule, replaces } => {
                let change = advisor.program_change(&key, &rule, replaces);
                Self { changes: change.into_iter().collect(), ..self }
            }
            Advice::Approve { rules, options } => {
                Self { unapproved: rules, options: words(&options), ..self }
            }
            Advice::Withheld { first, options, written, question } => {
                let (changes, grants) = (advisor.changes(&written), grants(&written));
                let (never, unapproved) = match first {
                    First::TakeOut(words) => (Some(words), Vec::new()),
                    First::Approve(rules) => (None, rules),
                };
                let then = words(&options);
                Self { unapproved, changes, grants, question, never, then, ..self }
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

    /// For people: the steps that allow it by options and approvals, or why nothing does. Changes of files are not among
    /// them. Files of the workspace are named relative to it.
    pub(crate) fn steps(&self, workspace: &Path, style: Style) -> Vec<String> {
        let typed = |options: &String| style.bright(&format!("jp-confine {options}"));
        let has_more = self.then.is_some() || !self.changes.is_empty();
        let when = if has_more { "first" } else { "allow" };
        let or = if self.approve.is_some() { "or, to allow no more" } else { "allow" };
        let approve =
            self.approve.as_ref().map(|approve| format!("{when}: {}", style.bright(approve)));
        let then = self.then.as_ref().map(|options| format!("then allow: {}", typed(options)));
        let options = self.options.as_ref().map(|options| format!("{or}: {}", typed(options)));
        let words = [&self.first, &self.never].into_iter().flatten();
        let words = words.map(|words| quote::within(words, workspace));
        let is_offered = self.sensitive && self.never.is_none();
        let warning = is_offered.then(|| style.bad(SENSITIVE));
        words
            .chain(warning)
            .chain(approve)
            .chain(then)
            .chain(options)
            .chain(self.other_port.clone())
            .collect()
    }
}

impl ExplainedDenial {
    /// Whether only a change of files allows it: no option or approval does.
    pub(crate) fn is_only_written(&self) -> bool {
        let others = [&self.options, &self.then, &self.approve];
        !self.changes.is_empty() && others.into_iter().all(Option::is_none)
    }

    /// The rule that decided, and what the request would have changed, in words.
    pub(crate) fn why(&self, workspace: &Path) -> String {
        let rule = self.rule.as_deref().unwrap_or("no rule covers it");
        let rule = quote::within(&quote::path(rule), workspace);
        let remark = self.remark.iter().map(|remark| format!(", and {remark}"));
        std::iter::once(rule).chain(remark).collect()
    }
}

/// The denied rights, or the call if no rule decided.
pub(crate) fn asked(denial: &Denial) -> String {
    match denial.reason {
        Reason::Command => "command".to_owned(),
        reason if reason.is_network() => "net".to_owned(),
        _ if denial.missing.is_empty() => quote::printable(&denial.call),
        _ => denial.missing.to_string(),
    }
}
