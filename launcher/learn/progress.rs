//! How far learning has come, in the title of the terminal's window: there it is in nobody's way.

use std::time::{Duration, Instant};

use super::record::Uses;
use super::tally;
use crate::report;

/// How often the title changes.
const PERIOD: Duration = Duration::from_millis(200);

/// Terminals that would show a title as text, or not at all.
const WITHOUT_TITLE: [&str; 3] = ["", "dumb", "linux"];

/// A title that may be there.
#[derive(Debug)]
pub(crate) struct Progress {
    on: bool,
    last: Instant,
    shown: Option<String>,
}

impl Progress {
    /// On a terminal alone.
    pub(crate) fn new() -> Self {
        let kind = std::env::var("TERM").unwrap_or_default();
        let on = report::is_terminal() && !WITHOUT_TITLE.contains(&kind.as_str());
        Self { on, last: Instant::now(), shown: None }
    }

    /// Whether it is time for another title, and nobody uses the terminal as a screen.
    pub(crate) fn is_due(&self) -> bool {
        self.on && self.last.elapsed() >= PERIOD && report::has_plain_terminal()
    }

    /// Shows what is known so far.
    pub(crate) fn show(&mut self, uses: &Uses) {
        self.last = Instant::now();
        let (count, programs) = (uses.counts.len(), tally::programs(uses));
        let text = format!("jp-confine learn: {count} uses by {}", tally::named(&programs));
        if self.shown.as_ref() != Some(&text) {
            report::title(Some(&text), self.shown.is_none());
            self.shown = Some(text);
        }
    }

    /// Takes the title away.
    pub(crate) fn clear(&mut self) {
        if self.shown.take().is_some() {
            report::title(None, false);
        }
    }
}
