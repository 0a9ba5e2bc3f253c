//! Sensitive files that a workspace without rules gives to every program: worth a word at the end of a
//! run (spec §10).

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;
use jp_confine_policy::tiers::Tiers;

use crate::report;

/// More entries than this are not looked at: it is a courtesy.
const ENTRIES: usize = 1000;

/// How deep below the workspace is looked.
const DEPTH: usize = 2;

/// How many are named.
const NAMED: usize = 3;

/// What is sensitive in a workspace.
#[derive(Debug)]
pub(crate) struct Exposed<'a> {
    root: &'a Path,
    tiers: Tiers,
}

impl<'a> Exposed<'a> {
    /// What the list of `tiers` says is sensitive at or below the canonical `root`.
    pub(crate) fn of(root: &'a Path, tiers: &Tiers) -> Self {
        let tiers = tiers.about(&[root]);
        // The first question makes the automaton; whoever has time now has none at the end.
        let _ = tiers.is_sensitive(root);
        Self { root, tiers }
    }

    /// What of it there is near the top that `image` lets programs read, in words; `None` where there is nothing.
    pub(crate) fn warning(&self, image: &Image<'_>) -> Option<String> {
        let Self { root, tiers } = self;
        let may_read = |path: &Path| {
            let request = Request::canonical(path.as_os_str().as_bytes());
            decide::access(image, &request, Capabilities::READ) == Verdict::Allow
        };
        let found: Vec<PathBuf> =
            entries(root).filter(|path| tiers.is_sensitive(path) && may_read(path)).collect();
        let shown = |path: &PathBuf| {
            report::path(&path.strip_prefix(root).unwrap_or(path).to_string_lossy())
        };
        let names: Vec<String> = found.iter().take(NAMED).map(shown).collect();
        let kept = report::words(&[("--deny", found.first()?.clone())]);
        let more = report::and_more(found.len().saturating_sub(NAMED));
        Some(format!(
            "programs here may read {}{more}; to keep one from them: jp-confine {kept}",
            names.join(", ")
        ))
    }
}

/// What is in the workspace, as far as it is looked at.
fn entries(workspace: &Path) -> impl Iterator<Item = PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(workspace.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if found.len() == ENTRIES {
                return found.into_iter();
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && depth + 1 < DEPTH && entry.file_name() != ".git" {
                open.push((entry.path(), depth + 1));
            }
            found.push(entry.path());
        }
    }
    found.into_iter()
}
