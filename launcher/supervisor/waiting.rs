//! Calls that wait for others: the other end of a fifo, a modem, a peer. A caller that dies or is
//! sent a signal meanwhile must not leave its thread of the supervisor's waiting for ever.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{Pid, gettid};

use super::caller::Caller;
use super::proc::Proc;
use super::status::Status;
use crate::sys::interruption;
use crate::sys::notification::Listener;

/// How long a signal to a waiting caller may take to get through.
const TICK: Duration = Duration::from_millis(20);

/// Who waits for whom: a thread of the supervisor's, and the caller it acts for.
type Waiters = HashMap<Pid, For>;

#[derive(Clone, Copy, Debug)]
struct For {
    id: u64,
    tid: i32,
}

/// All calls that wait at present.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    waiters: Mutex<Waiters>,
    changed: Condvar,
}

impl Waiting {
    /// Makes a call that may wait.
    pub(crate) fn during<T>(
        &self,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let thread = gettid();
        self.waiters().insert(thread, For { id: caller.id(), tid: caller.tid() });
        self.changed.notify_one();
        let outcome = call();
        self.waiters().remove(&thread);
        outcome
    }

    /// Starts the thread that ends what need not be waited for any more.
    ///
    /// # Errors
    /// Where there can be no thread.
    pub(crate) fn watch(
        self: &Arc<Self>,
        listener: Arc<Listener>,
        proc: Arc<Proc>,
    ) -> std::io::Result<()> {
        let waiting = Arc::clone(self);
        let watch = move || loop {
            waiting.interrupt_where(|caller| {
                !listener.is_waiting(caller.id)
                    || Status::read(&proc, caller.tid).is_ok_and(|status| status.signalled)
            });
        };
        Builder::new().name("waiting".into()).stack_size(super::STACK).spawn(watch).map(drop)
    }

    /// Waits until there are waiters and time has passed, and looks at each.
    fn interrupt_where(&self, condition: impl Fn(&For) -> bool) {
        let waiters = self.waiters();
        let waiters = self.changed.wait_while(waiters, |waiters| waiters.is_empty());
        drop(waiters);
        std::thread::sleep(TICK);
        // Under the lock: no thread is interrupted in anything but its waiting.
        for (thread, _) in self.waiters().iter().filter(|(_, caller)| condition(caller)) {
            interruption::interrupt(*thread);
        }
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
