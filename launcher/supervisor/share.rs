//! The supervisor's own descriptors, and who may have some: so few calls are answered at the same time that none
//! fails for want of them. A caller would take that for its own shortage, or for a refusal.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

/// How many descriptors a call takes, if it takes many: what two paths start from, lead through and to, and what
/// is looked up meanwhile.
pub(super) const CALL: usize = 10;
/// How many a call holds while it waits for others.
pub(super) const HELD: usize = 4;
/// How many the supervisor has for itself, with some to spare.
const OWN: usize = 22;

/// What is left to be shared out; less than nothing where calls went on that had waited.
#[derive(Debug)]
pub(crate) struct Shares {
    left: Mutex<isize>,
    grown: Condvar,
}

/// What one call has of them, until it is answered.
#[derive(Debug)]
pub(crate) struct Share<'s> {
    of: &'s Shares,
    size: Cell<usize>,
}

impl Shares {
    /// All that the limit of this process leaves to calls; enough for one in any case.
    pub(crate) fn new() -> Self {
        let most = descriptors().saturating_sub(OWN).max(CALL);
        let left = Mutex::new(isize::try_from(most).unwrap_or(isize::MAX));
        Self { left, grown: Condvar::new() }
    }

    /// Waits until there is enough for a call.
    pub(crate) fn take(&self) -> Share<'_> {
        let short = |left: &mut isize| *left < CALL.cast_signed();
        let left = self.grown.wait_while(self.left(), short);
        *left.unwrap_or_else(PoisonError::into_inner) -= CALL.cast_signed();
        Share { of: self, size: Cell::new(CALL) }
    }

    fn give(&self, count: usize) {
        *self.left() += count.cast_signed();
        self.grown.notify_one();
    }

    fn left(&self) -> MutexGuard<'_, isize> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share<'_> {
    /// Makes a call that may wait, while others have what it does not need. Afterwards it goes on at once: whoever
    /// held some and waited for more might wait for ever.
    pub(crate) fn lend<T>(&self, call: impl FnOnce() -> T) -> T {
        let lent = self.size.replace(HELD).saturating_sub(HELD);
        self.of.give(lent);
        let result = call();
        *self.of.left() -= lent.cast_signed();
        self.size.set(HELD + lent);
        result
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.give(self.size.get());
    }
}

/// How many descriptors this process may have, once it made use of its limits (`supervise::stand_apart`).
pub(super) fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_lends_what_others_need() {
        let shares = Shares { left: Mutex::new(CALL.cast_signed()), grown: Condvar::new() };
        let share = shares.take();
        assert_eq!(*shares.left(), 0);
        share.lend(|| assert_eq!(*shares.left(), (CALL - HELD).cast_signed()));
        assert_eq!(*shares.left(), 0);
        drop(share);
        assert_eq!(*shares.left(), CALL.cast_signed());
    }

    #[test]
    fn as_many_calls_at_a_time_as_there_is_room_for() {
        let room = 2 * CALL + 1;
        let shares = Shares { left: Mutex::new(room.cast_signed()), grown: Condvar::new() };
        let answered = Mutex::new((0, 0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let share = shares.take();
                    let busy = |change: i32| {
                        let mut answered = answered.lock().expect("nobody panicked");
                        answered.0 += change;
                        answered.1 = answered.1.max(answered.0);
                    };
                    busy(1);
                    std::thread::yield_now();
                    busy(-1);
                    drop(share);
                });
            }
        });
        let (left, most) = answered.into_inner().expect("nobody panicked");
        assert!(left == 0 && most <= 2, "{most}");
        assert_eq!(*shares.left(), room.cast_signed());
    }
}
