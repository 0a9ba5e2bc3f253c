//! The outcome of a run.

use crate::compile::prepared::Prepared;
use crate::record::denials::Denials;
use crate::sys::exit_status::End;

/// A run that has ended: how it ended, its policy, and its denials.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) prepared: Prepared,
    pub(crate) denials: Denials,
}
