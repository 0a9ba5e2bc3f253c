//! Runs without a supervisor: nobody judges what programs do that the library cannot be in.

use crate::cli::Enforce;

/// Why a run has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsupervised {
    /// The library alone was ordered.
    Ordered,
    /// There is a run around this one (`docs/decisions/0016`).
    Inside,
    /// The machine lacks what one needs.
    Missing,
}

impl Unsupervised {
    /// Why a run has none, if it has none, that is ordered to be held so and may be `inside` another.
    pub(crate) const fn of(enforce: Option<Enforce>, inside: bool) -> Self {
        match enforce {
            _ if inside => Self::Inside,
            Some(Enforce::Cooperative) => Self::Ordered,
            _ => Self::Missing,
        }
    }

    /// The way to a question.
    pub(crate) const fn way_to_ask(self) -> &'static str {
        match self {
            Self::Ordered => "nobody is asked without a supervisor; allow: --enforce layered",
            Self::Inside => "nobody is asked by a run inside another; run it outside of that",
            Self::Missing => "nobody is asked without a supervisor; see `jp-confine doctor`",
        }
    }

    /// The way to a supervisor.
    pub(crate) const fn way_out(self) -> &'static str {
        match self {
            Self::Ordered => "allow: --enforce layered",
            Self::Inside => "run it outside of the outer run",
            Self::Missing => "see `jp-confine doctor`",
        }
    }
}
