//! Finds directories in which a run created programs and started them. Landlock lets such a program start only if the
//! directory around it may be read (`docs/decisions/0041`). Used by the search for rules.

use std::collections::BTreeMap;

use jp_confine_engine::Capabilities;

use super::replay::ReplayStage;
use crate::record::usage::{self, Use};

/// The directories of the workspace that have to be readable, so that the next run can start such programs. The
/// workspace itself is left out: a rule on it would open everything.
pub(super) fn workshops(stage: &ReplayStage<'_>, uses: &[&Use]) -> BTreeMap<Vec<u8>, Capabilities> {
    let parts = uses.iter().flat_map(|one| one.parts());
    let started = parts.filter(|part| part.caps.contains(Capabilities::EXECUTE));
    let started = started.filter_map(|part| stage.inside(part.path));
    let made = started.filter(|path| !path.is_empty() && !stage.before.holds(path));
    let around = made.map(|path| standing_around(stage, path)).filter(|path| !path.is_empty());
    around.map(|path| (path.to_owned(), Capabilities::READ)).collect()
}

/// The closest directory above that is older than the run.
fn standing_around<'p>(stage: &ReplayStage<'_>, path: &'p [u8]) -> &'p [u8] {
    let around = usage::directory(path);
    if around.is_empty() || stage.before.holds(around) {
        return around;
    }
    standing_around(stage, around)
}
