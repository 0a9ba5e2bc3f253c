//! Making an entry where there is one already. The kernel would say so (`EEXIST`), and nothing would be made;
//! programs go by that answer (decision 0008). So it is what a refused program hears, too, and
//! instead of a question, wherever looking shows as much (R6). Likewise of removing or moving what is not there
//! (`ENOENT`), which nobody is asked about (decision 0018).

use crate::capability::Capabilities;
use crate::decide::{self, Denial, Verdict};
use crate::image::Image;
use crate::lookup::Request;

/// Whether who is denied to make `entry` may hear that it exists, if it does.
#[must_use]
pub fn is_told(image: &Image<'_>, entry: &Request<'_>, denial: &Denial) -> bool {
    denial.missing == Capabilities::CREATE && shows(image, entry)
}

/// Whether who is denied to remove or to move `entry` may hear that it is missing, if it is: instead of a question,
/// wherever its removal alone is one, and where only something below it is to stay. Who may not remove it at all does
/// not, as with opening.
#[must_use]
pub fn is_told_missing(image: &Image<'_>, entry: &Request<'_>, denial: &Denial) -> bool {
    let removal = || decide::remove(image, entry);
    let is_question = || matches!(removal(), Verdict::Deny(Denial { ask: true, .. }));
    let may_remove = || decide::access(image, entry, Capabilities::DELETE) == Verdict::Allow;
    let is_kept_below = || may_remove() && removal() != Verdict::Allow;
    (denial.ask || is_question() || is_kept_below()) && shows(image, entry)
}

/// Whether who is denied to link something there, or to move it and to replace nothing, may hear that `entry`
/// exists, if it does. The kernel looks for that something first, so that whether it can be seen is all that is
/// left to ask: nothing else of it counts where nothing gets another name.
#[must_use]
pub fn shows(image: &Image<'_>, entry: &Request<'_>) -> bool {
    decide::metadata(image, entry) == Verdict::Allow
}
