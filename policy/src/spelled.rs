//! What the spelling of an entry takes. Who acts on entries holds their directories, and knows the spelling
//! only before; that of an object goes with the request.

use crate::decide::{Denial, Verdict};
use crate::image::Image;
use crate::lookup::Request;
use crate::tier::Restraint;

/// What patterns of `deny_paths` and `prompt_paths` withhold of the spelling by which an entry is named,
/// whatever tiers say of the entry itself: they may have been written by way of a link (spec §9.1). What rules
/// grant where the spelling would lead has no part in that.
#[must_use]
pub fn spelled(
    image: &Image<'_>,
    spelling: &[u8],
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Option<Denial> {
    let withheld = image
        .forms([spelling; 2])
        .filter_map(|(level, form)| Some((level, form?.tiers()?.withheld_by_spelling(spelling)?)));
    let (level, restraint) = withheld.min_by_key(|(_, restraint)| *restraint != Restraint::Deny)?;
    match judge(image, &Request::canonical(spelling)) {
        Verdict::Deny(denial) => {
            let ask = restraint == Restraint::Prompt;
            Some(Denial { level, restraint: Some(restraint), ask, ..denial })
        }
        Verdict::Allow => None,
    }
}

/// What of one end of a link or a move its spelling keeps from everybody: that goes before what both ends take, since
/// to grant that would be in vain, and nobody is to be asked about what is refused anyway.
#[must_use]
pub fn kept_by_spelling(
    image: &Image<'_>,
    end: &Request<'_>,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Verdict {
    if end.is_by_own_name() {
        return Verdict::Allow;
    }
    let denial = spelled(image, end.route, judge).filter(|denial| !denial.ask);
    denial.map_or(Verdict::Allow, Verdict::Deny)
}
