//! Implements `why --last`, which explains the denials of a workspace's last run and suggests how to allow them. The
//! run stores them, with suggestions for its own policy.

mod explained;
mod last_run;
mod missing_variables;
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
use crate::advice::advisor::Advisor;
use crate::advice::{Gathered, user_additions};
use crate::cli::Options;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::record::denial::Denial;
use crate::record::denials::Denials;
use crate::report::why::record::{ExplainedDenial, MOST, Rules, RunHead, Together, command, now};
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
            directory: quote::printable(&self.advisor.named(one.directory.as_os_str().as_bytes())),
            paths: one.members.len(),
            options: quote::words(&one.options),
            rules: Rules::of_written(&one.written, &self.advisor),
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
        whole
            .map(|((denial, times), advice)| {
                ExplainedDenial::of(denial, times, advice, &self.advisor)
            })
            .collect()
    }
}

/// Runs `why --last`: explains the denials of the last run of the workspace.
pub(crate) fn last(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let mut found = of_last_run(context, &workspace).map_err(|error| unreadable(&error))?;
    if let Some((head, denials)) = &mut found {
        relocated::show_from(&context.cwd, head, denials);
        for denial in denials {
            denial.show_for(&workspace.here);
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
