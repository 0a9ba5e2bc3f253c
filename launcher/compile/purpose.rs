//! Describes the purpose that a policy is prepared for.

use std::path::{Path, PathBuf};

use crate::cli::Options;
use crate::compile::external_rules::Purpose;
use crate::compile::private_files;
use crate::host::run_directory::Scratch;
use crate::output::event_log::Log;
use crate::sys::memfd::SharedPage;

/// The purpose that a policy is prepared for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage<'a> {
    /// For a query about the policy.
    Question,
    /// For the file service.
    Service {
        /// The event log, which the tool must not change.
        log: Option<&'a Log>,
    },
    /// To learn how layers would hold it in a [`Self::Run`], without running anything.
    Rehearsal(Run<'a>),
    /// For a program that is about to run.
    Run(Run<'a>),
}

impl<'a> Stage<'a> {
    /// Whether a program is about to run that the file service does not start for a tool.
    pub(super) const fn begins(self, options: &Options) -> bool {
        matches!(self, Self::Run(_)) && !options.service
    }

    pub(super) const fn run(self) -> Option<Run<'a>> {
        match self {
            Self::Rehearsal(run) | Self::Run(run) => Some(run),
            Self::Question | Self::Service { .. } => None,
        }
    }

    /// Whether it is about runs that see a private directory in the place of `/tmp`.
    pub(super) const fn has_own_temp(self, options: &Options) -> bool {
        let is_about_run = match self {
            Self::Question => !options.service,
            Self::Service { .. } => false,
            Self::Rehearsal(_) | Self::Run(_) => true,
        };
        is_about_run && !options.share_tmp
    }

    pub(super) const fn log(self) -> Option<&'a Log> {
        match self {
            Self::Question => None,
            Self::Service { log }
            | Self::Rehearsal(Run { log, .. })
            | Self::Run(Run { log, .. }) => log,
        }
    }

    /// Files that are never writable from inside, with descriptions.
    pub(super) fn control(self) -> impl Iterator<Item = (PathBuf, String)> {
        let of_log = |log: &Log| {
            Some((log.kept()?.to_owned(), "the event log, never writable from inside".into()))
        };
        let of_run = self.run().into_iter().flat_map(|run| run.control());
        of_run.chain(self.log().and_then(of_log))
    }

    /// The user's own directory for data that outlives a run.
    pub(super) fn ground(self) -> Option<&'a Path> {
        self.run().map(|run| run.scratch.ground())
    }

    /// Whether links may be created and questions asked.
    pub(super) const fn purpose(self) -> Purpose {
        match self {
            Self::Question | Self::Rehearsal(_) => Purpose::Question,
            Self::Service { .. } | Self::Run(_) => Purpose::Run,
        }
    }
}

/// Data that only a run has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) scratch: &'a Scratch,
    pub(crate) shim: &'a Path,
    pub(crate) page: &'a SharedPage,
    /// The program's directory for temporary files: private, or the host's with `--share-tmp`.
    pub(crate) temp: &'a Path,
    /// The event log, which the program must not change.
    pub(crate) log: Option<&'a Log>,
    /// Whether rules are being learned. Declared rules do not count then.
    pub(crate) learning: bool,
}

impl Run<'_> {
    fn control(&self) -> Vec<(PathBuf, String)> {
        let shim = self.shim.parent().unwrap_or(self.shim).to_owned();
        let kept = private_files::kept_in(self.scratch.ground());
        let kept =
            kept.map(|file| (file, "jp-confine's own, never writable from inside".to_owned()));
        let own = [
            (shim, "the preload library, never writable from inside".to_owned()),
            (
                self.scratch.denials().to_owned(),
                "the record of denials, never writable from inside".to_owned(),
            ),
        ];
        own.into_iter().chain(kept).collect()
    }
}
