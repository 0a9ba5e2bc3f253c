//! Builds Landlock's rules for paths that tier patterns open without a grant. Used by `draft`.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, canonical};
use landlock::{ABI, AccessFs};

use crate::sys::landlock_bounds::{self, LandlockRule};

/// The most entries that one pattern looks at. The supervisor serves the rest.
const LIMIT: usize = 2000;

/// A name that stands for every name in a directory.
const ANY: &str = "jp-confine-any-name";

/// One pattern that opens something, or the default tier.
#[derive(Debug)]
pub(super) struct Opening<'a> {
    pub(super) tier: Tier,
    /// The directory below which it matches, or the one path.
    pub(super) stem: PathBuf,
    /// The components after the stem, as globs.
    rest: &'a str,
}

impl<'a> Opening<'a> {
    /// Everything that `tiers` open.
    pub(super) fn of(tiers: &'a Tiers) -> impl Iterator<Item = Self> {
        let patterns = tiers.opening().map(|(tier, pattern)| {
            let (stem, rest) = (pattern.stem(), pattern.below_stem());
            Self { tier, stem, rest }
        });
        let default = tiers.default.filter(|&tier| tier != Tier::Deny);
        let everywhere = default.map(|tier| Self { tier, stem: PathBuf::from("/"), rest: "**" });
        patterns.chain(everywhere)
    }

    /// Whether it extends what is granted at its stem.
    pub(super) fn counts(&self, image: &Image<'_>) -> bool {
        lookup(image, &self.stem).is_beyond_rules(image)
    }

    /// Whether it names everything below its stem, or the stem alone.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.rest, "" | "**")
    }

    /// Rules for the paths on the disk that it matches. If they are too many to name, there are none: the supervisor
    /// serves those paths, and nothing starts there.
    pub(super) fn rules(&self, image: &Image<'_>, version: ABI) -> Vec<LandlockRule> {
        // Consent is for one call, which the supervisor makes.
        if self.tier == Tier::Prompt {
            return Vec::new();
        }
        let (names, is_tree) = match self.rest.strip_suffix("**") {
            Some(names) => (names.trim_end_matches('/'), true),
            None => (self.rest, false),
        };
        let rule = |path: PathBuf| self.rule(image, version, path, is_tree);
        places(&self.stem, names).into_iter().filter_map(rule).collect()
    }

    /// The rule for a path that may match. The evaluator decides whether it does.
    fn rule(
        &self,
        image: &Image<'_>,
        version: ABI,
        path: PathBuf,
        is_tree: bool,
    ) -> Option<LandlockRule> {
        let is_directory = canonical::look(&path).ok()?.is_dir();
        let found = if is_tree { lookup(image, &path.join(ANY)) } else { lookup(image, &path) };
        if !found.is_beyond_rules(image) || is_tree && !is_directory {
            return None;
        }
        let caps = self.tier.capabilities().intersection(found.caps);
        let mut rights = landlock_bounds::rights(caps, version);
        if is_tree && !lookup(image, &path).caps.contains(Capabilities::READ) {
            rights.remove(AccessFs::ReadDir);
        }
        if is_directory && !is_tree {
            // The content of the directory is not opened by that.
            rights &= AccessFs::ReadDir;
        }
        (!rights.is_empty()).then_some(LandlockRule { path, rights })
    }
}

/// The existing paths below `stem` that globs of components may match. Empty if the search takes too long.
fn places(stem: &Path, names: &str) -> Vec<PathBuf> {
    // Alternatives and classes may contain separators, and two stars match any number of them.
    let is_known = !names.contains("**") && !names.contains(['{', '}']);
    let mut found = if is_known { vec![stem.to_owned()] } else { Vec::new() };
    let mut looked_at = 0;
    for name in names.split('/').filter(|name| !name.is_empty()) {
        if !name.contains(['*', '?', '[', ']']) {
            for directory in &mut found {
                directory.push(name);
            }
            continue;
        }
        let entries = found.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
        let entries = entries.flatten().take(LIMIT + 1 - looked_at);
        let entries: Vec<_> = entries.collect();
        looked_at += entries.len();
        if looked_at > LIMIT {
            return Vec::new();
        }
        let is_real = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_symlink());
        found = entries.iter().filter(|entry| is_real(entry)).map(fs::DirEntry::path).collect();
    }
    found
}

fn lookup(image: &Image<'_>, path: &Path) -> decide::Lookup {
    decide::lookup(image, &Request::canonical(path.as_os_str().as_bytes()))
}
