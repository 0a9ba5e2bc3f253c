//! What no grant can allow since links lead to nothing, or are not there.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{GrantKind, Origin};
use jp_confine_policy::canonical::{self, Op};

use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::sys::path::path_of;
use crate::text::quote;

/// The way out for the link itself, which the rule on what it would lead to keeps in its place.
const ITSELF: &str =
    "the rule is for what its link leads to, which is not there: take the rule out";

/// Why nothing is advised behind a link that leads to nothing.
const NOTHING: &str =
    "its link leads to nothing on this machine, so that there is nothing to allow";

impl Advisor<'_> {
    /// Why a grant would not help where a link on the way leads to nothing, or one that a rule is for is missing.
    /// Looks at the disk.
    pub(super) fn leads_nowhere(&self, denial: &Denial, asked: Asked<'_>) -> Option<String> {
        if let Some(link) = self.dangling_link(denial) {
            // What is made behind it has another name.
            let is_change = denial.missing.intersects(Capabilities::WRITE);
            let is_itself = path_of(&denial.path) == link && is_change;
            return Some(if is_itself { ITSELF } else { NOTHING }.to_owned());
        }
        let is_nowhere = asked.paths().any(is_behind_link);
        if is_nowhere { Some(NOTHING.to_owned()) } else { self.lacks_link(denial) }
    }

    /// The link where what decided is what stands for an external rule whose link dangles.
    fn dangling_link(&self, denial: &Denial) -> Option<&Path> {
        let grant = self.decider(denial)?;
        let is_dropped = matches!(grant.kind, GrantKind::Tombstone { .. });
        let dangles = is_dropped && is_link(&grant.anchor) && !grant.anchor.exists();
        dangles.then_some(&grant.anchor)
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
        let mount = || quote::operand(format!("{}=PATH", name()).as_bytes());
        (stays_inside && is_missing()).then(|| {
            format!(
                "the rule is for a link: make that, as with --mount {}, or take the rule out",
                mount()
            )
        })
    }
}

/// The denial as one of where the links on the way lead, if they do and nothing is there yet: a program is judged by the
/// spelling where it may not know that, and what is granted through links is granted there. Looks at the disk.
pub(super) fn as_led(denial: &Denial) -> Cow<'_, Denial> {
    let path = path_of(&denial.path);
    let dangles = |above: &Path| is_link(above) && !above.exists();
    let is_led = || is_behind_link(path) && !path.ancestors().skip(1).any(dangles);
    let lead = || canonical::resolve(Path::new("/"), path, Op::Content).ok();
    match Some(path).filter(|path| path.is_absolute() && is_led()).and_then(|_| lead()) {
        Some(found) => {
            let path = found.path.as_os_str().as_bytes().to_vec();
            Cow::Owned(Denial { path, ..denial.clone() })
        }
        None => Cow::Borrowed(denial),
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
