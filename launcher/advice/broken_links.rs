//! Explains denials that no grant can lift, since a link dangles or is missing.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};

use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::sys::path::path_of;
use crate::text::quote;

/// The suggestion for the link itself, which stays in its place because of the rule on its target.
const ITSELF: &str =
    "the rule is for what its link leads to, which is not there: take the rule out";

/// The reason why there is no suggestion behind a dangling link.
const NOTHING: &str =
    "its link leads to nothing on this machine, so that there is nothing to allow";

impl Advisor<'_> {
    /// Why a grant would not help: a link on the way dangles, or the link that a rule is for is missing. Looks at the
    /// disk.
    pub(super) fn leads_nowhere(&self, denial: &Denial, asked: Asked<'_>) -> Option<String> {
        if let Some(link) = self.dangling_link(denial) {
            // An entry that is created behind the link has another path.
            let is_change = denial.missing.intersects(Capabilities::WRITE);
            let is_itself = path_of(&denial.path) == link && is_change;
            return Some(if is_itself { ITSELF } else { NOTHING }.to_owned());
        }
        let is_nowhere =
            asked.paths().any(is_behind_link) || asked.spellings().any(is_behind_dangling_link);
        if is_nowhere { Some(NOTHING.to_owned()) } else { self.lacks_link(denial) }
    }

    /// The dangling link of an external rule whose stand-in decided the denial.
    fn dangling_link(&self, denial: &Denial) -> Option<&Path> {
        let grant = self.decider(denial)?;
        let is_dropped = matches!(grant.kind, GrantKind::Tombstone { .. });
        let dangles = is_dropped && is_link(&grant.anchor) && !grant.anchor.exists();
        dangles.then_some(&grant.anchor)
    }

    /// The suggestion if the denial was decided by the stand-in of an external rule at whose path there is nothing. An
    /// entry created there would stay inside, where such a rule is not valid.
    fn lacks_link(&self, denial: &Denial) -> Option<String> {
        let grant = self.decider(denial)?;
        // A policy that was received has no line numbers. It may use a rule without rights for a missing path.
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

/// The denial at the target of the links on the way, if the target is missing and none of them dangles. A program that
/// may not know the target is judged by the spelling, but grants through links count at the target. Looks at the disk.
pub(super) fn as_led(denial: &Denial) -> Cow<'_, Denial> {
    let path = path_of(&denial.path);
    let is_led = || is_behind_link(path) && !is_behind_dangling_link(path);
    let lead = || canonical::resolve(Path::new("/"), path, Op::Content).ok();
    match Some(path).filter(|path| path.is_absolute() && is_led()).and_then(|_| lead()) {
        Some(found) => {
            let path = found.path.as_os_str().as_bytes().to_vec();
            Cow::Owned(Denial { path, ..denial.clone() })
        }
        None => Cow::Borrowed(denial),
    }
}

/// Whether nothing is there and a link is on the way. An existing file's canonical path has no links, and a path
/// through a link counts at its target.
fn is_behind_link(path: &Path) -> bool {
    path.ancestors().skip(1).any(is_link) && path.symlink_metadata().is_err()
}

/// Whether a link on the way leads to nothing. A file cannot be created behind it.
fn is_behind_dangling_link(path: &Path) -> bool {
    path.ancestors().skip(1).any(|above| is_link(above) && !above.exists())
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}
