//! The threads that answer calls. If all are busy, another is started. So no call waits for another that waits for a
//! third.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use rustix::io::Errno;
use rustix::thread::gettid;

use super::call_counts::Counts;
use super::caller::Caller;
use super::credentials::Credentials;
use super::descriptor_budget::Shares;
use super::dispatch;
use super::policy::Policy;
use super::task::{Task, program_of};
use super::views::Views;
use super::waiting::Waiting;
use crate::sys::interruption;
use crate::sys::notification::{CallResult, Notification, NotificationListener};
use crate::sys::proc::Proc;
use crate::sys::proc::status::Status;

/// Threads beyond this number end when they have nothing to do.
const IDLE: usize = 4;
/// The most threads. A call may wait for something that the supervisor cannot foresee, such as a page of memory that
/// the program itself provides. A program with so many of those only keeps itself from being answered.
const MOST: usize = 4096;

/// The state that the threads share.
pub(crate) struct Workers {
    pub(crate) listener: Arc<NotificationListener>,
    pub(crate) proc: Arc<Proc>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) counts: Option<Arc<Counts>>,
    pub(crate) shares: Shares,
    pub(crate) idle: AtomicUsize,
}

impl Workers {
    /// Makes the current thread one of them, as long as it is needed.
    pub(crate) fn join(self: &Arc<Self>) {
        self.waiting.join();
        let _ = self.work();
        self.waiting.leave();
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// Fails if none can be started.
    fn spawn(self: &Arc<Self>) -> std::io::Result<()> {
        let workers = Arc::clone(self);
        let waiting = Arc::clone(&self.waiting);
        let work = move || {
            let _ = workers.work();
            workers.waiting.leave();
        };
        waiting.join();
        let thread = Builder::new()
            .name("answers".into())
            .stack_size(crate::supervisor::waiting::STACK)
            .spawn(work);
        thread.map(drop).inspect_err(|_| waiting.leave())
    }

    /// Receives and answers calls until there are no callers left.
    fn work(self: &Arc<Self>) -> Result<(), Errno> {
        interruption::admit();
        let own = Status::read(&self.proc, gettid().as_raw_nonzero().get())?;
        let hands = Credentials::prepare(&own, self.policy.network.is_some())?;
        while self.idle.load(Ordering::Relaxed) < IDLE && hands.are_sound() {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let received = self.listener.receive();
            let was_last = self.idle.fetch_sub(1, Ordering::Relaxed) == 1;
            let Some(notification) = received else { return Ok(()) };
            if was_last && self.waiting.threads() < MOST {
                // Without another thread the next call waits for this one, and this one may not wait for others.
                let _ = self.spawn();
            }
            self.waiting.watch();
            self.settle(&notification, &hands);
        }
        if !hands.are_sound() {
            let _ = self.spawn();
        }
        Ok(())
    }

    fn settle(&self, notification: &Notification, hands: &Credentials) {
        let caller =
            Caller::new((&self.listener, &self.proc), Views::of(&self.policy.image), notification);
        let call = dispatch::name(notification.number).unwrap_or("unknown");
        if let Some(counts) = &self.counts {
            counts.add(program_of(&caller), call);
        }
        let share = self.shares.take();
        let task = Task::new(caller, &self.policy, call, hands, (&self.waiting, &share));
        let outcome = dispatch::answer(&task, notification).and_then(|answer| {
            let descriptor = matches!(answer, CallResult::Descriptor { .. });
            match self.listener.answer(notification.id, answer) {
                // The caller's descriptor table may be full, for instance.
                Err(errno) if descriptor && errno != Errno::NOENT => Err(errno),
                _ => Ok(()),
            }
        });
        if let Err(errno) = outcome {
            task.tell_if_unreadable(errno);
            // The caller may be gone. Then nobody needs an answer.
            let _ = self.listener.fail(notification.id, errno.raw_os_error());
        }
    }
}
