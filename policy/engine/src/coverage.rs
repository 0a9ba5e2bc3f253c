//! The answer of rules about something that is not a file.

/// Whether a rule is about it, and whether that rule allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// A rule allows it.
    Allowed,
    /// A rule is about it and does not allow it.
    Denied,
    /// No rule is about it.
    Uncovered,
}

impl Coverage {
    pub(crate) const fn of(allow: bool) -> Self {
        if allow { Self::Allowed } else { Self::Denied }
    }
}
