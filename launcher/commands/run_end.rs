//! What a run leaves behind it: a record for `why --last`, and a block for the person who started it.

use std::io::ErrorKind;

use crate::cli::Options;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::launch::run_resources::Premises;
use crate::output;
use crate::report::summary::{self, Circumstances};
use crate::report::why::Ended;

/// Who tells of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aftermath<'a> {
    pub(crate) context: &'a Context,
    pub(crate) options: &'a Options,
    pub(crate) workspace: &'a Workspace,
    pub(crate) premises: &'a Premises,
}

impl Aftermath<'_> {
    /// Keeps what was refused, and tells of it unless that is unwanted; of a program that was not started it is
    /// told in any case.
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
        summary::print(Circumstances {
            denials: ended.denials,
            program: ended.name,
            missed: ended.missed,
            advisor: ended.advisor,
            verbose: options.verbose,
            succeeded: ended.status == 0,
            // What a hosted tool is refused goes with its folder, and has no rules.
            kept: kept.is_ok() && !options.hosted,
            logged: options.events.is_some() || options.hosted,
        });
    }
}
