//! Creates the resources that a run needs before it has a policy: files, library, and the page that its processes
//! share.

use std::io;
use std::path::{Path, PathBuf};

use crate::cli::Options;
use crate::compile::Run;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::machine::Need;
use crate::host::run_directory::Scratch;
use crate::host::workspace::Workspace;
use crate::launch::outer_run::Outer;
use crate::launch::preload_library;
use crate::sys::memfd::SharedPage;
use crate::text::quote;

/// The resources of one run. Its files are deleted on drop.
#[derive(Debug)]
pub(crate) struct RunResources {
    pub(crate) scratch: Scratch,
    /// The preload library: that of the outermost run, which all programs inside load.
    pub(crate) shim: PathBuf,
    /// The run around this one, if there is one.
    pub(crate) outer: Option<Outer>,
    pub(crate) page: SharedPage,
    /// The value of `TMPDIR`.
    pub(crate) temp: PathBuf,
}

impl RunResources {
    /// Creates them.
    ///
    /// # Errors
    /// Files or memory cannot be created, or an outer run is not as expected.
    pub(crate) fn make(context: &Context, options: &Options) -> Result<Self, Failure> {
        Need::Memory.require()?;
        let scratch = Scratch::new(&context.temp, options.share_tmp)
            .map_err(|error| no_scratch(&context.temp, &error))?;
        let outer = Outer::find(context)?;
        let shim = match &outer {
            Some(outer) => preload_library::take_over(outer.library())?,
            None => preload_library::ensure(context, &scratch)?,
        };
        let page = outer.as_ref().map_or_else(SharedPage::new, Outer::page)?;
        let temp = scratch.temp().unwrap_or(&context.temp).to_owned();
        Ok(Self { scratch, shim, outer, page, temp })
    }

    /// Whether an outer run allows storing data about `workspace`. If not, the launcher does not try: nobody could do
    /// anything about that denial of the outer run.
    pub(crate) fn may_keep(&self, context: &Context, workspace: &Workspace) -> bool {
        let Some(outer) = &self.outer else { return true };
        workspace.data_dir(context).is_some_and(|dir| outer.lets_write(context, &dir))
    }

    /// The parts that the policy of the run is compiled from.
    pub(crate) fn parts(&self) -> Run<'_> {
        let Self { scratch, shim, page, temp, .. } = self;
        Run { scratch, shim, page, temp, log: None, learning: false }
    }
}

fn no_scratch(temp: &Path, error: &io::Error) -> Failure {
    Failure::advised(
        format!("no temporary files can be made in {}: {error}", quote::place(temp)),
        "set TMPDIR to a directory that you may write to",
    )
}
