//! What was to be made and is there already, hidden from who was to make it. That call fails whatever is granted, and
//! whoever makes all directories above another one goes on as soon as it hears why.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_policy::Capabilities;

use super::{Means, Trial};
use crate::advice::advisor::Advisor;
use crate::advice::nested_launchers::only_looks;
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::record::denials::opens_to_write;
use crate::sys::path::path_of;
use crate::text::quote;

/// What calls begin with that make an entry where there is none, and do nothing else.
const MAKING: [&[u8]; 4] = [b"mkdir", b"mkfifo", b"mknod", b"symlink"];

/// What is said of a directory, for which there is less than what is advised.
const DIRECTORY: &str =
    "it is there already: it has to be seen, and a grant on what is to be in it shows it, too";

/// What is said of anything else.
const OTHER: &str = "it is there already: it has to be seen";

impl Advisor<'_> {
    /// What was `asked` for as what is to be seen, if that is all that a grant on it helps with. Looks at the disk.
    pub(super) fn as_seen<'d>(&self, denial: &Denial, asked: Asked<'d>) -> Asked<'d> {
        let Asked::Access(entry, _) = asked else { return asked };
        let makes = denial.missing == Capabilities::CREATE
            && MAKING.iter().any(|call| denial.call.starts_with(call));
        let found = path_of(entry.path).symlink_metadata();
        let is_taken = || opens_to_write(denial) || self.looks_to_fill(denial);
        let fails = found.is_ok_and(|it| makes || it.is_dir() && is_taken());
        let sight = Asked::Sight(entry);
        if fails && !self.allows(sight) { sight } else { asked }
    }

    /// Whether a program looked for a directory that it was refused to make, or to make something in.
    fn looks_to_fill(&self, denial: &Denial) -> bool {
        let directory = path_of(&denial.path);
        let fills = |one: &Denial| {
            let path = path_of(&one.path);
            let changes = one.missing.intersects(Capabilities::WRITE);
            let makes = one.missing.contains(Capabilities::CREATE);
            let is_there = if path == directory { makes } else { changes };
            is_there && one.program == denial.program && path.starts_with(directory)
        };
        denial.hidden
            && only_looks(&denial.call)
            && self.past().refused.iter().any(|(one, _)| fills(one))
    }

    /// Whether the list of sensitive paths names the directory, or something in it by its place.
    pub(super) fn holds_sensitive(&self, directory: &Path) -> bool {
        self.exposed.unwrap_or(self.tiers).holds_sensitive(directory)
    }

    /// What is `asked` for where that is for a directory to be seen: another one of `all` that is for something in it, if
    /// what that takes by these means shows the directory as well.
    pub(super) fn by_naming<'d>(
        &self,
        asked: Asked<'d>,
        all: &[Asked<'d>],
        means: Means,
    ) -> Asked<'d> {
        let Asked::Sight(entry) = asked else { return asked };
        let directory = path_of(entry.path);
        let is_in = |path: &Path| path != directory && path.starts_with(directory);
        let shows = |other: &&Asked<'d>| {
            let mut trial = Trial::of(*self, means);
            let steps = trial.clone().solve(**other).unwrap_or_default();
            for step in &steps {
                trial.add(step);
            }
            trial.allows(&[asked])
        };
        let inside = all.iter().filter(|other| other.paths().all(is_in));
        inside
            .filter(|other| !matches!(other, Asked::Sight(_)))
            .find(shows)
            .copied()
            .unwrap_or(asked)
    }

    /// Whether it is allowed as things stand.
    pub(super) fn allows(&self, asked: Asked<'_>) -> bool {
        Trial::of(*self, Means::Options).allows(&[asked])
    }

    /// What to say of what is `asked` for, if it is to be seen. Looks at the disk.
    pub(super) fn is_there_already(&self, asked: Asked<'_>) -> Option<String> {
        let Asked::Sight(entry) = asked else { return None };
        let path = path_of(entry.path);
        if !path.is_dir() {
            return Some(OTHER.to_owned());
        }
        let name = || quote::shown(path.join("NAME").as_os_str().as_bytes(), self.workspace);
        let such = self.holds_sensitive(path).then(|| format!(", as -w {}", name()));
        Some(format!("{DIRECTORY}{}", such.unwrap_or_default()))
    }
}
