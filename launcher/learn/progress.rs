//! Shows the progress of learning in the window title, where it disturbs no output.

use std::time::{Duration, Instant};

use super::usage_counts;
use crate::output::Screen;
use crate::record::usage::Uses;

/// Interval between updates of the display.
const PERIOD: Duration = Duration::from_millis(200);

/// The display of the progress.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Option<Screen>,
    last: Instant,
    shown: Option<String>,
}

impl Progress {
    /// Finds the terminal of the person who watches, if there is one.
    pub(crate) fn new() -> Self {
        let kind = std::env::var("TERM").unwrap_or_default();
        Self { screen: Screen::find(&kind), last: Instant::now(), shown: None }
    }

    /// Whether an update is due, and no program uses the terminal as a screen.
    pub(crate) fn is_due(&self) -> bool {
        self.last.elapsed() >= PERIOD && self.screen.as_ref().is_some_and(Screen::is_free)
    }

    /// Shows the uses known so far.
    pub(crate) fn show(&mut self, uses: &Uses) {
        self.last = Instant::now();
        let (count, by) = (uses.counts.len(), usage_counts::by_all(uses));
        // The number of occurrences is reported at the end.
        let text = format!("jp-confine learn: {count} different uses{by}");
        if let Some(screen) = &self.screen
            && self.shown.as_ref() != Some(&text)
        {
            screen.show(&text, self.shown.is_none());
            self.shown = Some(text);
        }
    }

    /// Removes the display.
    pub(crate) fn clear(&mut self) {
        if let (Some(screen), Some(_)) = (&self.screen, self.shown.take()) {
            screen.clear();
        }
    }
}
