//! Handles denied creations of symlinks. Once a link exists, a rule on its name counts for its target, and is rejected
//! if that is outside.

use jp_confine_engine::Capabilities;
use jp_confine_engine::tier::Restraint;

use crate::advice::advisor::Advisor;
use crate::advice::request::{Asked, Extent, on_the_way};
use crate::record::denial::Denial;
use crate::sys::path::path_of;

impl Advisor<'_> {
    /// Turns the creation of a symlink in the workspace into a request for any entry of its directory. Sensitive paths
    /// are granted only by their own name.
    pub(super) fn as_entry<'d>(&self, denial: &Denial, asked: Asked<'d>) -> Asked<'d> {
        let Asked::Access(entry, need) = asked else { return asked };
        let is_link = [&b"symlink"[..], b"symlinkat"].contains(&denial.call.as_slice());
        let is_sensitive = denial.restraint == Some(Restraint::Sensitive);
        let is_made = is_link && !is_sensitive && denial.missing.contains(Capabilities::CREATE);
        let parent = path_of(entry.path).parent();
        let Some(directory) = parent.filter(|it| is_made && it.starts_with(self.workspace)) else {
            return asked;
        };
        let directory = on_the_way(entry, directory);
        Asked::Made { directory, entry, need, target: None, extent: Extent::Entries }
    }
}
