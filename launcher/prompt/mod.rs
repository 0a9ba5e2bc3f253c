//! Asks a person at the terminal.

pub(crate) mod confirmation_word;
pub(crate) mod during_run;
pub(crate) mod line_mode;
pub(crate) mod reader;
pub(crate) mod reply;
pub(crate) mod terminal;
pub(crate) mod turns;
pub(crate) mod visibility;
