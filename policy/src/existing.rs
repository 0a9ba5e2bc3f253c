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

/// The same of who is denied to link `from` there. An object takes nothing to get another name, and that one
/// exists in a hidden area shows at neither end.
#[must_use]
pub fn is_told_of_link(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> bool {
    shows(image, from) && shows(image, to)
}

/// The same of who is denied to move `from` there, and not to replace anything: that it may not leave goes
/// first.
#[must_use]
pub fn is_told_of_move(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> bool {
    let stays = matches!(decide::remove(image, from), Verdict::Deny(denial) if !denial.ask);
    !stays && is_told_of_link(image, from, to)
}

fn shows(image: &Image<'_>, entry: &Request<'_>) -> bool {
    decide::metadata(image, entry) == Verdict::Allow
}
