//! Ends a run with a record for `why --last` and a block for the person who started it.

use std::io::ErrorKind;

use crate::cli::Options;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::launch::run_resources::RunResources;
use crate::output;
use crate::report::summary::{self, Circumstances};
use crate::report::why::Ended;

/// The data for the report of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aftermath<'a> {
    pub(crate) context: &'a Context,
    pub(crate) options: &'a Options,
    pub(crate) workspace: &'a Workspace,
    pub(crate) premises: &'a RunResources,
}

impl Aftermath<'_> {
    /// Stores the denials, and reports them unless the user wants no report. If the program was not started, it reports
    /// them in any case.
    pub(crate) fn tell(&self, ended: &Ended<'_>, started: bool) {
        let options = self.options;
        let kept = if self.premises.may_keep(self.context, self.workspace) {
            ended.keep(self.context, self.workspace, options.service)
        } else {
            Err(ErrorKind::PermissionDenied.into())
        };
        if let Err(error) = &kept
            && options.verbose
        {
            output::note(&format!("what was refused cannot be kept for `why --last`: {error}"));
        }
        if options.quiet && started {
            return;
        }
        summary::print(&Circumstances {
            denials: ended.denials,
            program: ended.name,
            missed: ended.missed,
            advisor: ended.advisor,
            verbose: options.verbose,
            succeeded: ended.status == 0,
            // A hosted tool's record is deleted with its directory, and has no rules.
            kept: kept.is_ok() && !options.hosted,
            logged: options.events.is_some() || options.hosted,
        });
    }
}
