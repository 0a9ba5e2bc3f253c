//! What was to be put into a directory that was to be made, too: whoever may fill that needs nothing else.

use std::path::Path;

use super::request::makes_directory;
use super::{Advisor, Means, Trial};
use crate::asked::{Asked, Step, path_of};
use crate::events::Denial;

impl Advisor<'_> {
    /// The requests among `denials` for directories that are not there. Looks at the disk.
    pub(super) fn made_directories<'d>(&self, denials: &[&'d Denial]) -> Vec<Asked<'d>> {
        let made = denials.iter().filter(|denial| makes_directory(denial));
        made.filter_map(|denial| self.grantable(denial).ok()).collect()
    }

    /// That one of `made` in which all is that is `asked` for, where granting it allows this as well; else what is
    /// asked for.
    pub(super) fn by_filling<'d>(&self, made: &[Asked<'d>], asked: Asked<'d>) -> Asked<'d> {
        let is_enough = |directory: &&Asked<'d>| {
            let Asked::Access(place, need) = **directory else { return false };
            let place = path_of(place.path).to_owned();
            let is_in = |path: &Path| path != place && path.starts_with(&place);
            let mut trial = Trial::of(*self, Means::Options);
            asked.paths().all(is_in)
                && trial.add(&Step::of(place.clone(), need))
                && trial.allows(&[asked])
        };
        made.iter().find(is_enough).copied().unwrap_or(asked)
    }
}
