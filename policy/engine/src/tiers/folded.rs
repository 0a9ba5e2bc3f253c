//! The patterns of the second form of an image, in which names are folded. Used where an image is built.

use std::path::PathBuf;
use std::vec::Vec;

use super::{List, Tiers};
use crate::fold_table::{FoldTable, Volume};
use crate::pattern::{Pattern, PatternError};

impl Tiers {
    /// The same patterns for folded names, without those that do not concern these volumes.
    pub(crate) fn folded(
        &self,
        folds: &FoldTable,
        volumes: &[Volume],
    ) -> Result<Self, PatternError> {
        let is_about = |(_, pattern): &&(List, Pattern)| {
            volumes.iter().any(|volume| pattern.is_about(&volume.root))
        };
        let fold = |(list, pattern): &(List, Pattern)| Ok((*list, pattern.folded(folds)?));
        let patterns =
            self.patterns.iter().filter(is_about).map(fold).collect::<Result<Vec<_>, _>>()?;
        let mut folded = self.with_patterns(patterns);
        for (_, base) in &mut folded.autorun {
            *base = folds.path(base);
        }
        Ok(folded)
    }

    /// The paths that patterns name, or the directories below which they match.
    pub(crate) fn stems(&self) -> impl Iterator<Item = PathBuf> {
        self.patterns.iter().map(|(_, pattern)| pattern.stem())
    }
}
