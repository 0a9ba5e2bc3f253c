//! What marks a workspace, and who may have made it: a program of one run must not choose what the next one is held to.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::canonical::{self, Op};
use rustix::process::geteuid;

use crate::context::Context;
use crate::workspace::FILE;

const REPOSITORY: &str = ".git";

/// The marks that count for a user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    /// The user's home directory, canonical.
    home: Option<&'a Path>,
}

impl<'a> Marks<'a> {
    pub(crate) fn of(context: &'a Context) -> Self {
        Self { home: context.canonical_home.as_deref() }
    }

    /// Whether nobody would want a program to change all that is in `dir`: the root directory and the home.
    pub(crate) fn is_too_much(self, dir: &Path) -> bool {
        dir.parent().is_none() || self.home == Some(dir)
    }

    /// Whether a directory has such a mark, and not one that a stranger may have made there.
    pub(crate) fn has(self, dir: &Path, mark: &str) -> bool {
        !self.is_too_much(dir) && of(dir, mark).is_some_and(|mark| !is_strangers(&mark, dir))
    }

    pub(crate) fn has_any(self, dir: &Path) -> bool {
        self.has(dir, FILE) || self.has(dir, REPOSITORY)
    }

    /// Whether a directory has a policy file that a stranger may have made there.
    pub(crate) fn has_strangers_policy(self, dir: &Path) -> bool {
        !self.is_too_much(dir) && of(dir, FILE).is_some_and(|mark| is_strangers(&mark, dir))
    }

    /// What marks the workspace at `root`, where without that mark a directory above it would be the workspace. A
    /// policy file is kept in any case.
    pub(crate) fn needed(self, root: &Path) -> Option<PathBuf> {
        let is_marked = !self.has(root, FILE) && self.has(root, REPOSITORY);
        let mut above = root.ancestors().skip(1);
        (is_marked && above.any(|dir| self.has_any(dir))).then(|| root.join(REPOSITORY))
    }

    /// A link on the absolute path `spelled` that leads to `root`, out of the workspace that it stands in; and that.
    pub(crate) fn led_out(self, spelled: &Path, root: &Path) -> Option<(PathBuf, PathBuf)> {
        let found = canonical::resolve(Path::new("/"), spelled, Op::Content).ok()?;
        found.steps.into_iter().find_map(|step| {
            let holder = step.link.ancestors().skip(1).find(|dir| self.has_any(dir))?.to_owned();
            (!root.starts_with(&holder)).then_some((step.link, holder))
        })
    }
}

fn of(dir: &Path, mark: &str) -> Option<Metadata> {
    dir.join(mark).symlink_metadata().ok()
}

/// Whether the `mark` of `dir` may be a stranger's: everybody may write there, and the user did not make it.
fn is_strangers(mark: &Metadata, dir: &Path) -> bool {
    const EVERYBODY: u32 = 0o002;
    let is_shared = || dir.metadata().is_ok_and(|metadata| metadata.mode() & EVERYBODY != 0);
    mark.uid() != geteuid().as_raw() && is_shared()
}
