//! Limits what other grants may grant at and below a path that a person denied. Used by `grants` for rules and built-in
//! grants, and by `advice`.
//!
//! A denial of the command line counts for its path and all below it, except for deeper grants of the command line. So
//! a path below a denial only keeps the rights granted between the two.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, Origin};

/// The grants and denials of a command line and of a person's profiles, by canonical path.
#[derive(Debug, Default)]
pub(crate) struct Ceilings<'a> {
    paths: HashMap<&'a OsStr, Said>,
    denies: bool,
}

/// The grant and the denials on one path.
#[derive(Debug, Default)]
struct Said {
    granted: Capabilities,
    denied: bool,
    /// Denied by a profile of the person's own. That only counts for rules, and less than an option on the same path.
    rules_denied: bool,
}

impl<'a> Ceilings<'a> {
    /// Reads them from the complete grants of a run in the workspace at `root`.
    pub(crate) fn of(grants: &'a [Grant], root: &Path) -> Self {
        let mut ceilings = Self::default();
        for grant in grants {
            match (&grant.origin, grant.caps.is_empty()) {
                (Origin::Flag { .. }, true) => ceilings.deny(&grant.anchor),
                (Origin::Flag { .. }, false) => ceilings.grant(&grant.anchor, grant.caps),
                (Origin::Profile { .. }, true) if grant.anchor.starts_with(root) => {
                    ceilings.deny_rules(&grant.anchor);
                }
                _ => {}
            }
        }
        ceilings
    }

    /// Notes a grant of the command line.
    pub(super) fn grant(&mut self, path: &'a Path, caps: Capabilities) {
        let said = self.at(path);
        said.granted = said.granted.union(caps);
    }

    /// Notes a denial of the command line. It outweighs grants of the command line on the same path.
    pub(super) fn deny(&mut self, path: &'a Path) {
        *self.at(path) = Said { denied: true, ..Said::default() };
        self.denies = true;
    }

    /// Notes a denial of a profile.
    pub(super) fn deny_rules(&mut self, path: &'a Path) {
        self.at(path).rules_denied = true;
        self.denies = true;
    }

    /// The capabilities that denials of the command line leave on a path. `None` if no denial is at or above it, so all
    /// are left.
    pub(crate) fn left(&self, path: &Path) -> Option<Capabilities> {
        self.below(path, |said| said.denied)
    }

    /// The capabilities of rules that denials leave on a path.
    pub(crate) fn left_of_rules(&self, path: &Path) -> Option<Capabilities> {
        self.below(path, |said| said.denied || said.rules_denied)
    }

    /// Narrows a rule or a denial to this. `None` if a denial decides alone.
    pub(super) fn narrow(&self, mut grant: Grant) -> Option<Grant> {
        if grant.caps.is_empty() {
            let hides_all = self.left(&grant.anchor).is_some_and(Capabilities::is_empty);
            return (!hides_all).then_some(grant);
        }
        if let Some(left) = self.left_of_rules(&grant.anchor) {
            grant.caps = grant.caps.intersection(left);
            return (!left.is_empty()).then_some(grant);
        }
        Some(grant)
    }

    /// Whether the command line grants something at `path` or below it.
    pub(super) fn grants_below(&self, path: &Path) -> bool {
        let mut granting = self.paths.iter().filter(|(_, said)| !said.granted.is_empty());
        granting.any(|(anchor, _)| Path::new(anchor).starts_with(path))
    }

    fn at(&mut self, path: &'a Path) -> &mut Said {
        self.paths.entry(path.as_os_str()).or_default()
    }

    /// The capabilities that are granted between `path` and the nearest denial that counts.
    fn below(&self, path: &Path, counts: impl Fn(&Said) -> bool) -> Option<Capabilities> {
        if !self.denies {
            return None;
        }
        let mut granted = Capabilities::NONE;
        for directory in path.ancestors() {
            let Some(said) = self.paths.get(directory.as_os_str()) else { continue };
            granted = granted.union(said.granted);
            if counts(said) {
                return Some(granted);
            }
        }
        None
    }
}
