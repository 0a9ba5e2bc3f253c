//! Suggests an entry of a profile of the user's own. This is for places outside the workspace that a rule already
//! covers: one of the baseline, of another profile, or of a link that leads out. Patterns open nothing there (spec
//! §9.6). It is also for directories that move with all their contents.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{Request, lookup};

use crate::advice::advisor::Advisor;
use crate::advice::request::{Extent, Step};
use crate::compile::image;
use crate::config::profile_keys::granted_for;

impl Advisor<'_> {
    /// Whether a rule reaches the place.
    pub(super) fn is_covered(&self, place: &Path) -> bool {
        let Ok(image) = image::image_over(self.grants, None, &[place], self.workspace) else {
            return false;
        };
        image::parse_image(&image).is_ok_and(|image| {
            let request = Request::canonical(place.as_os_str().as_bytes());
            !lookup(&image, &request).is_beyond_rules(&image)
        })
    }

    /// The step as an entry of a profile, and the rights that it would grant, if it counts there. Ready-made grants
    /// yield to rules on the same path and to `--deny`. A ready-made grant on a missing path grants nothing.
    pub(super) fn entry_for(&self, step: &Step) -> Option<(String, Capabilities)> {
        let yields = |grant: &Grant| match &grant.origin {
            Origin::Flag { .. } if grant.caps.is_empty() => step.place.starts_with(&grant.anchor),
            Origin::Baseline { .. } | Origin::Profile { .. } => {
                grant.anchor == step.place && grant.caps.is_empty()
            }
            _ => grant.anchor == step.place,
        };
        let wanted = step.held.union(step.missing);
        let possible = self.own_lists.profile.is_some()
            && self.is_for_own(&step.place)
            && (step.extent == Extent::Along || self.is_covered(&step.place))
            && counts(&step.place, granted_for(wanted))
            && !self.grants.iter().any(yields);
        let path = step.place.to_str().filter(|_| possible)?;
        Some((path.to_owned(), wanted))
    }

    /// The grant that the entry adds to a run.
    pub(super) fn ready_made(&self, (path, wanted): &(String, Capabilities)) -> Grant {
        let origin = Origin::Profile { name: String::new(), entry: path.clone(), named: true };
        // Ready-made grants on one path add up, and so do their exclusions.
        let same = self.grants.iter().filter(|grant| grant.anchor == Path::new(path));
        let carve_outs = same.flat_map(|grant| grant.carve_outs.iter().cloned()).collect();
        Grant {
            carve_outs,
            ..Grant::new(path.into(), granted_for(*wanted), GrantKind::Plain, origin)
        }
    }
}

/// Whether an entry that grants `caps` on the canonical `place` has an effect. Without rights to create, the path has
/// to exist. Looks at the disk.
fn counts(place: &Path, caps: Capabilities) -> bool {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let is_made = !caps.contains(Capabilities::CREATE) || place.parent().is_some_and(exists);
    exists(place) || caps.contains(Capabilities::UPDATE) && is_made
}
