//! For how long advice is worked out after a run. Used by `run` and the advisor: who waits for a prompt of the shell's is
//! not to wait for the last suggestion, and ^C ends that, too.

use std::time::{Duration, Instant};

use crate::sys::signals::{ENDING, Signals};

/// For so long advice is worked out; a run with a few denials takes a hundredth of it.
const LIMIT: Duration = Duration::from_secs(8);

/// Why nothing is advised then.
pub(crate) const SPENT: &str = "not worked out, since there were too many denials";

/// The time since the run has ended.
#[derive(Debug)]
pub(crate) struct Effort {
    until: Instant,
    ending: Signals,
}

impl Effort {
    /// Begins now.
    pub(crate) fn begin() -> Self {
        Self { until: Instant::now() + LIMIT, ending: Signals::of(&ENDING) }
    }

    /// Whether the time is over, or somebody said so by a signal, which waits to be fetched.
    pub(crate) fn is_spent(&self) -> bool {
        Instant::now() > self.until || self.ending.is_any_waiting()
    }
}
