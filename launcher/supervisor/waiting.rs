//! Calls that wait for others: the other end of a fifo, a modem, a peer. A caller that dies or is
//! sent a signal meanwhile must not leave its thread of the supervisor's waiting for ever, and however
//! many wait, a thread remains that does not.

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
use crate::sys::notification::Listener;
use crate::sys::proc::Proc;
use crate::sys::proc::status::Status;

/// How long a signal to a waiting caller may take to get through.
const TICK: Duration = Duration::from_millis(20);
/// What looking at one waiting caller may take of that time: with many it takes longer.
const LOOK: Duration = Duration::from_micros(100);

/// Nobody needs that many calls that wait at the same time.
const MOST: usize = 2048;

/// How the kernel is told to make the caller begin its call again after a signal (`ERESTARTSYS`).
const BEGIN_AGAIN: Errno = Errno::from_raw_os_error(512);

/// The same, whatever the signal's action says of calls (`ERESTARTNOINTR`).
const BEGIN_AGAIN_ALWAYS: Errno = Errno::from_raw_os_error(513);

/// Whether a call ended because its caller is not to wait any longer.
pub(crate) fn is_interruption(errno: Errno) -> bool {
    matches!(errno, Errno::INTR | BEGIN_AGAIN | BEGIN_AGAIN_ALWAYS)
}

/// Who waits for whom: a thread of the supervisor's, and the caller it acts for.
type Waiters = HashMap<Pid, For>;

#[derive(Clone, Copy, Debug)]
struct For {
    id: u64,
    tid: i32,
    /// What the caller is told, should the call have been interrupted.
    told: Errno,
    /// It waits for a person.
    is_asking: bool,
}

/// All calls that wait at present, and how many threads there are to make some.
pub(crate) struct Waiting {
    waiters: Mutex<Waiters>,
    changed: Condvar,
    threads: AtomicUsize,
    /// Somebody looks after those that wait.
    watched: AtomicBool,
    /// If no thread answers any more, calls must fail: nothing here keeps the listener.
    listener: Weak<Listener>,
    proc: Arc<Proc>,
    consent: Arc<Consent>,
}

impl Waiting {
    /// Nobody waits yet for what `listener` passes on, nor for what `consent` asks.
    pub(crate) fn new(listener: &Arc<Listener>, proc: Arc<Proc>, consent: Arc<Consent>) -> Self {
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

    /// There is one more thread that answers.
    pub(crate) fn join(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    /// There is one less.
    pub(crate) fn leave(&self) {
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many threads answer.
    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    /// Makes a call that may wait.
    ///
    /// # Errors
    /// Those of the call; `ENOMEM` where too many wait already; what makes the caller begin again
    /// where it was sent a signal.
    pub(crate) fn during<T>(
        &self,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        self.during_for(caller, false, call)
    }

    /// As [`Self::during`], for an answer of a person: the call does not end by a signal, as it would not without
    /// the question. That its process is stopped for the question is no reason for the caller to go: it could not
    /// come back before the question is gone.
    ///
    /// # Errors
    /// As there.
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

    /// Starts the thread that ends what need not be waited for any more, if that was not done: many a run
    /// has no call to answer. Not while the calling thread acts for somebody, as it would, too.
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

    /// Waits until there are waiters and time has passed, and looks at each: what to tell it if it
    /// shall not wait any longer.
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

    /// Under the lock: no thread is interrupted in anything but the waiting that was looked at.
    fn interrupt(&self, thread: Pid, told: Errno, seen: &[(Pid, For)]) {
        let mut waiters = self.waiters();
        let Some(waiter) = waiters.get_mut(&thread) else { return };
        if seen.iter().any(|(at, who)| *at == thread && who.id == waiter.id) {
            waiter.told = told;
            interruption::interrupt(thread);
        }
    }

    /// What to tell a waiting thread that was interrupted, by a signal, by a tracer, or because its process
    /// stops; `None` where it was not.
    ///
    /// A thread begins its call again only if the kernel interrupted it: told so without that, its program would
    /// see a number that is no errno. Who waits for an answer sleeps lightly at first. An interruption wakes it,
    /// and as its call was taken by then it falls asleep again, for deadly signals only
    /// (`seccomp_do_user_notification` in kernel/seccomp.c): that shows.
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

/// The stack of a thread: paths are on the heap.
pub(crate) const STACK: usize = 256 * 1024;
