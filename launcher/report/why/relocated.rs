//! Adapts suggestions to a person who is now in another directory than the run was.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::external::mounts::unused::{self, Idle};
use crate::host::invocation::CommandHint;
use crate::report::why::record::{ExplainedDenial, RunHead};
use crate::text::quote;

/// A link that `--mount` creates again. Its name depends on the person's current directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RelocatedMount {
    /// Relative to the workspace.
    name: String,
    target: PathBuf,
}

impl RelocatedMount {
    /// The one of `mounts` that these options are for, if there is one.
    pub(super) fn by(options: &[(&'static str, PathBuf)], mounts: &[Idle]) -> Option<Self> {
        let [("--mount", word)] = options else { return None };
        let idle = mounts.iter().find(|idle| idle.word == *word)?;
        // The record is text.
        idle.target.to_str()?;
        Some(Self { name: idle.name.clone(), target: idle.target.clone() })
    }

    /// The option, as words for a shell.
    pub(super) fn option(&self, here: &CommandHint) -> Option<String> {
        let word = unused::word(&self.name, &self.target, here)?;
        Some(quote::words(&[("--mount", word.into())]))
    }
}

/// Rewrites the file names of rules so that they can be found from the directory `cwd`.
pub(super) fn show_from(cwd: &Path, head: &mut RunHead, denials: &mut [ExplainedDenial]) {
    let Some(directory) = head.directory.as_deref().map(Path::new) else { return };
    if directory == cwd {
        return;
    }
    let together = head.together.iter_mut().flat_map(|one| &mut one.changes);
    let withheld = head.withheld.iter_mut().flat_map(|one| &mut one.changes);
    let denials = denials.iter_mut().flat_map(|one| &mut one.changes);
    for change in denials.chain(together).chain(withheld) {
        change.file = from(directory, cwd, &change.file);
    }
}

/// The name, seen from `cwd`, of the file that is `name` seen from `directory`.
fn from(directory: &Path, cwd: &Path, name: &str) -> String {
    let path = directory.join(name);
    let path = path.strip_prefix(cwd).unwrap_or(&path);
    path.to_str().map_or_else(|| name.to_owned(), str::to_owned)
}
