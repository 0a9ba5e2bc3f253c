//! The supervisor: answers the calls of the run that the filter traps, as the preload library would.
//!
//! A call arrives as numbers (`sys::notification`). Its arguments are copied once (`caller`), what
//! they lead to is held (`resolve`), where that is gets judged (`task`, by `policy::decide`), and then
//! the supervisor itself does to what it holds what the caller wanted (`calls`). The caller gets the
//! result or a descriptor, and never goes on with a call whose meaning it could still change; but for
//! `execve`, which nobody can do for it.
//!
//! Invariants: nothing that a caller passes makes a thread panic; what fails inside is refused.
//!
//! What cannot work through it: a write to `uid_map` and its like of a user namespace, which the
//! kernel grants to the opener; acquiring a controlling terminal by opening it; another root directory
//! than the supervisor's.

mod arguments;
pub(crate) mod call_counts;
pub(crate) mod caller;
mod calls;
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
pub(crate) mod waiting;
mod workers;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::network::access::Judged;
use crate::prompt::during_run::Consent;
use crate::record::usage::Recorder;
use crate::sys::interruption;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::notification::Listener;
pub(crate) use crate::sys::proc::Proc;
use call_counts::{Count, Counts};
use descriptor_budget::Shares;
use policy::Policy;
use waiting::Waiting;
use workers::Workers;

/// Whether calls of that number are known.
#[cfg(test)]
pub(crate) fn answers(number: i64) -> bool {
    dispatch::name(number).is_some()
}

/// What answers the trapped calls of one run.
#[derive(Debug)]
pub(crate) struct Supervisor {
    policy: Arc<Policy>,
    proc: Arc<Proc>,
    counts: Option<Arc<Counts>>,
}

impl Supervisor {
    /// To be made in the process that is to answer: what it opens is its own.
    ///
    /// `image` is the compiled policy, `record` the record of denials, open for appending, `page` the
    /// page by which the processes of the run tell each other of directories that moved, `consent` who
    /// is asked. `learner`, who is told of what was allowed, makes every call a little slower. `network` is what
    /// connections are judged by, if they are; `starts` is where Landlock lets programs start; `proc` is its own view.
    ///
    /// # Errors
    /// Where the image is damaged.
    pub(crate) fn new(
        image: Vec<u8>,
        record: File,
        page: &OwnedFd,
        consent: Arc<Consent>,
        learner: Option<Recorder>,
        (network, starts): (Option<Judged>, Option<Vec<StartPlace>>),
        proc: Proc,
    ) -> io::Result<Self> {
        let network = network.map(Judged::open).transpose()?;
        let mut policy = Policy::new(image, record, page, consent, learner, network)?;
        policy.starts = starts;
        Ok(Self { policy: Arc::new(policy), proc: Arc::new(proc), counts: None })
    }

    /// The same, which counts the calls if that is `wanted`: it makes every one a little slower.
    pub(crate) fn counting(self, wanted: bool) -> Self {
        Self { counts: wanted.then(Arc::default), ..self }
    }

    /// Begins to answer what the run asks on the network, on threads of its own.
    ///
    /// # Errors
    /// Where there can be none.
    pub(crate) fn serve_network(&self) -> io::Result<()> {
        loopback_services::serve(&self.policy)
    }

    /// Answers the calls that `listener` passes on, on this thread and as many more as it takes.
    ///
    /// # Errors
    /// Where waiting calls could not be ended.
    pub(crate) fn serve(&self, listener: OwnedFd) -> io::Result<()> {
        interruption::prepare()?;
        let listener = Arc::new(Listener::new(listener));
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

    /// Has whoever learns know all.
    pub(crate) fn conclude(&self) {
        if let Some(learner) = &self.policy.learner {
            learner.conclude();
        }
    }

    /// How many denials had no room on record.
    pub(crate) fn unrecorded(&self) -> u64 {
        self.policy.unrecorded()
    }

    /// How often which program made which trapped call, the most frequent first; nothing unless they
    /// were counted.
    pub(crate) fn counts(&self) -> Vec<Count> {
        self.counts.as_ref().map(|counts| counts.sorted()).unwrap_or_default()
    }
}
