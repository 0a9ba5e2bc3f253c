//! Says when a denied program may learn whether an entry exists.
//!
//! If an entry to be created exists, the kernel would say so (`EEXIST`) and create nothing. Programs rely on that
//! answer (decision 0008). So a denied program gets it too, without a prompt, wherever looking shows as much (R6). The
//! same holds for removing or moving a missing entry (`ENOENT`): there is no prompt (decision 0018).

use crate::capability::Capabilities;
use crate::decide;
use crate::image::Image;
use crate::request::Request;
use crate::verdict::{Denial, Verdict};

/// Whether a program that may not create `entry` may learn that it exists, if it does.
#[must_use]
pub fn is_told(image: &Image<'_>, entry: &Request<'_>, denial: &Denial) -> bool {
    denial.missing == Capabilities::CREATE && shows(image, entry)
}

/// Whether a program that may not remove or move `entry` may learn that it is missing, if it is.
///
/// It may, instead of getting a prompt, if removal alone needs one or if only something below the entry must stay. A
/// program that may not remove the entry at all may not, as with opening.
#[must_use]
pub fn is_told_missing(image: &Image<'_>, entry: &Request<'_>, denial: &Denial) -> bool {
    let removal = || decide::remove(image, entry);
    let is_question = || matches!(removal(), Verdict::Deny(Denial { ask: true, .. }));
    let may_remove = || decide::access(image, entry, Capabilities::DELETE) == Verdict::Allow;
    let is_kept_below = || may_remove() && removal() != Verdict::Allow;
    (denial.ask || is_question() || is_kept_below()) && shows(image, entry)
}

/// Whether a denied program may learn that `entry` exists, if it does. This is for linking an object there, or moving
/// it without replacing anything. The kernel looks for the object first, so only its visibility matters: no object gets
/// another name.
#[must_use]
pub fn shows(image: &Image<'_>, entry: &Request<'_>) -> bool {
    decide::metadata(image, entry) == Verdict::Allow
}
