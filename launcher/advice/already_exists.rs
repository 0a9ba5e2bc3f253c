//! Handles denials of creating an entry that already exists but is hidden from the program. The call fails whatever is
//! granted. A program that creates all directories on a path goes on as soon as it gets `EEXIST`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;

use super::{Means, Trial};
use crate::advice::advisor::Advisor;
use crate::advice::nested_launchers::only_looks;
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::record::denials::opens_to_write;
use crate::sys::path::path_of;
use crate::text::quote;

/// Name prefixes of the calls that only create an entry, and only if there is none.
const MAKING: [&[u8]; 4] = [b"mkdir", b"mkfifo", b"mknod", b"symlink"];

/// Remark on a directory, for which less than the suggestion may suffice.
const DIRECTORY: &str =
    "it is there already: it has to be seen, and a grant on what is to be in it shows it, too";

/// Remark on any other entry.
const OTHER: &str = "it is there already: it has to be seen";

impl Advisor<'_> {
    /// Turns `asked` into a request to see the entry, if a grant on it helps with nothing else. Looks at the disk.
    pub(super) fn as_seen<'d>(&self, denial: &Denial, asked: Asked<'d>) -> Asked<'d> {
        let Asked::Access(entry, _) = asked else { return asked };
        let makes = denial.missing == Capabilities::CREATE
            && MAKING.iter().any(|call| denial.call.starts_with(call));
        let found = path_of(entry.path).symlink_metadata();
        let is_taken = || opens_to_write(denial) || self.looks_to_fill(denial);
        let fails = found.is_ok_and(|it| makes || it.is_dir() && is_taken());
        let sight = Asked::ScreenVisibility(entry);
        if fails && !self.allows(sight) { sight } else { asked }
    }

    /// Whether the denial hid a directory from a program that was also denied to create it, or to change something in
    /// it.
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

    /// Whether the list of sensitive paths names the directory by its path, or something in it.
    pub(super) fn holds_sensitive(&self, directory: &Path) -> bool {
        self.exposed.unwrap_or(self.tiers).holds_sensitive(directory)
    }

    /// For a request to see a directory: another request of `all` for something in it, if granting that by these means
    /// also shows the directory. Any other request stays as it is.
    pub(super) fn by_naming<'d>(
        &self,
        asked: Asked<'d>,
        all: &[Asked<'d>],
        means: Means,
    ) -> Asked<'d> {
        let Asked::ScreenVisibility(entry) = asked else { return asked };
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
            .filter(|other| !matches!(other, Asked::ScreenVisibility(_)))
            .find(shows)
            .copied()
            .unwrap_or(asked)
    }

    /// Whether the current policy allows it.
    pub(super) fn allows(&self, asked: Asked<'_>) -> bool {
        Trial::of(*self, Means::Options).allows(&[asked])
    }

    /// The remark on a request to see an entry. Looks at the disk.
    pub(super) fn is_there_already(&self, asked: Asked<'_>) -> Option<String> {
        let Asked::ScreenVisibility(entry) = asked else { return None };
        let path = path_of(entry.path);
        if !path.is_dir() {
            return Some(OTHER.to_owned());
        }
        let name = || quote::shown(path.join("NAME").as_os_str().as_bytes(), self.workspace);
        let such = self.holds_sensitive(path).then(|| format!(", as -w {}", name()));
        Some(format!("{DIRECTORY}{}", such.unwrap_or_default()))
    }
}
