//! Implements `why --last`, which explains the denials of a workspace's last run and suggests how to allow them. The
//! run stores them, with suggestions for its own policy.

mod last_run;
mod missing_variables;
pub(crate) mod record;
mod relocated;
mod service;
mod text;
mod united;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;

use self::last_run::{of_last_run, replace};
use self::missing_variables::Missed;
use self::relocated::RelocatedMount;
pub(crate) use self::service::Served;
use crate::advice::advisor::{Advice, Advisor, First, Written};
use crate::advice::rule_additions::RuleAddition;
use crate::advice::{Gathered, user_additions};
use crate::cli::Options;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::invocation::CommandHint;
use crate::host::workspace::Workspace;
use crate::record::command_line::CommandLine;
use crate::record::denial::Denial;
use crate::record::denials::Denials;
use crate::report::why::record::{ExplainedDenial, MOST, Rules, RunHead, Together, command, now};
use crate::report::{events, summary};
use crate::text::quote;
use crate::{compile, output};

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    pub(crate) status: u8,
    pub(crate) denials: &'a Denials,
    pub(crate) advisor: Advisor<'a>,
    /// Variables that the program may have needed.
    pub(crate) missed: &'a [String],
}

impl Rules {
    fn of(addition: &RuleAddition<'_>) -> Self {
        addition.text().map_or_else(Self::default, |text| Self {
            toml: Some(text),
            file: Some(addition.file().to_owned()),
            list: addition.list().map(str::to_owned),
            new_list: addition.is_for_new_list(),
            after: addition.after,
            instead: addition.instead.clone(),
            grants: BTreeMap::new(),
        })
    }
}

impl Ended<'_> {
    /// Stores this run and its denials, if there are any, in place of the previous run's. A run that is started for a
    /// tool is part of the tool's run, so its denials are added to the earlier ones.
    ///
    /// # Errors
    /// They cannot be written. A run inside a run has no place to write.
    pub(crate) fn keep(
        &self,
        context: &Context,
        workspace: &Workspace,
        for_tool: bool,
    ) -> io::Result<()> {
        let mut explained = self.explained();
        if explained.is_empty() && for_tool {
            return Ok(());
        }
        let hidden: u64 = explained.iter().filter(|one| one.hidden).map(|one| one.times).sum();
        let head = RunHead {
            workspace: workspace.label(),
            directory: context.cwd.to_str().map(str::to_owned),
            command: command(self.name, self.arguments),
            status: self.status,
            denials: self.denials.total() + hidden,
            ended: now(),
            together: self.together(),
            gap: self.denials.gap.map(|gap| gap.to_string()),
            withheld: self.missed.iter().map(|name| Missed::of(name, &self.advisor)).collect(),
        };
        let dir = workspace.data_dir(context).ok_or(io::ErrorKind::NotFound)?;
        let mut earlier = if for_tool { of_last_run(context, workspace)? } else { None };
        if let Some((_, earlier)) = &mut earlier {
            self.unite(earlier, &mut explained);
        }
        replace(&dir, head, explained, earlier)
    }

    fn together(&self) -> Vec<Together> {
        let all: Vec<&Denial> = self.denials.open().iter().map(|(denial, _)| denial).collect();
        let one = |one: Gathered| Together {
            directory: quote::printable(one.directory.as_os_str().as_bytes()),
            paths: one.members.len(),
            options: quote::words(&one.options),
            rules: self.rules(&one.written),
            patterns: user_additions::additions(self.advisor.own_lists, &one.written),
        };
        self.advisor.gather(&all).into_iter().map(one).collect()
    }

    /// Every denial that is worth an explanation. A missing entry that looked absent is not.
    fn explained(&self) -> Vec<ExplainedDenial> {
        let is_there = |(denial, _): &&(Denial, u64)| {
            Path::new(OsStr::from_bytes(&denial.path)).symlink_metadata().is_ok()
        };
        let hidden = self.denials.hidden().iter().filter(is_there);
        let all = self.denials.open().iter().chain(hidden).take(MOST);
        let (denials, times): (Vec<&Denial>, Vec<u64>) =
            all.map(|(denial, times)| (denial, *times)).unzip();
        let advice = self.advisor.advise_all(&denials);
        let whole = denials.into_iter().zip(times).zip(advice);
        whole.map(|((denial, times), advice)| self.explain(denial, times, advice)).collect()
    }

    /// The rules of `written`.
    fn rules(&self, written: &Written) -> Rules {
        let names = |caps: &Capabilities| caps.iter().map(|one| one.to_string()).collect();
        let grants = written.rules.iter().map(|(path, caps)| (path.clone(), names(caps)));
        Rules { grants: grants.collect(), ..Rules::of(&self.advisor.rule_addition(&written.rules)) }
    }

    fn explain(&self, denial: &Denial, times: u64, advice: Advice) -> ExplainedDenial {
        let (mut options, mut rules, mut never) = (None, Rules::default(), None);
        let mut unapproved = Vec::new();
        let (mut patterns, mut question, mut then) = (Vec::new(), None, None);
        let (mut first, mut other_port, mut mount) = (None, None, None);
        match advice {
            Advice::Grant { first: before, options: words, written, question: asked } => {
                (first, question) = (before, asked);
                mount = RelocatedMount::by(&words, self.advisor.mounts);
                let is_told = !words.is_empty() && mount.is_none();
                options = is_told.then(|| quote::words(&words));
                rules = self.rules(&written);
                patterns = user_additions::additions(self.advisor.own_lists, &written);
            }
            Advice::Connection(way) => {
                options = Some(format!("--net {}", quote::quoted(way.typed.as_bytes())));
                other_port = way.at_other_ports();
                let addition = self.advisor.host_addition(denial, &way);
                rules = addition.as_ref().map(Rules::of).unwrap_or_default();
            }
            Advice::Command { key, rule, instead } => {
                rules = Rules::of(&self.advisor.program_addition(&key, &rule, instead.as_ref()));
            }
            Advice::Approve { rules, options: words } => {
                unapproved = rules;
                options = (!words.is_empty()).then(|| quote::words(&words));
            }
            Advice::Withheld { first, options, written, question: asked } => {
                match first {
                    First::TakeOut(words) => never = Some(words),
                    First::Approve(rules) => unapproved = rules,
                }
                question = asked;
                then = (!options.is_empty()).then(|| quote::words(&options));
                rules = self.rules(&written);
                patterns = user_additions::additions(self.advisor.own_lists, &written);
            }
            Advice::Never(reason) => never = Some(reason),
        }
        let arguments = CommandLine::arguments_of(denial);
        let route = if arguments.is_some() { &denial.path } else { &denial.route };
        ExplainedDenial {
            denied: summary::asked(denial),
            capability: capability(denial),
            path: quote::printable(&denial.path),
            route: quote::printable(route),
            other: (!denial.other.is_empty()).then(|| quote::printable(&denial.other)),
            other_capability: self.advisor.beside(denial).iter().map(|it| it.to_string()).collect(),
            arguments,
            program: quote::printable(&denial.program),
            call: quote::printable(&denial.call),
            times,
            reason: events::reason(denial).to_owned(),
            rule: self.advisor.rule(denial),
            layer: denial.layer.as_str().to_owned(),
            hidden: denial.hidden,
            first,
            options,
            mount,
            other_port,
            unapproved,
            approve: None,
            rules,
            patterns,
            question,
            never,
            then,
            message: None,
        }
    }
}

impl ExplainedDenial {
    /// The command for the approvals that are needed.
    fn approval(&self, here: &CommandHint) -> Option<String> {
        (!self.unapproved.is_empty()).then(|| here.approvals(&self.unapproved))
    }
}

fn capability(denial: &Denial) -> Vec<String> {
    let net = denial.reason.is_network().then(|| "net".to_owned());
    denial.missing.iter().map(|one| one.to_string()).chain(net).collect()
}

/// Runs `why --last`: explains the denials of the last run of the workspace.
pub(crate) fn last(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let mut found = of_last_run(context, &workspace).map_err(|error| unreadable(&error))?;
    if let Some((head, denials)) = &mut found {
        relocated::show_from(&context.cwd, head, denials);
        for denial in denials {
            denial.approve = denial.approval(&workspace.here);
            if let Some(mount) = denial.mount.take() {
                denial.options = mount.option(&workspace.here);
            }
        }
    }
    match found {
        Some((head, mut denials)) if json => {
            denials.extend(head.withheld.iter().map(|one| one.explained(&head)));
            output::json(&denials)?;
        }
        None if json => output::output("[]\n")?,
        Some((head, denials)) => output::text(&text::words(&head, &denials, &workspace))?,
        None => output::text(&text::nothing(&workspace))?,
    }
    Ok(0)
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::own(format!("the record of the last run cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_line_is_kept_as_a_shell_reads_it() {
        let arguments = [OsString::from("a b"), OsString::from_vec(b"c\xff".to_vec())];
        assert_eq!(command(OsStr::new("cat"), &arguments), ["cat", "'a b'", r"$'c\xff'"]);
    }
}
