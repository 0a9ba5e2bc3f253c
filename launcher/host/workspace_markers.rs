//! Finds the marks of workspaces, and tells which ones a stranger may have created. A program of one run must not
//! choose the policy of the next.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op};
use rustix::process::geteuid;

use crate::host::context::Context;
use crate::host::workspace::FILE;

/// The mark of a workspace without a policy file.
pub(crate) const REPOSITORY: &str = ".git";
const ALL: [&str; 2] = [FILE, REPOSITORY];

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

    /// Whether `dir` is too much for a program to change: the root directory or the home.
    pub(crate) fn is_too_much(self, dir: &Path) -> bool {
        dir.parent().is_none() || self.home == Some(dir)
    }

    /// Whether a directory has a policy file that no stranger may have created.
    pub(crate) fn has_policy(self, dir: &Path) -> bool {
        self.has(dir, FILE)
    }

    /// The nearest directory from `dir` upwards with a mark that no stranger may have created.
    fn nearest(self, dir: &Path) -> Option<&Path> {
        nearest_by(dir, |dir, mark| self.has(dir, mark))
    }

    /// A mark that a stranger may have created, and that would choose the workspace of `cwd`. It is nearer than any
    /// other mark. Or it is a policy file further up, which may have counted until a run opened its directory to
    /// strangers.
    pub(crate) fn of_a_stranger(self, cwd: &Path) -> Option<PathBuf> {
        let above = self.nearest(cwd).and_then(Path::parent);
        let mut way = cwd.ancestors().take_while(|dir| Some(*dir) != above);
        let found = way.find_map(|dir| self.strangers(dir, &ALL));
        let mut above = above.into_iter().flat_map(Path::ancestors).filter(|dir| is_openable(dir));
        found.or_else(|| above.find_map(|dir| self.strangers(dir, &[FILE])))
    }

    /// The first of these marks in a directory, if a stranger may have created it.
    fn strangers(self, dir: &Path, marks: &[&str]) -> Option<PathBuf> {
        let mut found = marks.iter().filter_map(|name| Some((name, of(dir, name)?)));
        let (name, mark) = found.next().filter(|_| !self.is_too_much(dir))?;
        is_strangers(&mark, dir).then(|| dir.join(name))
    }

    fn has(self, dir: &Path, mark: &str) -> bool {
        !self.is_too_much(dir) && of(dir, mark).is_some_and(|mark| !is_strangers(&mark, dir))
    }

    /// Like [`Self::has`]. Also true if the mark may have counted until a run opened the directory to strangers.
    fn may_have_had(self, dir: &Path, mark: &str) -> bool {
        let may_count = |mark| is_openable(dir) || !is_strangers(&mark, dir);
        !self.is_too_much(dir) && of(dir, mark).is_some_and(may_count)
    }

    /// The mark of the workspace at `root`, if it has to stay. Without it, a directory above might be the next
    /// workspace, or a symlink in it might lead to the next one. A policy file is protected in any case.
    pub(crate) fn needed(self, root: &Path) -> Option<PathBuf> {
        let is_marked = !self.may_have_had(root, FILE) && self.may_have_had(root, REPOSITORY);
        is_marked.then(|| root.join(REPOSITORY))
    }

    /// The farthest directory from `dir` upwards with a policy file. If there is none, the nearest with a mark.
    pub(crate) fn workspace_of(self, dir: &Path) -> Option<&Path> {
        workspace_by(dir, |dir, mark| self.has(dir, mark))
    }

    /// A symlink on the absolute path `spelled` that leads to `root` from another workspace, with that workspace. It
    /// counts even if the symlink was in that workspace only when it was created.
    pub(crate) fn led_out(self, spelled: &Path, root: &Path) -> Option<(PathBuf, PathBuf)> {
        let found = canonical::resolve(Path::new("/"), spelled, Op::Content).ok()?;
        found.steps.into_iter().find_map(|step| {
            let dir = step.link.parent()?;
            let then = workspace_by(dir, |dir, mark| self.may_have_had(dir, mark));
            let mut holders = self.workspace_of(dir).into_iter().chain(then);
            let holder = holders.find(|holder| !root.starts_with(holder))?.to_owned();
            Some((step.link, holder))
        })
    }
}

/// The nearest directory from `dir` upwards with a mark that `counts`.
fn nearest_by(dir: &Path, counts: impl Fn(&Path, &str) -> bool) -> Option<&Path> {
    dir.ancestors().find(|dir| ALL.iter().any(|mark| counts(dir, mark)))
}

/// The farthest directory from `dir` upwards with a policy file that `counts`. If there is none, [`nearest_by`].
fn workspace_by(dir: &Path, counts: impl Fn(&Path, &str) -> bool) -> Option<&Path> {
    let nearest = nearest_by(dir, &counts)?;
    let farthest = nearest.ancestors().filter(|dir| counts(dir, FILE)).last();
    farthest.or(Some(nearest))
}

fn of(dir: &Path, mark: &str) -> Option<Metadata> {
    canonical::look(&dir.join(mark)).ok()
}

/// Whether the user's programs may open `dir` to all users, so that strangers' marks there stop counting. Root's
/// programs may open any directory.
fn is_openable(dir: &Path) -> bool {
    let user = geteuid();
    user.is_root() || canonical::look(dir).is_ok_and(|metadata| metadata.uid() == user.as_raw())
}

/// Whether a stranger may have created the `mark` in `dir`: all users may write there, and it is not this user's.
fn is_strangers(mark: &Metadata, dir: &Path) -> bool {
    const EVERYBODY: u32 = 0o002;
    let is_shared = || canonical::look(dir).is_ok_and(|metadata| metadata.mode() & EVERYBODY != 0);
    mark.uid() != geteuid().as_raw() && is_shared()
}
