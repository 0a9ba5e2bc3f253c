//! Implements `why --last`, which explains the denials of a workspace's last run and suggests how to allow them. The
//! run stores them, with suggestions for its own policy.

pub(crate) mod explained;
mod last_run;
pub(crate) mod missing_variables;
pub(crate) mod record;
mod relocated;
mod service;
mod text;
mod united;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use self::last_run::{of_last_run, replace};
use self::missing_variables::Missed;
pub(crate) use self::service::Served;
use crate::advice::Gathered;
use crate::advice::advisor::Advisor;
use crate::advice::person::Person;
use crate::advice::system_permissions::is_full;
use crate::cli::Options;
use crate::config::edit::change::{self, Change};
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::invocation::CommandHint;
use crate::host::workspace::Workspace;
use crate::output::Style;
use crate::record::denial::{Denial, Reason};
use crate::record::denials::Denials;
use crate::report::why::record::{ExplainedDenial, MOST, RunHead, Together, Weight, command, now};
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

/// A run that has ended, with all that is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) head: RunHead,
    pub(crate) denials: Vec<ExplainedDenial>,
}

impl Ended<'_> {
    /// Explains the denials that are worth it, and numbers them. A missing entry that looked absent is not. The run was
    /// in the directory `cwd`, and in the `workspace` with this name.
    pub(crate) fn explain(&self, cwd: &Path, workspace: String) -> Explained {
        let is_there = |(denial, _): &&(Denial, u64)| {
            Path::new(OsStr::from_bytes(&denial.path)).symlink_metadata().is_ok()
        };
        let hidden = self.denials.hidden().iter().filter(is_there);
        let mut all: Vec<(Weight, &Denial, u64)> = self
            .denials
            .open()
            .iter()
            .chain(hidden)
            .take(MOST)
            .map(|(denial, times)| (self.weight(denial), denial, *times))
            .collect();
        // A person who only reads the first suggestions opens no sensitive file.
        all.sort_by_key(|(weight, denial, _)| (*weight, self.advisor.is_sensitive(denial)));
        let denials: Vec<&Denial> = all.iter().map(|(_, denial, _)| *denial).collect();
        let gathered = self.advisor.gather(&denials);
        let (numbers, last) = numbers(denials.len(), &gathered);
        let advice = self.advisor.advise_all(&denials);
        let explained = all.iter().zip(advice).zip(&numbers).map(|((one, advice), number)| {
            let (weight, denial, times) = *one;
            let explained = ExplainedDenial::of(denial, times, advice, &self.advisor);
            ExplainedDenial { number: *number, weight, ..explained }
        });
        let together = |one: &Gathered| Together {
            number: one.members.first().and_then(|at| numbers.get(*at)).copied().unwrap_or(last),
            directory: quote::printable(&self.advisor.named(one.directory.as_os_str().as_bytes())),
            paths: one.members.len(),
            options: quote::words(&one.options),
            changes: self.advisor.changes(&one.written),
        };
        let missed = self.missed.iter().map(|name| Missed::of(last + 1, name, &self.advisor));
        let hidden: u64 = all.iter().filter(|one| one.1.hidden).map(|one| one.2).sum();
        Explained {
            denials: explained.collect(),
            head: RunHead {
                workspace,
                directory: cwd.to_str().map(str::to_owned),
                command: command(self.name, self.arguments),
                status: self.status,
                denials: self.denials.total() + hidden,
                ended: now(),
                together: gathered.iter().map(together).collect(),
                gap: self.denials.gap.map(|gap| gap.to_string()),
                withheld: missed.collect(),
            },
        }
    }

    /// The changes of files by which nobody is asked again about what a person allowed for good.
    pub(crate) fn allowed_for_good(&self) -> Vec<Change> {
        let advisor = Advisor { person: Person::Unwanted, ..self.advisor };
        let consented = self.denials.consented().iter();
        let meant = consented.filter(|(denial, _)| denial.reason == Reason::Always);
        // As if it had been denied.
        let denials = meant.map(|(denial, _)| Denial { reason: Reason::Rule, ..denial.clone() });
        let changes = denials.flat_map(|denial| {
            let advice = advisor.advise(&denial);
            ExplainedDenial::of(&denial, 1, advice, &advisor).changes
        });
        change::together(changes)
    }

    /// Looking for something that does not exist is idle, and so is deleting a directory that is not empty. A program
    /// that was told to copy instead of moving did so if it succeeded. One that could not replace a file, and changed it
    /// instead, needs nothing either.
    fn weight(&self, denial: &Denial) -> Weight {
        let is_nothing = || denial.is_of_nothing() || denial.is_copied() || is_full(denial);
        let is_idle = || {
            self.status == 0 && is_nothing()
                || self.advisor.is_denied_by_system(denial)
                || self.advisor.is_changed_in_place(denial)
        };
        match denial.hidden {
            _ if self.advisor.is_spent() => Weight::Denied,
            _ if is_idle() => Weight::Idle,
            true => Weight::LookedAbsent,
            false => Weight::Denied,
        }
    }

    /// Stores the run, if there are any denials, in place of the previous run's. A run that is started for a tool is
    /// part of the tool's run, so its denials are added to the earlier ones.
    ///
    /// # Errors
    /// They cannot be written. A run inside a run has no place to write.
    pub(crate) fn keep(
        &self,
        explained: &Explained,
        context: &Context,
        workspace: &Workspace,
        for_tool: bool,
    ) -> io::Result<()> {
        let Explained { head, mut denials } = explained.clone();
        if denials.is_empty() && for_tool {
            return Ok(());
        }
        let dir = workspace.data_dir(context).ok_or(io::ErrorKind::NotFound)?;
        let mut earlier = if for_tool { of_last_run(context, workspace)? } else { None };
        if let Some((_, earlier)) = &mut earlier {
            self.unite(earlier, &mut denials);
        }
        replace(&dir, head, denials, earlier)
    }
}

/// The number of each of `count` denials, and the last. Those of one group have the same.
fn numbers(count: usize, gathered: &[Gathered]) -> (Vec<usize>, usize) {
    let mut numbers: Vec<usize> = Vec::new();
    let mut last = 0;
    for at in 0..count {
        let group = gathered.iter().find(|one| one.members.contains(&at));
        let known = group.and_then(|one| numbers.get(*one.members.first()?)).copied();
        numbers.push(known.unwrap_or_else(|| {
            last += 1;
            last
        }));
    }
    (numbers, last)
}

/// The record of the last run of the workspace, as the person in `context` has to type it.
///
/// # Errors
/// The record cannot be read.
pub(crate) fn recorded(
    context: &Context,
    workspace: &Workspace,
) -> Result<Option<Explained>, Failure> {
    let found = of_last_run(context, workspace).map_err(|error| unreadable(&error))?;
    Ok(found.map(|(mut head, mut denials)| {
        relocated::show_from(&context.cwd, &mut head, &mut denials);
        Explained { head, denials }.shown_for(&workspace.here)
    }))
}

impl Explained {
    /// The number of denials that the program could see and that are here one by one.
    pub(crate) fn told(&self) -> u64 {
        self.denials.iter().filter(|one| !one.hidden).map(|one| one.times).sum()
    }

    /// With the commands that a person types in the directory `here`.
    pub(crate) fn shown_for(mut self, here: &CommandHint) -> Self {
        self.denials.iter_mut().for_each(|denial| denial.show_for(here));
        self
    }
}

/// Runs `why --last`: explains the denials of the last run of the workspace.
pub(crate) fn last(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    match recorded(context, &workspace)? {
        Some(Explained { head, mut denials }) if json => {
            denials.extend(head.withheld.iter().map(|one| one.explained(&head)));
            output::json(&denials)?;
        }
        None if json => output::output("[]\n")?,
        Some(run) => output::text(&text::words(&run, &workspace, Style::of_stdout()))?,
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
