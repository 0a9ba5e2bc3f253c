//! What stands behind the preload library in a run, as the image says it in one word.

/// See [`Behind::supervisor`].
const SUPERVISED: u32 = 1;
/// See [`Behind::other_programs`].
const BOUNDED: u32 = 2;
/// See [`Behind::scoped`].
const SCOPED: u32 = 4;
/// See [`Behind::reads`].
const READS: u32 = 8;
/// See [`Behind::listings`].
const LISTINGS: u32 = 16;
/// See [`Behind::learns`].
const LEARNS: u32 = 32;
/// See [`Behind::devices`].
const DEVICES: u32 = 64;

/// What stands behind the preload library in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is held")]
pub struct Behind {
    /// A supervisor answers the system calls that the library did not judge, and performs those
    /// that the policy allows and Landlock cannot express.
    pub supervisor: bool,
    /// The whole policy is held for programs that the library cannot be in: they may start.
    pub other_programs: bool,
    /// Landlock leaves servers of abstract names outside of the run out of reach.
    pub scoped: bool,
    /// Landlock lets files be read exactly as the policy does: an open that only reads one, and succeeds, needs no
    /// other judgement.
    pub reads: bool,
    /// The same of an open that lists a directory.
    pub listings: bool,
    /// Somebody learns from what the supervisor sees: it is to see also what the library could answer by itself.
    pub learns: bool,
    /// Nodes of devices are in granted directories: each open has to look for them.
    pub devices: bool,
}

impl Behind {
    /// As the image has it.
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            supervisor: bits & SUPERVISED != 0,
            other_programs: bits & BOUNDED != 0,
            scoped: bits & SCOPED != 0,
            reads: bits & READS != 0,
            listings: bits & LISTINGS != 0,
            learns: bits & LEARNS != 0,
            devices: bits & DEVICES != 0,
        }
    }

    /// For the image.
    #[cfg(feature = "std")]
    pub(crate) fn bits(self) -> u32 {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        flag(self.supervisor, SUPERVISED)
            | flag(self.other_programs, BOUNDED)
            | flag(self.scoped, SCOPED)
            | flag(self.reads, READS)
            | flag(self.listings, LISTINGS)
            | flag(self.learns, LEARNS)
            | flag(self.devices, DEVICES)
    }
}
