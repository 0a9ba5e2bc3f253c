//! Judges whether a directory may move: its entries move along, and are judged at the new place by their names.

use core::cell::Cell;

use crate::capability::Capabilities;
use crate::image::Image;
use crate::lookup::{self, excludes_below};
use crate::reaches::Reaches;
use crate::request::{Lookup, Request};
use crate::verdict::gained;

/// Whether nothing below the directory at `from` becomes freer once the directory is at `to`. Looks at this image
/// alone.
///
/// # Errors
/// The capabilities that would be gained at `to`. Empty if no grant would change that.
pub(crate) fn judge(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
) -> Result<(), Capabilities> {
    let source = lookup::lookup(image, from);
    let winner = source.rule.and_then(|id| image.rule(id.raw()));
    let has_exclusions = winner.is_some_and(|rule| rule.patterns.count.get() != 0);
    if has_exclusions && excludes_below(image, from.path) {
        return Err(Capabilities::NONE);
    }
    if !source.restrained_below && source.reaches_below == Reaches::NONE {
        return Ok(());
    }
    let found = Cell::new(Capabilities::NONE);
    let gains_nothing = |here: &Lookup, there: &Lookup| {
        found.set(gained(here, there));
        found.get().is_empty()
    };
    if lookup::all_below(image, [from, to], gains_nothing) {
        return Ok(());
    }
    // If tiers cannot decide at `to`, no grant at `from` takes their restrictions along.
    Err(if lookup::is_judged(image, to) { found.get() } else { Capabilities::NONE })
}
