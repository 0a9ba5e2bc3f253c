//! Waits for the processes that a program left running, and names them. Without a terminal the wait has a limit, because
//! nobody could end it (spec §18). Used by `front`.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::cli::Options;
use crate::output;
use crate::prompt::terminal;
use crate::sys::proc::descendants::{self, Descendant};

/// Time that leftover processes get before they are reported.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time that they get without a terminal.
const LIMIT: Duration = Duration::from_secs(10);

/// How long the run waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until they end.
    Unlimited,
    /// For [`LIMIT`].
    Limited,
    /// Not at all. The supervisor ends them.
    No,
}

impl Wait {
    /// The wait that the options ask for. Looks for a terminal.
    pub(crate) fn of(options: &Options) -> Self {
        if options.kill_leftovers {
            Self::No
        } else if options.wait_leftovers || terminal::controlling().is_ok() {
            Self::Unlimited
        } else {
            Self::Limited
        }
    }
}

/// The processes that the program left running.
#[derive(Debug)]
pub(crate) struct Leftovers {
    pub(crate) wait: Wait,
    supervisor: Pid,
    running: Vec<Descendant>,
    /// When the wait began. A prompt begins it anew, because the processes may wait for its answer.
    since: Instant,
    is_named: bool,
}

impl Leftovers {
    pub(crate) fn new(wait: Wait, supervisor: Pid) -> Self {
        Self { wait, supervisor, running: Vec::new(), since: Instant::now(), is_named: false }
    }

    /// The program ended just now.
    pub(crate) fn begin(&mut self) {
        self.since = Instant::now();
    }

    /// The supervisor reports this process.
    pub(crate) fn add(&mut self, process: Descendant) {
        self.running.push(process);
    }

    /// Whether something is due in a while.
    pub(crate) fn need_time(&self) -> bool {
        !self.running.is_empty() && (!self.is_named || self.wait == Wait::Limited)
    }

    /// Names the processes when it is time to. Returns, once, that the wait is over.
    pub(crate) fn attend(&mut self, is_prompting: bool) -> bool {
        if !self.need_time() {
            return false;
        }
        if is_prompting {
            self.begin();
        } else if self.wait == Wait::No {
            self.name();
        } else if !self.is_named && self.since.elapsed() > PATIENCE {
            self.running = descendants::all();
            self.running.retain(|one| Pid::from_raw(one.pid) != Some(self.supervisor));
            self.name();
        }
        let is_over = self.wait == Wait::Limited && self.since.elapsed() > LIMIT;
        if is_over {
            self.running.clear();
        }
        is_over
    }

    /// Names the processes, once.
    pub(crate) fn name(&mut self) {
        if self.running.is_empty() || std::mem::replace(&mut self.is_named, true) {
            return;
        }
        let name = |one: &Descendant| format!("{} ({})", one.name, one.pid);
        let names = self.running.iter().map(name).collect::<Vec<_>>().join(", ");
        let waiting = "waiting for what the program left running";
        output::note(&match self.wait {
            Wait::No => format!("the program left running, and this was ended: {names}"),
            Wait::Unlimited => format!("{waiting}: {names}; --kill-leftovers ends it"),
            Wait::Limited => {
                let limit = LIMIT.as_secs();
                format!("{waiting}: {names}; it is ended after {limit} s without --wait-leftovers")
            }
        });
    }
}
