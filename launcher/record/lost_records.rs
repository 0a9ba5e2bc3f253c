//! What the record of denials lacks: it does not grow without end, however often a program is refused.

use std::fmt;

/// Why denials are not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The record was full; the supervisor counted those that came afterwards.
    Counted(u64),
    /// The record was full, and nobody counted on.
    Full,
    /// What holds the record has no room left, and nobody counted.
    NoRoom,
    /// Something that is no record was found; what follows it is lost.
    Damaged,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted(1) => f.write_str("1 more denial was not recorded: the record is full"),
            Self::Counted(count) => {
                write!(f, "{count} more denials were not recorded: the record is full")
            }
            Self::Full => f.write_str("the record of denials is full; later ones are not counted"),
            Self::NoRoom => {
                f.write_str("no room is left for the record of denials: some may be lost")
            }
            Self::Damaged => f.write_str("the record of denials is damaged; some are lost"),
        }
    }
}
