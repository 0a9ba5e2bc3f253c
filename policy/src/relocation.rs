//! What tiers have against a directory's going elsewhere: what is in it goes along, and is judged there by its name.

use core::cell::Cell;

use crate::capability::Capabilities;
use crate::decide::{free, gained};
use crate::image::Image;
use crate::lookup::{self, Request};

/// Whether nothing below the directory at `from` is had more freely once that is at `to`. Of this image alone.
///
/// # Errors
/// What is had there and not here; nothing where no grant would change that.
pub(crate) fn judge(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
) -> Result<(), Capabilities> {
    let Some(tiers) = image.tiers() else { return Ok(()) };
    if !lookup::lookup(image, from).restrained_below {
        return Ok(());
    }
    if !lookup::is_judged(image, to) {
        return Err(Capabilities::NONE);
    }
    let [here, there] = [from, to].map(|end| lookup::below(image, tiers, end));
    let found = Cell::new(Capabilities::NONE);
    let gains_nothing = |one, other| {
        found.set(gained(&here(one), &there(other)));
        found.get().is_empty()
    };
    match tiers.automaton.compare_below([from.path, to.path], gains_nothing) {
        Some(true) => judge_alike(image, from, to),
        Some(false) => Ok(()),
        None => Err(found.get()),
    }
}

/// The same of what patterns say the same of at both places.
fn judge_alike(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
) -> Result<(), Capabilities> {
    let Some([[here, there], [sensitive, moved]]) = lookup::below_both(image, from, to) else {
        return Err(Capabilities::ALL);
    };
    let gained = gained(&here, &there);
    if gained.is_empty() && !free(&moved).intersects(sensitive.withheld) {
        return Ok(());
    }
    Err(gained)
}
