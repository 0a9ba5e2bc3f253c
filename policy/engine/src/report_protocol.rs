//! The protocol by which the preload library reports its own denials to the supervisor, or requests a prompt.

use core::ffi::CStr;

use crate::tier::Restraint;
use crate::verdict::Denial;

/// The number of a system call that no kernel has, between the newest of them and those of x32. The filter passes it to
/// the supervisor. Without a supervisor it fails like an unknown call.
///
/// Its arguments are the address and the number of the vectors, as for `writev(2)`, that contain one record of a
/// denial. So the record of a run need not be writable from inside.
pub const REPORT_SYSCALL: i64 = 0x3fff_0000;

/// With this instead of vectors' number, and no address, the call requests a descriptor of the outermost run's image. A
/// program without the library may have closed it before it started the caller.
pub const IMAGE_REQUEST: u32 = 0x696d_6167;

/// The number of vectors: the fixed part, path, route, the other path of a pair, program and call.
pub const VECTORS: usize = 6;

/// Largest size in bytes of the record of a run's denials. Nothing is added to a full record.
pub const MAX_RECORD_BYTES: u64 = 64 << 20;

/// The reason number for a program whose arguments no rule allows.
pub const COMMAND: u16 = 32;

/// The reason number for bits in a mode, or an attribute, that no run sets ([`crate::set_id`]).
pub const SET_ID: u16 = 33;

/// Most bytes recorded of the words that a program was started with. They replace the route, and each ends with a NUL.
/// The last word is cut if it has none.
pub const MAX_COMMAND_LINE: usize = 512;

/// The name in a record of a rename that exchanges two entries.
pub const EXCHANGE: &CStr = c"renameat2 RENAME_EXCHANGE";

/// The name in a record of a rename after which the program may copy (`EXDEV`).
pub const COPIED: &CStr = c"rename EXDEV";

/// The name in a record of an open that only creates a new file.
pub const EXCLUSIVE: &CStr = c"open O_EXCL";

/// As [`EXCLUSIVE`], for a file that only its owner may read and write. Most names of such files are random.
pub const PRIVATE: &CStr = c"open O_EXCL 0600";

/// The name of an open that only creates a new file.
#[must_use]
pub const fn exclusive(is_for_both: bool, mode: u32) -> &'static CStr {
    if is_for_both && mode & 0o7777 == 0o600 { PRIVATE } else { EXCLUSIVE }
}

/// The name in a record of a mkdir for a directory that only its owner may use.
pub const PRIVATE_DIRECTORY: &CStr = c"mkdir 0700";

/// Whether this mode gives a directory to its owner alone.
#[must_use]
pub const fn is_private_directory(mode: u32) -> bool {
    mode & 0o7777 == 0o700
}

/// Separates a call from the variables of a git configuration that it would change, in a record.
#[cfg(feature = "std")]
const CHANGING: &str = ", changing ";

/// The name in a record of a call that writes a configuration of git and changes these variables.
#[cfg(feature = "std")]
#[must_use]
pub fn changing(call: &str, variables: &str) -> std::string::String {
    if variables.is_empty() { call.into() } else { std::format!("{call}{CHANGING}{variables}") }
}

/// The variables that a call in a record would change, if any.
#[cfg(feature = "std")]
#[must_use]
pub fn changed(call: &str) -> Option<&str> {
    call.split_once(CHANGING).map(|(_, variables)| variables)
}

/// The call's return value if the record requested a prompt and the person consented. Otherwise it returns zero.
pub const CONSENT: u32 = 1;

/// The same if the person interrupted the program at the prompt with a key. The interruption then ends the call.
pub const INTERRUPTED: u32 = 2;

/// The facts that a record stores in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No rule decided.
    pub const RULELESS: Self = Self(4);
    /// The name was made to look absent.
    pub const HIDDEN: Self = Self(1);
    /// The denial is about the second path of a rename or link.
    pub const SECOND: Self = Self(2);
    /// The supervisor denied the call.
    pub const BY_SUPERVISOR: Self = Self(8);
    /// The call is not denied yet: the record requests a prompt.
    pub const QUESTION: Self = Self(16);
    /// The first bit of the number of the [`Restraint`].
    const RESTRAINT: u32 = 5;

    /// The flags of a denial.
    #[must_use]
    pub fn of(denial: &Denial) -> Self {
        let flag = |set: bool, flag: Self| if set { flag.0 } else { 0 };
        let flags = flag(denial.hidden, Self::HIDDEN)
            | flag(denial.second, Self::SECOND)
            | flag(denial.ask, Self::QUESTION);
        Self(flags).with_restraint(denial.restraint)
    }

    /// Flags from their stored form.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The stored form.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the restraint that withholds the grant of a rule.
    #[must_use]
    pub const fn with_restraint(self, restraint: Option<Restraint>) -> Self {
        match restraint {
            Some(restraint) => Self(self.0 | (restraint as u8) << Self::RESTRAINT),
            None => self,
        }
    }

    /// The restraint that withholds the grant of a rule.
    #[must_use]
    pub const fn restraint(self) -> Option<Restraint> {
        Restraint::of_number(self.0 >> Self::RESTRAINT)
    }
}
