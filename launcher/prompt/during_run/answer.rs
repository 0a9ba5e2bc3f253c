//! The answers to a prompt during a run.

/// A person's answer, or the lack of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This time.
    Once,
    /// From now on, until the run ends.
    Run,
    /// No, from now on.
    No,
    /// No, by a key that interrupts. The call also ends with `EINTR`.
    Interrupt,
    /// Nobody answered: the prompt was withdrawn, or could not be shown. This is not consent.
    Silence,
}
