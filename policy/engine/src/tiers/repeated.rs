//! Makes patterns that restrict match at every mount point of the paths that they name. Used by the launcher, which
//! knows the mounts.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::vec::Vec;

use super::{List, Tiers};
use crate::pattern::Pattern;

impl Tiers {
    /// Makes each pattern that withholds something also match at the copies that `copies` knows of a path. Each copy
    /// has its place and the path that it copies, which may be deeper. Returns the patterns that do.
    pub fn repeat(&mut self, copies: impl Fn(&Path) -> Vec<(PathBuf, PathBuf)>) -> Vec<&Pattern> {
        let mut repeated = Vec::new();
        for (list, pattern) in &mut self.patterns {
            if list.restricts() && pattern.repeat(&copies) {
                repeated.push(&*pattern);
            }
        }
        if !repeated.is_empty() {
            self.table = OnceLock::new();
        }
        repeated
    }

    /// The places that the list of sensitive paths names, without patterns that match anywhere.
    pub fn sensitive_places(&self) -> impl Iterator<Item = PathBuf> {
        let sensitive = self.patterns.iter().filter(|(list, _)| *list == List::Sensitive);
        sensitive.map(|(_, pattern)| pattern.stem()).filter(|stem| stem != Path::new("/"))
    }
}
