//! Counts the trapped calls of each program, to show what they cost.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Calls of one kind by one program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count {
    /// How often.
    pub(crate) times: u64,
    /// The call.
    pub(crate) call: &'static str,
    /// The program's path.
    pub(crate) program: Vec<u8>,
}

/// The counts of all programs.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<BTreeMap<(Vec<u8>, &'static str), u64>>);

impl Counts {
    /// Counts one call.
    pub(crate) fn add(&self, program: Vec<u8>, call: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((program, call)).or_default() += 1;
    }

    /// All counts, the most frequent first.
    pub(crate) fn sorted(&self) -> Vec<Count> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Count> = counts
            .iter()
            .map(|((program, call), &times)| Count { times, call, program: program.clone() })
            .collect();
        all.sort_by(|a, b| b.cmp(a));
        all
    }
}
