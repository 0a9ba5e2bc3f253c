//! Making an entry where there is one already. The kernel would say so (`EEXIST`), and nothing would be made;
//! programs go by that answer (decision 0008). So it is what a refused program hears, too, and
//! instead of a question, wherever looking shows as much (R6).

use crate::capability::Capabilities;
use crate::decide::{self, Denial, Verdict};
use crate::image::Image;
use crate::lookup::Request;

/// Whether who is denied to make `entry` may hear that it exists, if it does.
#[must_use]
pub fn is_told(image: &Image<'_>, entry: &Request<'_>, denial: &Denial) -> bool {
    denial.missing == Capabilities::CREATE && shows(image, entry)
}

/// Whether who is denied to link something there, or to move it and to replace nothing, may hear that `entry`
/// exists, if it does. The kernel looks for that something first, so that whether it can be seen is all that is
/// left to ask: nothing else of it counts where nothing gets another name.
#[must_use]
pub fn shows(image: &Image<'_>, entry: &Request<'_>) -> bool {
    decide::metadata(image, entry) == Verdict::Allow
}
