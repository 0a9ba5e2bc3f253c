//! Which grant an answer is to be put down to.

use super::{Grant, is_control};
use crate::capability::Capabilities;

/// The grant that decides about `wanted` where an image of `grants` has the one at `winner`: a control entry takes
/// away what changes, and leaves the rest to what is held there without it. `None` where nothing is.
#[must_use]
pub fn decider(grants: &[Grant], winner: usize, wanted: Capabilities) -> Option<&Grant> {
    let won = grants.get(winner)?;
    if !is_control(won) || wanted.intersects(Capabilities::WRITE) {
        return Some(won);
    }
    let holds = |grant: &&Grant| !is_control(grant) && won.anchor.starts_with(&grant.anchor);
    grants.iter().filter(holds).max_by_key(|grant| grant.anchor.components().count())
}
