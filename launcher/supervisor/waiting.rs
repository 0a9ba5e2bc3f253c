//! Manages calls that wait for others: the other end of a fifo, a modem, a peer. If the caller dies or receives a
//! signal, its supervisor thread must not wait for ever. However many calls wait, one thread must remain that does not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{Pid, gettid};

use super::caller::Caller;
use crate::prompt::during_run::Consent;
use crate::sys::interruption;
use crate::sys::notification::NotificationListener;
use crate::sys::proc::Proc;
use crate::sys::proc::status::Status;

/// How long a signal to a waiting caller may take to have effect.
const TICK: Duration = Duration::from_millis(20);
/// The share of that time for one waiting caller. With many callers a round takes longer.
const LOOK: Duration = Duration::from_micros(100);

/// More than any run needs at the same time.
const MOST: usize = 2048;

/// Makes the kernel begin the caller's call again after a signal (`ERESTARTSYS`).
const BEGIN_AGAIN: Errno = Errno::from_raw_os_error(512);

/// The same, whatever the signal's action says about calls (`ERESTARTNOINTR`).
const BEGIN_AGAIN_ALWAYS: Errno = Errno::from_raw_os_error(513);

/// Whether a call ended because its caller must not wait any longer.
pub(crate) fn is_interruption(errno: Errno) -> bool {
    matches!(errno, Errno::INTR | BEGIN_AGAIN | BEGIN_AGAIN_ALWAYS)
}

/// The supervisor's waiting threads, each with the caller it acts for.
type Waiters = HashMap<Pid, For>;

#[derive(Clone, Copy, Debug)]
struct For {
    id: u64,
    tid: i32,
    /// The errno for the caller if the call was interrupted.
    told: Errno,
    /// It waits for a person's answer.
    is_asking: bool,
}

/// All calls that wait now, and the number of answering threads.
pub(crate) struct Waiting {
    waiters: Mutex<Waiters>,
    changed: Condvar,
    threads: AtomicUsize,
    /// Whether the watching thread runs.
    watched: AtomicBool,
    /// Weak, so that nothing here keeps the listener alive: if no thread answers any more, calls must fail.
    listener: Weak<NotificationListener>,
    proc: Arc<Proc>,
    consent: Arc<Consent>,
}

impl Waiting {
    /// For the calls from `listener` and the prompts of `consent`. Nobody waits yet.
    pub(crate) fn new(
        listener: &Arc<NotificationListener>,
        proc: Arc<Proc>,
        consent: Arc<Consent>,
    ) -> Self {
        Self {
            waiters: Mutex::default(),
            changed: Condvar::new(),
            threads: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
            listener: Arc::downgrade(listener),
            proc,
            consent,
        }
    }

    /// Counts one more answering thread.
    pub(crate) fn join(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one answering thread less.
    pub(crate) fn leave(&self) {
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of answering threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Makes a call that may wait.
    ///
    /// # Errors
    /// Those of the call, and `ENOMEM` if too many wait already. After a signal, the errno that makes the caller begin
    /// again.
    pub(crate) fn during<T>(
        &self,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.during_for(caller, false, call)
    }

    /// As [`Self::during`], for a person's answer. A signal does not end the call, as it would not without the prompt.
    /// A stop of its process for the prompt is no reason to interrupt it: it could not return before the prompt is
    /// gone.
    ///
    /// # Errors
    /// As [`Self::during`].
    pub(crate) fn during_question<T>(
        &self,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.during_for(caller, true, call)
    }

    fn during_for<T>(
        &self,
        caller: &Caller<'_>,
        is_asking: bool,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let thread = gettid();
        let waiter = For { id: caller.id(), tid: caller.tid(), told: Errno::INTR, is_asking };
        self.admit(thread, waiter)?;
        self.changed.notify_one();
        let outcome = call();
        let told = self.waiters().remove(&thread).map_or(Errno::INTR, |waiter| waiter.told);
        outcome.map_err(|errno| if errno == Errno::INTR { told } else { errno })
    }

    fn admit(&self, thread: Pid, waiter: For) -> Result<(), Errno> {
        let mut waiters = self.waiters();
        // This thread, and one more that does not wait.
        if !self.watched.load(Ordering::Acquire)
            || waiters.len() >= MOST
            || self.threads() < waiters.len() + 2
        {
            return Err(Errno::NOMEM);
        }
        waiters.insert(thread, waiter);
        Ok(())
    }

    /// Starts the thread that ends waits which are no longer needed, unless it runs. Many runs need none. Must not be
    /// called while the current thread acts as a caller, because the new thread would do so, too.
    pub(crate) fn watch(self: &Arc<Self>) {
        if self.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let waiting = Arc::clone(self);
        let watch = move || loop {
            waiting.interrupt_where(|caller| {
                let listener = waiting.listener.upgrade();
                if listener.is_some_and(|listener| listener.is_waiting(caller.id)) {
                    waiting.answer_to_interruption(caller)
                } else {
                    Some(Errno::INTR)
                }
            });
        };
        let thread = Builder::new()
            .name("waiting".into())
            .stack_size(crate::supervisor::waiting::STACK)
            .spawn(watch);
        self.watched.store(thread.is_ok(), Ordering::Release);
    }

    /// Waits until there are waiters and time has passed. Then looks at each: `condition` returns the errno for a
    /// caller that must not wait any longer.
    fn interrupt_where(&self, condition: impl Fn(&For) -> Option<Errno>) {
        let waiters = self.waiters();
        let waiters = self.changed.wait_while(waiters, |waiters| waiters.is_empty());
        let count = waiters.map_or(0, |waiters| waiters.len());
        std::thread::sleep(TICK.max(LOOK.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))));
        let seen: Vec<(Pid, For)> = self.waiters().iter().map(|(&at, &who)| (at, who)).collect();
        for (thread, told) in seen.iter().filter_map(|(at, who)| Some((at, condition(who)?))) {
            self.interrupt(*thread, told, &seen);
        }
    }

    /// Holds the lock, so that a thread is only interrupted in the wait that was examined.
    fn interrupt(&self, thread: Pid, told: Errno, seen: &[(Pid, For)]) {
        let mut waiters = self.waiters();
        let Some(waiter) = waiters.get_mut(&thread) else { return };
        if seen.iter().any(|(at, who)| *at == thread && who.id == waiter.id) {
            waiter.told = told;
            interruption::interrupt(thread);
        }
    }

    /// The errno for a thread whose wait was interrupted by a signal, by a tracer, or because its process stops. `None`
    /// if it was not interrupted.
    ///
    /// A thread begins its call again only if the kernel interrupted it. If it got that errno without an interruption,
    /// its program would see a number that is no errno. A thread that waits for an answer first sleeps lightly. An
    /// interruption wakes it. Because the supervisor has taken its call by then, it sleeps again, and only deadly
    /// signals wake it (`seccomp_do_user_notification` in kernel/seccomp.c). Its status shows that.
    fn answer_to_interruption(&self, caller: &For) -> Option<Errno> {
        let status = Status::read(&self.proc, caller.tid).ok()?;
        let consent = &self.consent;
        let stops_for_question = caller.is_asking && !status.has_signal && consent.is_asking();
        if stops_for_question || caller.is_asking && consent.is_interrupting() {
            return None;
        }
        let again = if caller.is_asking { BEGIN_AGAIN_ALWAYS } else { BEGIN_AGAIN };
        status.is_fast_asleep.then_some(again)
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stack size of a thread. Paths are on the heap.
pub(crate) const STACK: usize = 256 * 1024;
