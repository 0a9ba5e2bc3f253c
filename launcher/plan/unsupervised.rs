//! Explains why a run has no supervisor. Then nobody judges programs that cannot load the library.

use crate::cli::Enforce;

/// Why a run has no supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsupervised {
    /// The user ordered the library alone.
    Ordered,
    /// It runs inside another run (`docs/decisions/0016`).
    Inside,
    /// The machine lacks something that a supervisor needs.
    Missing,
}

impl Unsupervised {
    /// The reason for a run without a supervisor, given its order and whether it is `inside` another.
    pub(crate) const fn of(enforce: Option<Enforce>, inside: bool) -> Self {
        match enforce {
            _ if inside => Self::Inside,
            Some(Enforce::Cooperative) => Self::Ordered,
            _ => Self::Missing,
        }
    }

    /// How to get prompts.
    pub(crate) const fn way_to_ask(self) -> &'static str {
        match self {
            Self::Ordered => "nobody is asked without a supervisor; allow: --enforce layered",
            Self::Inside => "nobody is asked by a run inside another; run it outside of that",
            Self::Missing => "nobody is asked without a supervisor; see `jp-confine doctor`",
        }
    }

    /// How to get a supervisor.
    pub(crate) const fn way_out(self) -> &'static str {
        match self {
            Self::Ordered => "allow: --enforce layered",
            Self::Inside => "run it outside of the outer run",
            Self::Missing => "see `jp-confine doctor`",
        }
    }
}
