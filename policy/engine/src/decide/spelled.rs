//! Judges the spelling of an entry. Code that acts on entries pins their directories, and knows the spelling only
//! beforehand. For an object, the spelling is part of the request.

use crate::image::Image;
use crate::request::Request;
use crate::tier::Restraint;
use crate::verdict::{Denial, Verdict};

/// The denial by patterns of `deny_paths` and `prompt_paths` of the spelling that names an entry, whatever tiers say of
/// the entry itself. The patterns may have been written with a symlink in the path (spec §9.1). Grants of rules at the
/// target of the spelling do not matter.
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

/// The final denial of one end of a link or a move because of its spelling. It comes before the needs of both ends:
/// granting them would be in vain, and a request that is denied anyway gets no prompt.
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
