//! What was to be put into a directory that was to be made, too: whoever may fill that needs nothing else.

use std::path::Path;

use super::{Means, Trial};
use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::sys::path::path_of;

/// A directory that is to be made, and the policy under which it may be.
struct Made<'a, 'd> {
    path: &'d Path,
    asked: Asked<'d>,
    trial: Trial<'a>,
}

impl<'a, 'd> Made<'a, 'd> {
    /// None where `asked` is for something else, or nothing allows it by these means.
    fn of(advisor: Advisor<'a>, asked: Asked<'d>, means: Means) -> Option<Self> {
        let Asked::Directory(place, _) = asked else { return None };
        let mut trial = Trial::of(advisor, means);
        for step in trial.clone().solve(asked).ok()? {
            trial.add(&step);
        }
        Some(Self { path: path_of(place.path), asked, trial })
    }

    /// Whether who may make the directory may do this in it.
    fn suffices_for(&self, asked: Asked<'_>) -> bool {
        let is_in = |path: &Path| path != self.path && path.starts_with(self.path);
        asked.paths().all(is_in) && self.trial.allows(&[asked])
    }
}

impl Advisor<'_> {
    /// What to grant by these means for each of `asked`: the directory to be made in which all is that it is for, or what
    /// is to be in a directory to be seen, where granting that allows it as well; else what is asked for.
    pub(super) fn by_filling<'d>(&self, asked: &[Asked<'d>], means: Means) -> Vec<Asked<'d>> {
        let made: Vec<Made<'_, 'd>> =
            asked.iter().filter_map(|one| Made::of(*self, *one, means)).collect();
        let directory = |one: &Asked<'d>| {
            made.iter().find(|made| made.suffices_for(*one)).map_or(*one, |made| made.asked)
        };
        let filled: Vec<Asked<'d>> = asked.iter().map(directory).collect();
        filled.iter().map(|one| self.by_naming(*one, &filled, means)).collect()
    }
}
