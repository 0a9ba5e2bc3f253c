//! Limits the time for working out suggestions after a run, so that the shell's prompt comes back soon. ^C ends it,
//! too. Used by `run` and `advice`.

use std::time::{Duration, Instant};

use crate::sys::signals::{ENDING, Signals};

/// Longest time for suggestions. A run with a few denials takes some milliseconds.
const LIMIT: Duration = Duration::from_millis(300);

/// Replaces a suggestion when the time is over.
pub(crate) const SPENT: &str = "not worked out, since there were too many denials";

/// The time limit of one report.
#[derive(Debug)]
pub(crate) struct Effort {
    until: Instant,
    ending: Signals,
}

impl Effort {
    /// Starts the time now.
    pub(crate) fn begin() -> Self {
        Self { until: Instant::now() + LIMIT, ending: Signals::of(&ENDING) }
    }

    /// Whether the time is over, or a signal asks to end. The signal stays pending.
    pub(crate) fn is_spent(&self) -> bool {
        Instant::now() > self.until || self.ending.is_any_waiting()
    }
}
