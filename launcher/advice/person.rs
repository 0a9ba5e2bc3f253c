//! Who could be asked during a run.

use crate::plan::unsupervised::Unsupervised;
use crate::prompt::terminal::{Terminal, controlling};
use crate::prompt::turns::Turns;

/// Who could be asked during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// Somebody at the terminal.
    Asked,
    /// Nobody was to be, with `--non-interactive`.
    Unwanted,
    /// There was nobody.
    Absent,
    /// Nobody was told of the questions, and why: a supervisor asks them.
    Uninformed(Unsupervised),
}

impl Person {
    /// Who can be asked now by a supervisor, or why there is none.
    pub(crate) fn present(
        turns: &Turns,
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

    /// Who could be asked to the end of the run: where its terminal is gone by then it is not known that anybody
    /// answered there.
    pub(crate) fn to_the_end(self) -> Self {
        if self == Self::Asked && controlling().is_err() { Self::Absent } else { self }
    }
}
