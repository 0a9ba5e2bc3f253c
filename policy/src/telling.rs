//! How the preload library tells the supervisor what it refused by itself, or asks it what a person says.

use core::ffi::CStr;

use crate::decide::Denial;
use crate::tier::Restraint;

/// The number of a system call that no kernel has, between the newest of them and those of x32. The
/// filter hands it to the supervisor, and where there is none it fails, as if it were not known.
///
/// Its arguments are the address and the number of the vectors, as of `writev(2)`, that hold one record
/// of a denial. So the record of a run need not be writable from inside.
pub const CALL: i64 = 0x3fff_0000;

/// How many vectors there are: the fixed part, path, route, the other path of a pair, program and call.
pub const VECTORS: usize = 6;

/// The size in bytes beyond which nothing is added to the record of a run's denials, by nobody.
pub const FULL: u64 = 64 << 20;

/// The number of the reason that no rule about programs lets one start with its arguments.
pub const COMMAND: u16 = 32;

/// The number of the reason that no run sets such bits in a mode, nor such an attribute ([`crate::set_id`]).
pub const SET_ID: u16 = 33;

/// So much is told of the words that a program was to be started with: in place of the route, each with
/// a NUL behind it. The last is cut where it has none.
pub const LINE: usize = 512;

/// What a rename is called in a record by which two entries were to change places.
pub const EXCHANGE: &CStr = c"renameat2 RENAME_EXCHANGE";

/// What a rename is called in a record upon which the program may copy (`EXDEV`).
pub const COPIED: &CStr = c"rename EXDEV";

/// What an open is called in a record that was to make a file of a name that nothing has, and nothing else.
pub const EXCLUSIVE: &CStr = c"open O_EXCL";

/// The same where the file is to be its owner's alone, to read and to write: most names of such are drawn.
pub const PRIVATE: &CStr = c"open O_EXCL 0600";

/// What an open is called that is to make a new file and nothing else.
#[must_use]
pub const fn exclusive(is_for_both: bool, mode: u32) -> &'static CStr {
    if is_for_both && mode & 0o7777 == 0o600 { PRIVATE } else { EXCLUSIVE }
}

/// What a mkdir is called in a record by which the directory was to be its owner's alone.
pub const PRIVATE_DIRECTORY: &CStr = c"mkdir 0700";

/// Whether a directory of this mode is its owner's alone.
#[must_use]
pub const fn is_private_directory(mode: u32) -> bool {
    mode & 0o7777 == 0o700
}

/// What is between a call and what it would change in a configuration of git, in a record.
#[cfg(feature = "std")]
const CHANGING: &str = ", changing ";

/// What a call is called in a record by which a configuration of git was to come to be, that changes these variables.
#[cfg(feature = "std")]
#[must_use]
pub fn changing(call: &str, variables: &str) -> std::string::String {
    if variables.is_empty() { call.into() } else { std::format!("{call}{CHANGING}{variables}") }
}

/// The variables that a call in a record was to change, if it was.
#[cfg(feature = "std")]
#[must_use]
pub fn changed(call: &str) -> Option<&str> {
    call.split_once(CHANGING).map(|(_, variables)| variables)
}

/// What the call returns where the record was a question and a person consented; else it is zero.
pub const CONSENT: u32 = 1;

/// The same where a person interrupted the program at the question, by a key: the call ends by that.
pub const INTERRUPTED: u32 = 2;

/// What a record says in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No rule decided.
    pub const RULELESS: Self = Self(4);
    /// The name was made to look absent.
    pub const HIDDEN: Self = Self(1);
    /// It is about the second path of a rename or link.
    pub const SECOND: Self = Self(2);
    /// The supervisor refused.
    pub const BY_SUPERVISOR: Self = Self(8);
    /// Nothing is refused yet: a person is to be asked.
    pub const QUESTION: Self = Self(16);
    /// Where the number of the [`Restraint`] begins.
    const RESTRAINT: u32 = 5;

    /// What a denial says.
    #[must_use]
    pub fn of(denial: &Denial) -> Self {
        let flag = |set: bool, flag: Self| if set { flag.0 } else { 0 };
        let flags = flag(denial.hidden, Self::HIDDEN)
            | flag(denial.second, Self::SECOND)
            | flag(denial.ask, Self::QUESTION);
        Self(flags).with_restraint(denial.restraint)
    }

    /// Flags as read.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Flags as written.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// These and those.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With what withholds the grant of a rule.
    #[must_use]
    pub const fn with_restraint(self, restraint: Option<Restraint>) -> Self {
        match restraint {
            Some(restraint) => Self(self.0 | (restraint as u8) << Self::RESTRAINT),
            None => self,
        }
    }

    /// What withholds the grant of a rule.
    #[must_use]
    pub const fn restraint(self) -> Option<Restraint> {
        Restraint::of_number(self.0 >> Self::RESTRAINT)
    }
}
