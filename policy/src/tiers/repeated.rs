//! Has patterns that restrict match at every place where what they name is mounted. Used by the launcher, which knows
//! the mounts.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::vec::Vec;

use super::{List, Tiers};
use crate::pattern::Pattern;

impl Tiers {
    /// Has all patterns that take something away match at the copies, too, that `copies` knows of a path: where each
    /// is, and of which path, which may be deeper. The patterns that do, as they are written.
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

    /// The places that the list of sensitive paths names, without those that may be anywhere.
    pub fn sensitive_places(&self) -> impl Iterator<Item = PathBuf> {
        let sensitive = self.patterns.iter().filter(|(list, _)| *list == List::Sensitive);
        sensitive.map(|(_, pattern)| pattern.stem()).filter(|stem| stem != Path::new("/"))
    }
}
