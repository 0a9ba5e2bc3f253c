//! Merges requests for entries of a new directory into the one for the directory, which covers them.

use std::path::Path;

use super::{Means, Trial};
use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::sys::path::path_of;

/// A directory to create, and the policy that allows that.
struct Made<'a, 'd> {
    path: &'d Path,
    asked: Asked<'d>,
    trial: Trial<'a>,
}

impl<'a, 'd> Made<'a, 'd> {
    /// `None` if `asked` is for something else, or nothing allows it by these means.
    fn of(advisor: Advisor<'a>, asked: Asked<'d>, means: Means) -> Option<Self> {
        let Asked::Directory(place, _) = asked else { return None };
        let mut trial = Trial::of(advisor, means);
        for step in trial.clone().solve(asked).ok()? {
            trial.add(&step);
        }
        Some(Self { path: path_of(place.path), asked, trial })
    }

    /// Whether the policy that allows creating the directory allows this in it.
    fn suffices_for(&self, asked: Asked<'_>) -> bool {
        let is_in = |path: &Path| path != self.path && path.starts_with(self.path);
        asked.paths().all(is_in) && self.trial.allows(&[asked])
    }
}

impl Advisor<'_> {
    /// The request to grant by these means in place of each of `asked`. That is the directory to create, if it covers
    /// the request. For a directory to be seen it is an entry in it, if granting that suffices. Otherwise it is the
    /// request itself.
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
