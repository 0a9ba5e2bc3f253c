//! Names the parts of `access` to which suggestions add rules.

/// A part of `access`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessSection {
    Files,
    Hosts,
    Variables,
    Programs,
}

impl AccessSection {
    /// Its key in `access`.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Files => "fs",
            Self::Hosts => "net",
            Self::Variables => "env",
            Self::Programs => "commands",
        }
    }

    /// The tables that it may be in. Programs may also be in `sandbox`, JP's older form of `access`.
    pub(crate) const fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Files | Self::Hosts | Self::Variables => &["access"],
            Self::Programs => &["access", "sandbox"],
        }
    }

    /// Whether it is a list, which may have a merge strategy. Otherwise it is a table with a key for each rule.
    pub(crate) const fn is_list(self) -> bool {
        !matches!(self, Self::Programs)
    }
}
