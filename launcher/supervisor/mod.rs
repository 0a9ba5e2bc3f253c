//! The supervisor: answers the calls of the run that the filter traps, as the preload library would.
//!
//! A call arrives as numbers (`sys::notification`) and passes these steps:
//! * `caller` copies its arguments once.
//! * `resolve` pins the objects that they lead to, through the `views` of the run.
//! * `task` judges where those are, with `policy::decide`.
//! * `calls` acts on the pinned objects for the caller.
//!
//! The caller gets the result or a descriptor. It never continues a call whose meaning it could still change, with one
//! exception: `execve`, which nobody can do for it, and which Landlock bounds. It also continues an open with `O_PATH`,
//! which gives no access, and calls that are judged by their registers alone, such as receiving from a socket.
//!
//! Invariants: no argument of a caller makes a thread panic. An internal failure denies the call.
//!
//! Some things cannot work through the supervisor:
//! * A write to `uid_map` and similar files of a user namespace. The kernel grants it to the process that opened the
//!   file.
//! * Acquiring a controlling terminal by opening it.
//! * A root directory other than the supervisor's.

mod arguments;
pub(crate) mod call_counts;
pub(crate) mod caller;
mod calls;
mod command_paths;
mod companions;
pub(crate) mod copy_budget;
pub(crate) mod credentials;
pub(crate) mod descriptor_budget;
mod descriptor_slot;
mod dispatch;
mod loopback_services;
pub(crate) mod policy;
pub(crate) mod resolve;
pub(crate) mod task;
#[cfg(test)]
mod tests;
mod usage;
pub(crate) mod vetted_remotes;
mod views;
pub(crate) mod waiting;
mod workers;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::network::access::ConnectionRules;
use crate::prompt::during_run::Consent;
use crate::record::usage::Recorder;
use crate::sys::interruption;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::notification::NotificationListener;
pub(crate) use crate::sys::proc::Proc;
use call_counts::{Count, Counts};
use descriptor_budget::Shares;
use policy::Policy;
use waiting::Waiting;
use workers::Workers;

/// Whether calls with that number may be trapped, and have a handler.
#[cfg(test)]
pub(crate) fn answers(number: i64) -> bool {
    use jp_confine_engine::calls::{Need, Operation, Trap, of_number};
    of_number(number).is_some_and(|call| {
        call.need == Need::Refused
            || (call.operation != Operation::None && call.trap.1 != Trap::Never)
    })
}

/// Answers the trapped calls of one run.
#[derive(Debug)]
pub(crate) struct Supervisor {
    policy: Arc<Policy>,
    proc: Arc<Proc>,
    counts: Option<Arc<Counts>>,
}

impl Supervisor {
    /// Must be created in the process that will answer, because it opens its own files.
    ///
    /// * `image` is the compiled policy.
    /// * `record` is the record of denials, open for appending.
    /// * `page` is the page by which processes of the run report moved directories to each other.
    /// * `consent` asks the person.
    /// * `learner` records allowed accesses. It makes every call a little slower.
    /// * `network` has the rules for connections, if they are judged.
    /// * `starts` are the places where Landlock lets programs start.
    /// * `proc` is the supervisor's own view.
    ///
    /// # Errors
    /// Fails if the image is damaged.
    pub(crate) fn new(
        image: Vec<u8>,
        record: File,
        page: &OwnedFd,
        consent: Arc<Consent>,
        learner: Option<Recorder>,
        (network, starts): (Option<ConnectionRules>, Option<Vec<StartPlace>>),
        proc: Proc,
    ) -> io::Result<Self> {
        let network = network.map(ConnectionRules::open).transpose()?;
        let mut policy = Policy::new(image, record, page, consent, learner, network)?;
        policy.starts = starts;
        Ok(Self { policy: Arc::new(policy), proc: Arc::new(proc), counts: None })
    }

    /// Counts the calls if `wanted`. That makes every call a little slower.
    pub(crate) fn counting(self, wanted: bool) -> Self {
        Self { counts: wanted.then(Arc::default), ..self }
    }

    /// Starts the run's name server and proxy on separate threads.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn serve_network(&self) -> io::Result<()> {
        loopback_services::serve(&self.policy)
    }

    /// Answers the calls from `listener`, on this thread and as many more as needed.
    ///
    /// # Errors
    /// Fails if waiting calls could not be interrupted.
    pub(crate) fn serve(&self, listener: OwnedFd) -> io::Result<()> {
        interruption::prepare()?;
        let listener = Arc::new(NotificationListener::new(listener));
        let consent = Arc::clone(&self.policy.consent);
        let workers = Workers {
            waiting: Arc::new(Waiting::new(&listener, Arc::clone(&self.proc), consent)),
            listener,
            proc: Arc::clone(&self.proc),
            policy: Arc::clone(&self.policy),
            counts: self.counts.clone(),
            shares: Shares::new(),
            idle: AtomicUsize::new(0),
        };
        Arc::new(workers).join();
        Ok(())
    }

    /// Completes the record of a learning run.
    pub(crate) fn conclude(&self) {
        if let Some(learner) = &self.policy.learner {
            learner.conclude();
        }
    }

    /// How many denials did not fit in the record.
    pub(crate) fn unrecorded(&self) -> u64 {
        self.policy.unrecorded()
    }

    /// How often each program made each trapped call, the most frequent first. Empty unless calls were counted.
    pub(crate) fn counts(&self) -> Vec<Count> {
        self.counts.as_ref().map(|counts| counts.sorted()).unwrap_or_default()
    }
}
