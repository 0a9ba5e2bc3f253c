//! The description of a system call: the types of which the table is made.

use core::ffi::CStr;

use super::effect::Effect;
use crate::capability::Capabilities;

/// The position of an argument.
pub type Arg = u8;

/// One system call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name in section 2 of the manual.
    pub name: &'static CStr,
    /// Its numbers on x86-64 and aarch64. Negative where it does not exist.
    pub numbers: [i16; 2],
    /// The operation that makes it. Older and newer forms of a call share one.
    pub operation: Operation,
    /// The operands that name objects.
    pub operands: [Operand; 2],
    /// The first argument that no operand takes. Positions beyond the last argument stand for zero.
    pub values: Arg,
    /// The permission that it needs.
    pub need: Need,
    /// When the filter handles it, and how.
    pub trap: (When, Trap),
    /// How the filter handles it instead if there are rules about hosts.
    pub hosts: Option<Trap>,
    /// Its effect if no rule can allow it. The report's suggestion depends on it.
    pub effect: Effect,
}

/// What a call does, whatever form its arguments have. The supervisor and the library have a function for each
/// operation that they handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the manual pages")]
pub enum Operation {
    /// No layer has a function for it.
    None,
    Open,
    /// `creat`: open(2) with fixed flags.
    CreateFile,
    OpenHow,
    Execute,
    ChangeDirectory,
    ChangeDirectoryByDescriptor,
    ListDirectory,
    MakeDirectory,
    MakeNode,
    MakeSymlink,
    Unlink,
    RemoveDirectory,
    Link,
    Rename,
    Truncate,
    SetMode,
    SetModeByDescriptor,
    SetOwner,
    SetOwnerByDescriptor,
    /// Times as two `struct timespec`.
    SetTimes,
    /// Times as two `struct timeval`.
    SetTimesInMicroseconds,
    /// Times as `struct utimbuf`.
    SetTimesInSeconds,
    SetAttribute,
    SetAttributeByDescriptor,
    SetAttributeAt,
    GetAttribute,
    GetAttributeAt,
    ListAttributes,
    ListAttributesAt,
    RemoveAttribute,
    RemoveAttributeByDescriptor,
    GetFileFlags,
    SetFileFlags,
    Status,
    ExtendedStatus,
    Access,
    ReadLink,
    FileSystem,
    Watch,
    OpenQueue,
    RemoveQueue,
    MakeSocket,
    Bind,
    Connect,
    Listen,
    Shutdown,
    SendTo,
    SendMessage,
    SendMessages,
    ReceiveFrom,
    ReceiveMessage,
    ReceiveMessages,
    PeerName,
    SetSocketOption,
    /// Changes the process of its operand.
    ChangeProcess,
    JoinGroup,
    SetPriority,
    SetIoPriority,
    CountEvents,
    /// Reaches into the process of its operand.
    ReachProcess,
    TakeDescriptor,
    LeaveNamespaces,
    JoinNamespaces,
    CommandDevice,
}

/// An operand of a call: arguments that together name an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// None.
    None,
    /// The object that a path leads to.
    Object {
        /// The argument with the descriptor that relative paths start at, or [`HERE`].
        dirfd: Arg,
        /// The argument with the path's address.
        path: Arg,
        /// Whether a symlink at the end is followed.
        follow: Follow,
    },
    /// An entry of a directory. A symlink at the end of the path is not followed.
    Entry {
        /// As for an object.
        dirfd: Arg,
        /// As for an object.
        path: Arg,
    },
    /// The object of a descriptor.
    Descriptor(Arg),
    /// The process with a number.
    Process(Arg),
}

/// In place of an argument: paths start at the working directory.
pub const HERE: Arg = Arg::MAX;

/// Whether a symlink at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is.
    Always,
    /// It is not.
    Never,
    /// The flags in this argument tell.
    Flags(Arg),
}

/// The permission that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None, or one that depends on its arguments.
    Varies,
    /// These capabilities on the object.
    Capabilities(Capabilities),
    /// Those of an open with its flags.
    Open,
    /// `execute`, and a rule about programs.
    Execute,
    /// To create the entry.
    Create,
    /// To delete the entry.
    Delete,
    /// To give the object a second name.
    Link,
    /// To move the entry.
    Rename,
    /// Not to be hidden.
    Look,
    /// Rules about hosts and sockets.
    Peer,
    /// A process of the run.
    OwnProcess,
    /// No rule allows it: `EPERM`.
    Refused,
    /// For programs it does not exist: `ENOSYS`.
    Absent,
    /// For programs of a run with a supervisor the feature is turned off: `EOPNOTSUPP`. The supervisor would act
    /// outside of the sandbox that the call builds (`docs/decisions/0027`).
    TurnedOff,
}

/// The runs in which the filter handles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All runs that have a filter.
    Filtered,
    /// All runs that have a supervisor.
    Supervised,
    /// Those in which Landlock does not hold changes exactly.
    Writes,
    /// Those that record which directories are read.
    Contents,
    /// Those without Landlock, which separates the processes outside.
    Processes,
    /// Those of root without the capability for namespaces.
    Namespaces,
    /// Those whose supervisor cannot read hidden memory.
    Hiding,
    /// Those whose crashes must not write files.
    CoreFiles,
    /// Those with rules about hosts.
    Hosts,
}

/// How the filter handles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// It passes.
    Never,
    /// The supervisor judges it unless it carries the cookie.
    Unmarked,
    /// The supervisor judges it, whoever makes it: no cookie counts, or there is no room for one.
    Always,
    /// An open. The flags tell whether the supervisor judges it, unless it carries the cookie. The mode is in the next
    /// argument, see [`Self::ByMode`].
    ByFlags(Arg),
    /// The supervisor judges it unless it carries the cookie. No cookie counts if the mode in this argument has
    /// set-user-ID or set-group-ID bits.
    ByMode(Arg),
    /// With a path in this argument as [`Self::Always`], without one as [`Self::Unmarked`].
    ByPath(Arg),
    /// With an address in this argument as [`Self::Always`]. Without one it passes.
    ByAddress(Arg),
    /// If an address of the length in this argument may belong to a unix socket, as [`Self::Always`]. A longer one as
    /// [`Self::Unmarked`].
    ByLength(Arg),
    /// A send. The flags are in the first of these arguments. The address is in the other, or in memory.
    Send {
        /// The argument with the flags.
        flags: Arg,
        /// The argument with the address.
        address: Option<Arg>,
    },
    /// As [`Self::Always`], unless the number of the process in this argument is zero: that is the caller itself.
    ByProcess(Arg),
    /// As [`Self::ByProcess`], if the first argument, which tells the kind of number, is this. Otherwise as
    /// [`Self::Always`].
    ByKind(u32),
    /// `prlimit64`: as [`Self::ByProcess`] if it sets limits. Also as [`Self::CoreLimit`], if crashes must not create
    /// files.
    Limits,
    /// A call that sets the core limit appears to succeed and does nothing.
    CoreLimit,
    /// Namespaces that need a capability, by the flags in this argument, as [`Self::Always`].
    ByNamespaces(Arg),
    /// Hiding memory from others appears to succeed and does nothing.
    HiddenMemory,
    /// `ioctl`: by its command.
    ByCommand,
    /// `socket`: by its kind.
    BySocket,
    /// `setsockopt`: some options send packets elsewhere first.
    ByOption,
}

impl Call {
    /// Its number on this processor.
    #[must_use]
    pub const fn number(&self) -> Option<i64> {
        let [x86_64, aarch64] = self.numbers;
        let number = if cfg!(target_arch = "aarch64") { aarch64 } else { x86_64 };
        if number < 0 { None } else { Some(number as i64) }
    }

    /// Its name as text.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        match self.name.to_str() {
            Ok(name) => name,
            Err(_) => "unknown",
        }
    }

    /// Whether an operand is a path.
    #[must_use]
    pub const fn takes_path(&self) -> bool {
        let [first, _] = self.operands;
        matches!(first, Operand::Object { .. } | Operand::Entry { .. })
    }
}
