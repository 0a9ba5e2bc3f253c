//! Limits the memory for the supervisor's copies of data to send. Many callers may send much at the same time and wait
//! for receivers. A receiver may itself be a sender, so nobody waits for memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How much any call may copy. The total of all calls that can wait is no more than the budget for larger copies.
const SMALL: usize = 32 << 10;
/// The budget that all larger copies share.
const MOST: usize = 64 << 20;

/// The remaining budget for larger copies.
#[derive(Debug)]
pub(super) struct Copies {
    left: AtomicUsize,
}

/// Memory reserved for a copy.
#[derive(Debug)]
pub(crate) struct Room<'c> {
    of: &'c Copies,
    taken: usize,
    length: usize,
}

impl Copies {
    pub(super) fn new() -> Self {
        Self { left: AtomicUsize::new(MOST) }
    }

    /// Reserves this many bytes, or fewer if not so many are left.
    pub(super) fn take(&self, length: usize) -> Room<'_> {
        if length <= SMALL {
            return Room { of: self, taken: 0, length };
        }
        let rest = |left: usize| Some(left.saturating_sub(length));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        let taken = left.unwrap_or_else(|left| left).min(length);
        Room { of: self, taken, length: taken.max(SMALL) }
    }
}

impl Room<'_> {
    /// The number of reserved bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.of.left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_large_copies_together_have_a_limit_and_small_ones_none() {
        let copies = Copies::new();
        let large: Vec<Room<'_>> = (0..5).map(|_| copies.take(MOST / 4)).collect();
        let lengths: Vec<usize> = large.iter().map(Room::length).collect();
        assert_eq!(lengths, [MOST / 4, MOST / 4, MOST / 4, MOST / 4, SMALL]);
        assert_eq!(copies.take(SMALL).length(), SMALL);
        drop(large);
        assert_eq!(copies.take(MOST + 1).length(), MOST);
        assert_eq!(copies.take(MOST).length(), MOST);
    }
}
