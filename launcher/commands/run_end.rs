//! Ends a run with a record for `why --last` and a block for the person who started it.

use std::io::ErrorKind;

use crate::cli::Options;
use crate::commands::policy_edit;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::launch::run_resources::RunResources;
use crate::output::{self, Style};
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
        self.report(ended, started);
        if let Err(failure) = self.allow_for_good(ended) {
            output::failure(&failure);
        }
    }

    fn report(&self, ended: &Ended<'_>, started: bool) {
        let options = self.options;
        let run = ended.explain(&self.context.cwd, self.workspace.label());
        let kept = if self.premises.may_keep(self.context, self.workspace) {
            ended.keep(&run, self.context, self.workspace, options.service)
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
        let run = run.shown_for(ended.advisor.here);
        let about = Circumstances {
            run: &run,
            program: &ended.name.to_string_lossy(),
            hidden: ended.denials.total_hidden(),
            untold: ended.denials.total() - run.told(),
            here: ended.advisor.here,
            workspace: &self.workspace.root,
            verbose: options.verbose,
            // A hosted tool's record is deleted with its directory, and has no rules.
            kept: kept.is_ok() && !options.hosted,
            logged: options.events.is_some() || options.hosted,
        };
        output::told(&summary::block(&about, Style::of_stderr()));
    }

    /// Writes what a person allowed for good at a prompt into the policy, after showing the change and asking.
    fn allow_for_good(&self, ended: &Ended<'_>) -> Result<(), Failure> {
        let changes = ended.allowed_for_good();
        if changes.is_empty() {
            return Ok(());
        }
        let edits = policy_edit::edits(self.context, changes)?;
        output::told(&policy_edit::diffs(&edits, Style::of_stderr()));
        if policy_edit::is_confirmed(self.context, self.options)? {
            output::told(&policy_edit::write_all(&edits)?);
        }
        Ok(())
    }
}
