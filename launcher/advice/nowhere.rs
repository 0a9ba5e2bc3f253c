//! What no grant can allow since links lead to nothing, or are not there.

use std::path::Path;

use jp_confine_policy::build::{GrantKind, Origin};

use super::Advisor;
use crate::asked::Asked;
use crate::events::Denial;
use crate::report;

/// Why nothing is advised behind a link that leads to nothing.
const NOTHING: &str =
    "its link leads to nothing on this machine, so that there is nothing to allow";

impl Advisor<'_> {
    /// Why a grant would not help where a link on the way leads to nothing, or one that a rule is for is missing.
    /// Looks at the disk.
    pub(super) fn leads_nowhere(&self, denial: &Denial, asked: Asked<'_>) -> Option<String> {
        let is_nowhere = self.is_of_dangling_link(denial) || asked.paths().any(is_behind_link);
        if is_nowhere { Some(NOTHING.to_owned()) } else { self.lacks_link(denial) }
    }

    /// Whether what decided is what stands for an external rule whose link dangles.
    fn is_of_dangling_link(&self, denial: &Denial) -> bool {
        self.decider(denial).is_some_and(|grant| {
            let is_dropped = matches!(grant.kind, GrantKind::Tombstone { .. });
            is_dropped && is_link(&grant.anchor) && !grant.anchor.exists()
        })
    }

    /// The way out where what decided stands for an external rule of whose name nothing is there: what would be made
    /// would stay inside, where the rule cannot stand.
    fn lacks_link(&self, denial: &Denial) -> Option<String> {
        let grant = self.decider(denial)?;
        // A policy that was received has no lines, and may mean a path that is missing by a rule without rights.
        let Origin::Rule { path, line: Some(_), .. } = &grant.origin else { return None };
        let stays_inside = matches!(grant.kind, GrantKind::Tombstone { lexical_path: None });
        let is_missing = || grant.anchor.symlink_metadata().is_err();
        let name = || self.here.name(path).unwrap_or_else(|| path.clone());
        let mount = || report::operand(format!("{}=PATH", name()).as_bytes());
        (stays_inside && is_missing()).then(|| {
            format!(
                "the rule is for a link: make that, as with --mount {}, or take the rule out",
                mount()
            )
        })
    }
}

/// Whether nothing is there, and a link is on the way: what is there has a name without any, and what names a link
/// means where it leads.
fn is_behind_link(path: &Path) -> bool {
    path.ancestors().skip(1).any(is_link) && path.symlink_metadata().is_err()
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}
