//! How far learning has come, shown where it is in nobody's way.

use std::time::{Duration, Instant};

use super::usage_counts;
use crate::output::Screen;
use crate::record::usage::Uses;

/// How often what is shown changes.
const PERIOD: Duration = Duration::from_millis(200);

/// What may be shown.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Option<Screen>,
    last: Instant,
    shown: Option<String>,
}

impl Progress {
    /// To whoever watches, if anybody does.
    pub(crate) fn new() -> Self {
        let kind = std::env::var("TERM").unwrap_or_default();
        Self { screen: Screen::find(&kind), last: Instant::now(), shown: None }
    }

    /// Whether it is time for more, and nobody uses the terminal as a screen.
    pub(crate) fn is_due(&self) -> bool {
        self.last.elapsed() >= PERIOD && self.screen.as_ref().is_some_and(Screen::is_free)
    }

    /// Shows what is known so far.
    pub(crate) fn show(&mut self, uses: &Uses) {
        self.last = Instant::now();
        let (count, by) = (uses.counts.len(), usage_counts::by_all(uses));
        // How often each occurred is told in the end.
        let text = format!("jp-confine learn: {count} different uses{by}");
        if let Some(screen) = &self.screen
            && self.shown.as_ref() != Some(&text)
        {
            screen.show(&text, self.shown.is_none());
            self.shown = Some(text);
        }
    }

    /// Takes it away.
    pub(crate) fn clear(&mut self) {
        if let (Some(screen), Some(_)) = (&self.screen, self.shown.take()) {
            screen.clear();
        }
    }
}
