//! The parts of `access` that take more rules when something was refused.

/// Which rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Files,
    Hosts,
    Variables,
    Programs,
}

impl Part {
    /// Its key in `access`.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Files => "fs",
            Self::Hosts => "net",
            Self::Variables => "env",
            Self::Programs => "commands",
        }
    }

    /// The tables that it may be in: programs have a place in what JP had before `access`, too.
    pub(crate) const fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Files | Self::Hosts | Self::Variables => &["access"],
            Self::Programs => &["access", "sandbox"],
        }
    }

    /// Whether it is a list, which may say how it merges; else a table, in which each rule has a key of its own.
    pub(crate) const fn is_list(self) -> bool {
        !matches!(self, Self::Programs)
    }
}
