//! The patterns of a run by list, for printing them as rules of another sandbox. Used by [`crate::sbpl`].

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::vec::Vec;

use super::{List, Tiers};
use crate::pattern::Pattern;
use crate::tier::Tier;

impl Tiers {
    /// The patterns of a list.
    pub(crate) fn listed_patterns(&self, list: List) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter().filter(move |(of, _)| *of == list).map(|(_, pattern)| pattern)
    }

    /// The patterns that grant a sensitive path by its name.
    pub(crate) fn outspoken_patterns(&self, tier: Tier) -> impl Iterator<Item = &Pattern> {
        let names_sensitive = |it: &&Pattern| it.named().any(|path| self.is_sensitive(&path));
        self.listed_patterns(List::Tier(tier)).filter(names_sensitive)
    }

    /// Makes all patterns match at another spelling of the workspace, too.
    pub(crate) fn respell(&mut self, workspace: &Path, spelled: &Path) {
        let copies = |stem: &Path| -> Vec<(PathBuf, PathBuf)> {
            let around = || workspace.starts_with(stem).then(|| (spelled.into(), workspace.into()));
            let inside = respelled(stem, workspace, spelled).map(|at| (at, stem.into()));
            inside.or_else(around).into_iter().collect()
        };
        for (_, pattern) in &mut self.patterns {
            pattern.repeat(&copies);
        }
        self.table = OnceLock::new();
    }
}

/// `path` by another spelling of the workspace, if it is in there.
pub(crate) fn respelled(path: &Path, workspace: &Path, spelled: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix(workspace).ok()?;
    Some(if rest == Path::new("") { spelled.to_owned() } else { spelled.join(rest) })
}
