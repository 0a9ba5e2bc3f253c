//! The layers that back up the preload library in a run. The image stores them in one word.

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
/// See [`Behind::bounds`].
const BOUNDS: u32 = 128;
/// See [`Behind::offline`].
const OFFLINE: u32 = 256;
/// See [`Behind::rejudges`].
const REJUDGES: u32 = 512;

/// The layers that back up the preload library in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is held")]
pub struct Behind {
    /// A supervisor answers the system calls that the library did not judge. It performs those that the policy allows
    /// and Landlock cannot express.
    pub supervisor: bool,
    /// The whole policy is enforced for programs that the library cannot enter, so they may start.
    pub other_programs: bool,
    /// Landlock puts servers of abstract names outside the run out of reach.
    pub scoped: bool,
    /// Landlock allows reading files exactly as the policy does. An open that only reads one, and succeeds, needs no
    /// other check.
    pub reads: bool,
    /// As `reads`, for an open that lists a directory.
    pub listings: bool,
    /// Somebody learns from the supervisor's records, so it must also see calls that the library could answer itself.
    pub learns: bool,
    /// Granted directories contain device nodes, so each open has to check for them.
    pub devices: bool,
    /// Landlock bounds the run.
    pub bounds: bool,
    /// The run has no network: it may only create local sockets.
    pub offline: bool,
    /// The supervisor judges again what the library judged.
    pub rejudges: bool,
}

impl Behind {
    /// From the form in the image.
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            supervisor: bits & SUPERVISED != 0,
            other_programs: bits & BOUNDED != 0,
            scoped: bits & SCOPED != 0,
            reads: bits & READS != 0,
            listings: bits & LISTINGS != 0,
            learns: bits & LEARNS != 0,
            devices: bits & DEVICES != 0,
            bounds: bits & BOUNDS != 0,
            offline: bits & OFFLINE != 0,
            rejudges: bits & REJUDGES != 0,
        }
    }

    /// The form in the image.
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
            | flag(self.bounds, BOUNDS)
            | flag(self.offline, OFFLINE)
            | flag(self.rejudges, REJUDGES)
    }
}
