//! Finds the grant to name as the reason for an answer.

use super::{Grant, is_control};
use crate::capability::Capabilities;

/// The grant that decides about `wanted` if an image of `grants` has the one at `winner`. A control entry only decides
/// about changes. The rest is up to the grant that would hold there without it. `None` if there is none.
#[must_use]
pub fn decider(grants: &[Grant], winner: usize, wanted: Capabilities) -> Option<&Grant> {
    let won = grants.get(winner)?;
    if !is_control(won) || wanted.intersects(Capabilities::WRITE) {
        return Some(won);
    }
    let holds = |grant: &&Grant| !is_control(grant) && won.anchor.starts_with(&grant.anchor);
    grants.iter().filter(holds).max_by_key(|grant| grant.anchor.components().count())
}
