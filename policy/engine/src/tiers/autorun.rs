//! The auto-run files of a run (spec §10.1): the places of the built-in list, added patterns, and files that this run
//! may change anyway.

use std::format;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::OnceLock;
use std::vec::Vec;

use super::{List, TierError, Tiers};
use crate::automaton::Marks;
use crate::autorun;
use crate::autorun::list::{Entry, Place};
use crate::lexical::bytes;
use crate::pattern::Places;
use crate::tier::Restraint;

impl Tiers {
    /// Adds the built-in list, which begins at `bases`, the patterns in `added`, and those in `released`. Looks at the
    /// disk.
    ///
    /// # Errors
    /// [`TierError`] for an invalid pattern.
    pub fn guarding(
        mut self,
        bases: Vec<(Place, PathBuf)>,
        added: &[String],
        released: &[String],
        places: Places<'_>,
    ) -> Result<Self, TierError> {
        self.table = OnceLock::new();
        self.autorun = bases;
        for (list, texts) in [(List::Autorun, added), (List::Released, released)] {
            for text in texts {
                self.add(list, text, places)?;
            }
        }
        Ok(self)
    }

    /// The places where the built-in list begins.
    pub(crate) fn bases(&self) -> Vec<(Place, PathBuf)> {
        self.autorun.clone()
    }

    /// Whether the path, which may be a spelling, is an auto-run file by the built-in list or an added pattern. A file
    /// that leads git to a repository does not count here, because a rule that names `.git` means the directory.
    #[must_use]
    pub fn is_autorun(&self, path: &Path) -> bool {
        let added = || {
            self.table().is_ok_and(|table| table.look(bytes(path)).here.intersects(Marks::AUTORUN))
        };
        let entry = autorun::entry_below(&self.autorun, bytes(path));
        entry.is_some_and(|(_, entry)| !entry.leads_elsewhere()) || added()
    }

    /// The entry of the built-in list for the path, or for the spelling by which it was reached.
    #[must_use]
    pub fn autorun_entry(&self, path: &Path, route: &Path) -> Option<(Place, &'static Entry)> {
        let mut paths = [path, route].into_iter();
        let of_rule = || autorun::entry_somewhere(bytes(path));
        paths.find_map(|path| autorun::entry_below(&self.autorun, bytes(path))).or_else(of_rule)
    }

    /// In words, who obeys the auto-run file, and when.
    #[must_use]
    pub fn obeyed(&self, path: &Path, route: &Path) -> String {
        match (self.reported(Restraint::Autorun, path, route), self.autorun_entry(path, route)) {
            (None, Some((_, Entry { program, when, .. }))) => {
                format!("{program} obeys it {when}")
            }
            _ => format!("{} says so", self.autorun_in_words(path, route)),
        }
    }

    /// The reason, in words, why the path is an auto-run file.
    pub(super) fn autorun_in_words(&self, path: &Path, route: &Path) -> String {
        match (self.reported(Restraint::Autorun, path, route), self.autorun_entry(path, route)) {
            (Some(pattern), _) => self.in_words(Some(List::Autorun), Some(pattern)),
            (None, Some((place, Entry { pattern, program, when, .. }))) => {
                let begin = place.written();
                format!("auto-run file `{begin}{pattern}`, which {program} obeys {when}")
            }
            (None, None) => "auto-run file".into(),
        }
    }

    /// In words, the entries of the built-in list that may be below a directory, and not below an ordinary one.
    #[must_use]
    pub fn autorun_below(&self, directory: &Path) -> Vec<String> {
        let entries = autorun::entries_below(&self.autorun, bytes(directory));
        entries.into_iter().map(|(place, entry)| in_words(place, entry)).collect()
    }
}

fn in_words(place: Place, Entry { pattern, .. }: &Entry) -> String {
    format!("`{}{pattern}` of the auto-run files", place.written())
}
