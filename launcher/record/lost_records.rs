//! Says which denials are missing from the record. Its size is limited, however often a program is denied.

use std::fmt;

/// Why denials are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostRecords {
    /// The record was full. The supervisor counted the later denials.
    Counted(u64),
    /// The record was full, and later denials were not counted.
    Full,
    /// The file system of the record has no room left, and denials were not counted.
    NoRoom,
    /// Damaged bytes were found. Everything after them is lost.
    Damaged,
}

impl fmt::Display for LostRecords {
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
