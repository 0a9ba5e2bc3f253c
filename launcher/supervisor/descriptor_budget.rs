//! Shares out the supervisor's own descriptors. It limits the calls answered at the same time, so that none fails for
//! lack of descriptors. The caller would take such a failure for its own shortage, or for a denial.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::copy_budget::Copies;

/// The most descriptors that an ordinary call needs: two paths' starts, intermediate directories and objects, and
/// lookups on the way.
const CALL: usize = 10;
/// How many a call keeps while it waits for others.
const HELD: usize = 4;
/// How many the supervisor itself needs, with some to spare.
const OWN: usize = 22;

/// How long a call waits for descriptors to carry. Other calls are answered sooner, unless they wait for the same
/// caller.
const PATIENCE: Duration = Duration::from_secs(5);

/// The descriptors and memory that calls share.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    state: Mutex<State>,
    grown: Condvar,
    copies: Copies,
}

#[derive(Debug)]
struct State {
    /// Negative if calls went on after they had waited.
    left: isize,
    /// The descriptors of calls that wait for others.
    waiting: usize,
}

/// One call's part of the descriptors, until it is answered.
#[derive(Debug)]
pub(crate) struct Share<'s> {
    of: &'s Shares,
    size: Cell<usize>,
    /// How many descriptors the call carries to others.
    carried: Cell<usize>,
}

impl Shares {
    /// All descriptors that this process's limit leaves for calls, and at least enough for one call.
    pub(crate) fn new() -> Self {
        Self::of(descriptors().saturating_sub(OWN).max(CALL))
    }

    fn of(most: usize) -> Self {
        let left = isize::try_from(most).unwrap_or(isize::MAX);
        let state = Mutex::new(State { left, waiting: 0 });
        Self { most, state, grown: Condvar::new(), copies: Copies::new() }
    }

    /// Waits until there are enough for a call.
    pub(crate) fn take(&self) -> Share<'_> {
        let short = |state: &mut State| state.left < CALL.cast_signed();
        let state = self.grown.wait_while(self.state(), short);
        state.unwrap_or_else(PoisonError::into_inner).left -= CALL.cast_signed();
        Share { of: self, size: Cell::new(CALL), carried: Cell::new(0) }
    }

    fn give(&self, count: usize) {
        self.state().left += count.cast_signed();
        self.grown.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'s> Share<'s> {
    /// The memory budget that all calls share.
    pub(super) fn copies(&self) -> &'s Copies {
        &self.of.copies
    }

    /// Waits until there are enough for a call that also carries `count` descriptors. The call must hold none: if it
    /// held some and waited for more, it might wait for ever.
    ///
    /// # Errors
    /// `ETOOMANYREFS`, as for too many in flight (`unix(7)`), if there are never that many, or waiting calls keep them.
    pub(crate) fn carry(&self, count: usize) -> Result<(), Errno> {
        let size = CALL + count;
        if HELD + size > self.of.most {
            return Err(Errno::TOOMANYREFS);
        }
        self.of.give(self.size.get());
        let short = |state: &mut State| state.left < size.cast_signed();
        let waited = self.of.grown.wait_timeout_while(self.of.state(), PATIENCE, short);
        let (mut state, end) = waited.unwrap_or_else(PoisonError::into_inner);
        let carried = if end.timed_out() { 0 } else { count };
        self.carried.set(carried);
        self.size.set(CALL + carried);
        state.left -= (CALL + carried).cast_signed();
        if end.timed_out() { Err(Errno::TOOMANYREFS) } else { Ok(()) }
    }

    /// Makes a call that may wait, and lends its unneeded descriptors meanwhile. Afterwards it goes on at once: if it
    /// held some and waited for more, it might wait for ever.
    ///
    /// # Errors
    /// Those of the call, and `ENOMEM` if waiting calls leave too few for others.
    pub(crate) fn lend<T>(&self, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        let held = HELD + self.carried.get();
        let lent = self.size.get().saturating_sub(held);
        {
            let mut state = self.of.state();
            if state.waiting + held + CALL > self.of.most {
                return Err(Errno::NOMEM);
            }
            state.waiting += held;
        }
        self.of.give(lent);
        let result = call();
        let mut state = self.of.state();
        state.waiting -= held;
        state.left -= lent.cast_signed();
        result
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.give(self.size.get());
    }
}

/// How many descriptors this process may have once it uses its hard limit (`supervise::stand_apart`).
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(shares: &Shares) -> usize {
        shares.state().left.unsigned_abs()
    }

    #[test]
    fn who_waits_lends_what_others_need() {
        let shares = Shares::of(CALL + HELD);
        let share = shares.take();
        assert_eq!(left(&shares), HELD);
        assert_eq!(share.lend(|| Ok(left(&shares))), Ok(CALL));
        assert_eq!(left(&shares), HELD);
        drop(share);
        assert_eq!(left(&shares), CALL + HELD);
    }

    #[test]
    fn those_who_wait_leave_enough_for_one_who_does_not() {
        let shares = Shares::of(CALL + HELD);
        let (waiting, other) = (shares.take(), Shares::of(CALL));
        waiting.lend(|| shares.take().lend(|| Ok(()))).expect_err("too many");
        assert_eq!(other.take().lend(|| Ok(())), Err(Errno::NOMEM));
        assert_eq!((left(&shares), shares.state().waiting), (HELD, 0));
    }

    #[test]
    fn what_is_carried_is_kept_while_others_are_waited_for() {
        let shares = Shares::of(100);
        let share = shares.take();
        share.carry(50).expect("enough");
        assert_eq!(left(&shares), 40);
        assert_eq!(share.lend(|| Ok(left(&shares))), Ok(46));
        share.carry(0).expect("enough");
        drop(share);
        assert_eq!(left(&shares), 100);
    }

    #[test]
    fn more_than_there_can_be_is_too_many_in_flight() {
        let shares = Shares::of(100);
        let share = shares.take();
        assert_eq!(share.carry(87), Err(Errno::TOOMANYREFS));
        assert_eq!(left(&shares), 90);
        share.carry(86).expect("enough");
        share.lend(|| Ok(())).expect("lent");
        drop(share);
        assert_eq!(left(&shares), 100);
    }

    #[test]
    fn many_who_carry_take_turns() {
        let shares = Shares::of(100);
        let carry = || {
            let share = shares.take();
            (0..20).for_each(|_| share.carry(70).expect("in time"));
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(carry))));
        assert_eq!(left(&shares), 100);
    }

    #[test]
    fn as_many_calls_at_a_time_as_there_is_room_for() {
        let room = 2 * CALL + 1;
        let shares = Shares::of(room);
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
        let (busy, most) = answered.into_inner().expect("nobody panicked");
        assert!(busy == 0 && most <= 2, "{most}");
        assert_eq!(left(&shares), room);
    }
}
