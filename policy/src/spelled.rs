//! What the spelling of an entry takes. Who acts on entries holds their directories, and knows the spelling
//! only before; that of an object goes with the request.

use crate::decide::{Denial, Verdict};
use crate::image::Image;
use crate::lookup::Request;
use crate::tier::Restraint;

/// What patterns of `deny_paths` and `prompt_paths` withhold of the spelling by which an entry is named,
/// whatever tiers say of the entry itself: they may have been written by way of a link (spec §9.1).
#[must_use]
pub fn spelled(
    image: &Image<'_>,
    spelling: &[u8],
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Option<Denial> {
    if image.levels().all(|image| image.tiers().is_none()) {
        return None;
    }
    match judge(image, &Request::canonical(spelling)) {
        Verdict::Deny(denial) => match denial.restraint {
            Some(Restraint::Deny | Restraint::Prompt) => Some(denial),
            _ => None,
        },
        Verdict::Allow => None,
    }
}
