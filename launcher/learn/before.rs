//! What stood in the workspace before the run, where that decides which rules can stand: the policy is for the tree
//! as it was.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::canonical::{self, Op};

use super::tree::join;

/// So many entries are looked at.
pub(crate) const LIMIT: usize = 100_000;

/// The symbolic links of a workspace, by their paths in it, and where each leads, canonical, if that can be told.
#[derive(Debug, Default)]
pub(crate) struct Links {
    paths: HashMap<Vec<u8>, Option<PathBuf>>,
    seen: usize,
}

impl Links {
    /// Those in the workspace `root` now.
    pub(crate) fn now(root: &Path) -> Self {
        let mut links = Self::default();
        links.look(root, &[]);
        links
    }

    /// Whether one stood at `path`, workspace-relative.
    pub(crate) fn had(&self, path: &[u8]) -> bool {
        self.paths.contains_key(path)
    }

    /// Where those lead whose paths are as wanted.
    pub(crate) fn targets(&self, is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = &Path> {
        let wanted = self.paths.iter().filter(move |(path, _)| is_wanted(path));
        wanted.filter_map(|(_, target)| target.as_deref())
    }

    fn look(&mut self, place: &Path, path: &[u8]) {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            self.seen += 1;
            if self.seen >= LIMIT {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = join(path, entry.file_name().as_bytes());
            if kind.is_dir() {
                self.look(&entry.path(), &path);
            } else if kind.is_symlink() {
                let led = canonical::resolve(place, Path::new(&entry.file_name()), Op::Content);
                self.paths.insert(path, led.ok().map(|led| led.path));
            }
        }
    }
}
