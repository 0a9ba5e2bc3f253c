//! Advice for who stands elsewhere by now than the run did.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::external::mounts::unused::{self, Idle};
use crate::host::invocation::Here;
use crate::report::why::record::{Explained, Head};
use crate::text::quote;

/// A link that `--mount` makes again: its name is typed as seen from where a person stands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mounted {
    /// Workspace-relative.
    name: String,
    target: PathBuf,
}

impl Mounted {
    /// The one of `mounts` that these options are for, if they are for one.
    pub(super) fn by(options: &[(&'static str, PathBuf)], mounts: &[Idle]) -> Option<Self> {
        let [("--mount", word)] = options else { return None };
        let idle = mounts.iter().find(|idle| idle.word == *word)?;
        // What is kept is text.
        idle.target.to_str()?;
        Some(Self { name: idle.name.clone(), target: idle.target.clone() })
    }

    /// The option, as words for a shell.
    pub(super) fn option(&self, here: &Here) -> Option<String> {
        let word = unused::word(&self.name, &self.target, here)?;
        Some(quote::words(&[("--mount", word.into())]))
    }
}

/// Has the files that rules belong in be named so that they are found from the directory `cwd`.
pub(super) fn show_from(cwd: &Path, head: &mut Head, denials: &mut [Explained]) {
    let Some(directory) = head.directory.as_deref().map(Path::new) else { return };
    if directory == cwd {
        return;
    }
    let together = head.together.iter_mut().map(|one| &mut one.rules);
    let withheld = head.withheld.iter_mut().map(|one| &mut one.rules);
    let denials = denials.iter_mut().map(|one| &mut one.rules);
    for rules in denials.chain(together).chain(withheld) {
        rules.file = rules.file.take().map(|file| from(directory, cwd, &file));
    }
}

/// A file's name as seen from `cwd` that is `name` as seen from `directory`.
fn from(directory: &Path, cwd: &Path, name: &str) -> String {
    let path = directory.join(name);
    let path = path.strip_prefix(cwd).unwrap_or(&path);
    path.to_str().map_or_else(|| name.to_owned(), str::to_owned)
}
