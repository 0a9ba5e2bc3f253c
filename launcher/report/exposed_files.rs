//! Finds sensitive files that a workspace without rules gives to every program, for a warning at the end of a run (spec
//! §10).

use std::collections::VecDeque;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tiers::Tiers;

use crate::text::quote;

/// Limits on directories and entries: the search is a courtesy, and the program runs meanwhile.
const FOLDERS: usize = 250;
const ENTRIES: usize = 5000;

/// Even if the program has ended by then, the search goes on until it has seen this many of one of them.
const FEW_FOLDERS: usize = 16;
const FEW_ENTRIES: usize = 500;

/// At most this many files are named.
const NAMED: usize = 3;

/// The sensitive files in a workspace when the run began.
#[derive(Debug)]
pub(crate) struct Exposed<'a> {
    root: &'a Path,
    found: Vec<PathBuf>,
}

impl<'a> Exposed<'a> {
    /// Looks for files below the canonical `root` that the list of `tiers` calls sensitive, while the program
    /// `goes_on`. Nobody waits for this.
    pub(crate) fn of(root: &'a Path, tiers: &Tiers, goes_on: impl Fn() -> bool) -> Self {
        let tiers = tiers.about(&[root]);
        Self { root, found: search(root, |path| tiers.is_sensitive(path), goes_on) }
    }

    /// A warning about those files that still exist and that `image` lets programs read. `None` if there are none.
    pub(crate) fn warning(&self, image: &Image<'_>) -> Option<String> {
        let Self { root, found } = self;
        let may_read = |path: &&PathBuf| {
            let request = Request::canonical(path.as_os_str().as_bytes());
            decide::access(image, &request, Capabilities::READ) == Verdict::Allow
        };
        let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok();
        let found: Vec<&PathBuf> = found.iter().filter(may_read).filter(is_there).collect();
        let shown = |path: &&PathBuf| {
            quote::path(&path.strip_prefix(root).unwrap_or(path).to_string_lossy())
        };
        let names: Vec<String> = found.iter().take(NAMED).map(shown).collect();
        let kept = quote::words(&[("--deny", (*found.first()?).clone())]);
        let more = quote::and_more(found.len().saturating_sub(NAMED));
        Some(format!(
            "programs here may read {}{more}; to keep one from them: jp-confine {kept}",
            names.join(", ")
        ))
    }
}

/// The wanted entries of the workspace, from the top down, within the limits.
fn search(
    workspace: &Path,
    is_wanted: impl Fn(&Path) -> bool,
    goes_on: impl Fn() -> bool,
) -> Vec<PathBuf> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut open = VecDeque::from([workspace.to_owned()]);
    for folder in 0..FOLDERS {
        let is_enough = folder >= FEW_FOLDERS || seen >= FEW_ENTRIES;
        if is_enough && !goes_on() {
            break;
        }
        let Some(directory) = open.pop_front() else { break };
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if seen == ENTRIES {
                return found;
            }
            seen += 1;
            let path = entry.path();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            found.extend(is_wanted(&path).then(|| path.clone()));
            if is_directory && entry.file_name() != ".git" {
                open.push_back(path);
            }
        }
    }
    found
}
