//! Asks a person at the terminal.

pub(crate) mod choices;
pub(crate) mod confirmation_word;
pub(crate) mod during_run;
pub(crate) mod line_mode;
pub(crate) mod reader;
pub(crate) mod terminal;
mod terminal_reports;
pub(crate) mod turns;
pub(crate) mod visibility;
