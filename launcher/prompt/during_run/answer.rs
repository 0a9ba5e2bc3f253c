//! The answers to a prompt during a run.

/// What a person said, or nobody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This time.
    Once,
    /// From now on, until the run ends.
    Run,
    /// No, from now on.
    No,
    /// The same, by a key that interrupts: so does the call end.
    Interrupt,
    /// Nobody answered, which is no consent: the question was withdrawn, or could not be put.
    Silence,
}
