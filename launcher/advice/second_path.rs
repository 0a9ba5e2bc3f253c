//! Finds the second denial of a move: one denial is recorded, but both ends may lack rights.

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Destination, Verdict};

use super::asked_by;
use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::compile::image;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

impl Advisor<'_> {
    /// The rights that a move also lacks at its destination, if `denial` is about its source. None for other denials.
    pub(crate) fn beside(&self, denial: &Denial) -> Capabilities {
        let nothing = Capabilities::NONE;
        let is_by_rule = denial.reason.is_policy() && !denial.second;
        let Asked::Rename { to, destination, .. } = asked_by(denial, self.past()) else {
            return nothing;
        };
        let wanted = match destination {
            Destination::Missing => Capabilities::CREATE,
            Destination::Exists => Capabilities::UPDATE,
            Destination::Exchange => Capabilities::DELETE.union(Capabilities::UPDATE),
        };
        let paths = [path_of(to.path)];
        let Ok(image) = image::image_over(self.grants, Some(self.tiers), &paths, self.workspace)
        else {
            return nothing;
        };
        let Ok(image) = image::parse_image(&image) else { return nothing };
        match decide::access(&image, &to, wanted) {
            Verdict::Deny(denied) if is_by_rule && !denied.ask => denied.missing,
            _ => nothing,
        }
    }
}
