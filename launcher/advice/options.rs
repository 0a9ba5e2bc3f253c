//! The options that allow a step, and the grants that they create.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::tier::Tier;

use crate::advice::request::Step;
use crate::record::denials::of_any_process;

/// Whether the place has the same name the next time. The paths of a process do not.
pub(crate) fn lasts(place: &Path) -> bool {
    of_any_process(place.as_os_str().as_bytes()).is_none()
}

/// Adds `step` to `steps`, with one step of a kind for each place. Returns the merged step.
pub(crate) fn note(steps: &mut Vec<Step>, step: Step) -> Step {
    let kind = |step: &Step| (step.extent, step.by_default);
    let is_same = |known: &&mut Step| known.place == step.place && kind(known) == kind(&step);
    if let Some(known) = steps.iter_mut().find(is_same) {
        known.held = known.held.union(step.held);
        known.missing = known.missing.union(step.missing);
        return known.clone();
    }
    steps.push(step.clone());
    step
}

/// The `--deny` on exactly this place. It outweighs every option there.
pub(crate) fn denied_by_flag<'g>(grants: &'g [Grant], place: &Path) -> Option<&'g str> {
    grants.iter().find_map(|grant| match &grant.origin {
        Origin::Flag { text } if grant.caps.is_empty() && grant.anchor == place => {
            Some(text.as_str())
        }
        _ => None,
    })
}

/// The tier whose patterns open a place for the missing rights.
pub(crate) fn tier_for(missing: Capabilities) -> Tier {
    if missing.intersects(Capabilities::WRITE) { Tier::Write } else { Tier::Read }
}

/// The step as a grant. Tiers withhold it as they do the grant of an option or a rule.
pub(crate) fn granted(step: &Step) -> Grant {
    let origin = Origin::Flag { text: String::new() };
    Grant::new(step.place.clone(), step.held, GrantKind::Plain, origin)
}

/// The options that add the missing rights of a step.
pub(crate) fn options_of(step: &Step) -> Vec<(&'static str, PathBuf)> {
    let (first, added) = option_for(step.missing);
    let rest = step.missing.difference(added);
    let second = (!rest.is_empty()).then(|| option_for(rest).0);
    std::iter::once(first).chain(second).map(|option| (option, step.place.clone())).collect()
}

/// The options that add the missing rights of the steps.
pub(crate) fn options_for(steps: &[Step]) -> Vec<(&'static str, PathBuf)> {
    let mut options: Vec<(&'static str, PathBuf)> = Vec::new();
    for option in steps.iter().flat_map(options_of) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options
}

/// The narrowest option that adds `missing`, and all rights that it adds.
pub(crate) fn option_for(missing: Capabilities) -> (&'static str, Capabilities) {
    let read = Capabilities::READ;
    let writes = missing.intersects(Capabilities::WRITE);
    match (writes, missing.contains(Capabilities::EXECUTE)) {
        (true, _) => ("-w", read.union(Capabilities::WRITE)),
        (false, true) => ("-x", read.union(Capabilities::EXECUTE)),
        (false, false) => ("-r", read),
    }
}
