//! Tells whether a person could be prompted during a run.

use crate::plan::unsupervised::Unsupervised;
use crate::prompt::terminal::{Terminal, controlling};
use crate::prompt::turns::PromptQueue;

/// The person that a run could prompt, or the reason why there was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// A person at the terminal.
    Asked,
    /// Prompts were off, with `--non-interactive`.
    Unwanted,
    /// There was no terminal.
    Absent,
    /// A person would have got no prompts, for this reason: only a supervisor prompts.
    Uninformed(Unsupervised),
}

impl Person {
    /// The person that a supervisor could prompt now, or the reason why there is none.
    pub(crate) fn present(
        turns: &PromptQueue,
        non_interactive: bool,
        unsupervised: Option<Unsupervised>,
    ) -> Self {
        match unsupervised {
            Some(why) => Self::Uninformed(why),
            None if Terminal::is_there(turns, non_interactive) => Self::Asked,
            None if non_interactive => Self::Unwanted,
            None => Self::Absent,
        }
    }

    /// The person at the end of the run. If the terminal is gone by then, nobody is known to have answered there.
    pub(crate) fn to_the_end(self) -> Self {
        if self == Self::Asked && controlling().is_err() { Self::Absent } else { self }
    }
}
