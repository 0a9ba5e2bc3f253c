//! The answers to a prompt during a run.

/// A person's answer, or the lack of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This time.
    Once,
    /// From now on, until the run ends.
    Run,
    /// From now on, until the run ends, for all below the directory of the path.
    Below,
    /// From now on. When the run has ended, the policy is changed so that nobody is asked any more.
    Always,
    /// Not this time.
    Skip,
    /// No, from now on.
    No,
    /// No, by a key that interrupts. The call also ends with `EINTR`.
    Interrupt,
    /// Nobody answered: the prompt was withdrawn, or could not be shown. This is not consent.
    Silence,
}
