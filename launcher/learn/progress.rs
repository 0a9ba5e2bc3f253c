//! The line on the terminal that says how far learning has come.

use std::time::{Duration, Instant};

use super::record::Uses;
use super::tally;
use crate::report;

/// How often the line changes.
const PERIOD: Duration = Duration::from_millis(200);

/// A line that may be there.
#[derive(Debug)]
pub(crate) struct Progress {
    on: bool,
    last: Option<Instant>,
    shown: String,
}

impl Progress {
    /// On a terminal alone.
    pub(crate) fn new() -> Self {
        Self { on: report::is_terminal(), last: None, shown: String::new() }
    }

    /// Whether it is time for another line.
    pub(crate) fn is_due(&self) -> bool {
        self.on && self.last.is_none_or(|last| last.elapsed() >= PERIOD)
    }

    /// Shows what is known so far.
    pub(crate) fn show(&mut self, uses: &Uses) {
        self.last = Some(Instant::now());
        let (count, programs) = (uses.counts.len(), tally::programs(uses));
        let line = format!("learning: {count} uses by {}", tally::named(&programs));
        if line != self.shown {
            report::status(&line);
            self.shown = line;
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.last.take().is_some() {
            report::status("");
        }
    }
}
