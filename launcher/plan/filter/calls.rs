//! Which system calls the filter has something to say about, and what.
//!
//! A call that is not here, and not newer than the last one known, passes.

use libc::{c_int, c_long};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It fails with this errno, whoever makes it.
    Refuse(c_int),
    /// The supervisor judges it, if it lacks the cookie.
    Trap,
    /// The supervisor judges it: no cookie counts, or there is no room for one.
    TrapAlways,
    /// An open, whose flags are the argument of this number, and whose mode is the next.
    Open { flags: u32 },
    /// What makes a file of the mode in this argument: no cookie counts where that has set-user-ID or set-group-ID bits.
    Make { mode: u32 },
    /// `ioctl`: some commands are refused. A supervisor is `told` of typing for the user, which it refuses, and of
    /// what has to wait for questions.
    Control { told: bool },
    /// `socket` where all may be made, but for those by which root would speak for the kernel.
    EventSocket { told: bool },
    /// `socket`, where only local ones may be made; if others are `told` of, the supervisor refuses them.
    LocalSocket { told: bool },
    /// `socket`, where only such may be made whose addresses can be judged.
    Socket,
    /// Sending where the network is judged: the flags are the argument of the one number, the address is
    /// that of the other, or in memory.
    Send { flags: u32, address: Option<u32> },
    /// With an address in this argument the supervisor judges it, and no cookie counts.
    Addressed { address: u32 },
    /// With a path in this argument the same; without one a cookie counts.
    Times { path: u32 },
    /// With an address of this length, which may be of a unix socket, the same; with a longer one a cookie counts.
    Connect { length: u32 },
    /// What is done to the process whose number is this argument: the supervisor judges it, unless that is
    /// zero, which is the caller's own.
    Process { number: u32 },
    /// `prlimit64`: the same, where there are limits to set; and as [`Self::Cores`], if there are any to hold.
    Limits { cores: bool },
    /// `setrlimit`, where no files are to be made of crashes: it is told that it sets the limit of those.
    Cores,
    /// `setpriority`, `ioprio_set`: the first argument tells what the second is the number of, `one` being a
    /// process.
    Priority { one: u32 },
    /// `unshare`, `setns`: which namespaces are meant is this argument. The supervisor tells of those that take
    /// a capability.
    Namespaces { flags: u32 },
    /// `prctl`, where the supervisor cannot look into a process that hides its memory: it is told that it does.
    Hiding,
    /// `setsockopt` where the network is judged: some options make packets go elsewhere first.
    SocketOption,
}

// Calls that `libc` has no name for yet. Their numbers are the same on every architecture.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_GETXATTRAT: c_long = 464;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

/// Of `linux/resource.h`: the number that the call gets is that of a process.
pub(crate) const PRIO_PROCESS: u32 = 0;
/// The same of `linux/ioprio.h`.
pub(crate) const IOPRIO_WHO_PROCESS: u32 = 1;

/// The last call that these tables were checked against (Linux 6.18). A newer one may take a path,
/// so it does not exist yet as far as confined programs are told.
pub(super) const LAST_KNOWN: c_long = 469;

/// What does not exist as far as programs are told: they fall back to ordinary calls, which can be seen. A ring
/// may have been handed over. Keys are a user's: what others of the user's programs keep there has no path.
pub(super) const ABSENT: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// By which a program makes a sandbox for itself. What the supervisor does for it would be done outside of
/// that, so it is told that there is none (`docs/decisions/0027`).
pub(super) const LANDLOCK: &[c_long] = &[
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Opens whose flags are in a register, and which argument they are.
pub(super) const OPENS: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// What no Landlock right stands for: metadata by path, sockets by path, watching, message queues. The supervisor
/// judges it, whoever calls: the library's word is for what its descriptor was of, in whose place another thread may
/// have put something else by then, and nothing behind it would hold.
pub(super) const BEYOND_LANDLOCK: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    SYS_SETXATTRAT,
    SYS_GETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// The same of `connect`, whose address has its length in this argument. Where that is longer than any of a unix socket a
/// cookie counts.
pub(super) const CONNECTING: (c_long, Fate) = (libc::SYS_connect, Fate::Connect { length: 2 });

/// The same of what is open, which Landlock let the run open; to read attributes; and `openat2`, whose flags are in
/// memory. The library's word counts.
pub(super) const OF_WHAT_IS_OPEN: &[c_long] =
    &[libc::SYS_openat2, libc::SYS_getxattr, libc::SYS_lgetxattr];

/// `utimensat` is either: without the path in this argument it is of what is open.
pub(super) const TIMES: (c_long, Fate) = (libc::SYS_utimensat, Fate::Times { path: 1 });

/// What reads the entries of a directory.
pub(super) const CONTENTS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    libc::SYS_getdents64,
];

/// What changes entries and contents, apart from the opens.
pub(super) const WRITES: &[c_long] = &[
    libc::SYS_truncate,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    libc::SYS_linkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_bind,
];

/// Those of them that take the mode of a file, in this argument; that of a directory has no such bits (`mkdir(2)`).
pub(super) const MAKES: &[(c_long, Fate)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, Fate::Make { mode: 1 }),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, Fate::Make { mode: 1 }),
    (libc::SYS_mknodat, Fate::Make { mode: 2 }),
];

/// What may send to a path.
pub(super) const MESSAGES: &[(c_long, Fate)] = &[
    (libc::SYS_sendto, Fate::Addressed { address: 4 }),
    (libc::SYS_sendmsg, Fate::Trap),
    (libc::SYS_sendmmsg, Fate::Trap),
];

/// What leads to hosts, or lets hosts in: judged wherever the network is, whoever calls. That the library
/// has seen a call says nothing of its address.
pub(super) const NETWORK: &[(c_long, Fate)] = &[
    (libc::SYS_connect, Fate::TrapAlways),
    (libc::SYS_bind, Fate::TrapAlways),
    (libc::SYS_listen, Fate::TrapAlways),
    (libc::SYS_shutdown, Fate::TrapAlways),
    (libc::SYS_sendto, Fate::Send { flags: 3, address: Some(4) }),
    (libc::SYS_sendmsg, Fate::Send { flags: 2, address: None }),
    (libc::SYS_sendmmsg, Fate::Send { flags: 3, address: None }),
    (libc::SYS_recvfrom, Fate::Addressed { address: 4 }),
    (libc::SYS_recvmsg, Fate::TrapAlways),
    (libc::SYS_recvmmsg, Fate::TrapAlways),
    (libc::SYS_getpeername, Fate::TrapAlways),
    (libc::SYS_setsockopt, Fate::SocketOption),
];

/// Options, with their levels, by which packets are sent to an address of the program's own first
/// (`ip(7)`, RFC 3542).
pub(super) const ROUTING_OPTIONS: &[(c_int, c_int)] = &[
    (libc::IPPROTO_IP, libc::IP_OPTIONS),
    (libc::IPPROTO_IP, 51), // IP_LOCAL_PORT_RANGE chooses the kernel's choice of a port.
    (libc::IPPROTO_IPV6, libc::IPV6_RTHDR),
    (libc::IPPROTO_IPV6, 5),                        // IPV6_2292RTHDR
    (libc::IPPROTO_IPV6, 6),                        // IPV6_2292PKTOPTIONS
    (libc::IPPROTO_IPV6, libc::IPV6_FLOWLABEL_MGR), // A label may have a route.
    // Or leave by a device of the program's choice, and let two sockets listen at one port.
    (libc::SOL_SOCKET, libc::SO_BINDTODEVICE),
    (libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX),
];

/// The option by which sockets share a port; the supervisor sets it.
pub(super) const SHARING_OPTION: (c_int, c_int) = (libc::SOL_SOCKET, libc::SO_REUSEPORT);

/// What reaches into other processes, by their numbers or by handles. Landlock leaves only those of the run
/// within reach; without it they are refused, `EPERM`, by the supervisor.
pub(super) const PROCESSES: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
];

/// Whom a terminal's signals reach, who runs first, and on which processor, and what is counted of that.
pub(super) const SCHEDULING: &[(c_long, Fate)] = &[
    (libc::SYS_setpgid, Fate::Process { number: 1 }),
    (libc::SYS_setpriority, Fate::Priority { one: PRIO_PROCESS }),
    (libc::SYS_ioprio_set, Fate::Priority { one: IOPRIO_WHO_PROCESS }),
    (libc::SYS_sched_setaffinity, Fate::Process { number: 0 }),
    (libc::SYS_sched_setattr, Fate::Process { number: 0 }),
    (libc::SYS_sched_setparam, Fate::Process { number: 0 }),
    (libc::SYS_sched_setscheduler, Fate::Process { number: 0 }),
    // Of all processes at once nothing but a setting of the machine's tells whether it may be counted.
    (libc::SYS_perf_event_open, Fate::TrapAlways),
];

/// What else is done to the memory of processes, where Landlock does not keep those outside apart.
pub(super) const PAGES: &[(c_long, Fate)] = &[
    (libc::SYS_migrate_pages, Fate::Process { number: 0 }),
    (libc::SYS_move_pages, Fate::Process { number: 0 }),
];

/// What makes namespaces, or goes into them.
pub(super) const NAMESPACES: &[(c_long, Fate)] = &[
    (libc::SYS_unshare, Fate::Namespaces { flags: 0 }),
    (libc::SYS_setns, Fate::Namespaces { flags: 1 }),
];

/// The kinds of namespaces that take `CAP_SYS_ADMIN`, but for those that come with a user namespace.
pub(super) const PRIVILEGED_NAMESPACES: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | CLONE_NEWTIME;
const CLONE_NEWTIME: c_int = 0x80;

/// What starts programs.
pub(super) const EXECUTES: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Typing into a terminal, and selecting and pasting on a console, in the user's name; and what makes something else
/// of it, that nobody can type into.
pub(super) const TERMINAL_COMMANDS: &[u32] = &[
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS: has what the kernel says on its console said here
    0x5423, // TIOCSETD
    0x5437, // TIOCVHANGUP
    0x5457, // TIOCSLCKTRMIOS, for root: nobody sets its modes any more
];

/// The commands of consoles (`ioctl_console(2)`): the first and the last number of those that begin with `KD`, and of
/// those that begin with `VT_`; and which of them only tell of the console, or wait. The others are refused. A new keymap
/// types for the user, and so does a new font with what is on the screen.
pub(super) const CONSOLES: [(u32, u32, &[u32]); 2] = [
    (
        0x4b00,
        0x4bff,
        &[
            0x4b31, // KDGETLED
            0x4b33, // KDGKBTYPE
            0x4b3b, // KDGETMODE
            0x4b40, // GIO_SCRNMAP
            0x4b44, // KDGKBMODE
            0x4b46, // KDGKBENT
            0x4b48, // KDGKBSENT
            0x4b4a, // KDGKBDIACR
            0x4b4c, // KDGETKEYCODE
            0x4b60, // GIO_FONT
            0x4b62, // KDGKBMETA
            0x4b64, // KDGKBLED
            0x4b66, // GIO_UNIMAP
            0x4b69, // GIO_UNISCRNMAP
            0x4b6b, // GIO_FONTX
            0x4b70, // GIO_CMAP
            0x4bfa, // KDGKBDIACRUC
        ],
    ),
    (
        0x5600,
        0x560f,
        &[
            0x5600, // VT_OPENQRY
            0x5601, // VT_GETMODE
            0x5603, // VT_GETSTATE
            0x5607, // VT_WAITACTIVE
            0x560d, // VT_GETHIFONTMASK
            0x560e, // VT_WAITEVENT
        ],
    ),
];

/// Whether a command of terminals is refused, whoever gives it.
pub(crate) fn is_refused_of_terminals(command: u32) -> bool {
    let of_console = |&(first, last, told): &(u32, u32, &[u32])| {
        (first..=last).contains(&command) && !told.contains(&command)
    };
    TERMINAL_COMMANDS.contains(&command) || CONSOLES.iter().any(of_console)
}

/// Protocols of netlink by which the kernel tells of devices, and takes word of them, and tells of all processes
/// (`linux/netlink.h`). The kernel lets root speak there for itself.
pub(super) const EVENT_PROTOCOLS: [c_int; 2] =
    [libc::NETLINK_KOBJECT_UEVENT, libc::NETLINK_CONNECTOR];

/// By which a terminal gets another foreground or other modes, loses what was typed or does not show what is written:
/// not while a question stands there. And by which it is said to have another size than the screen has: not of a terminal
/// where questions are put.
pub(super) const TERMINAL_CHANGES: &[u32] = &[
    0x5402,      // TCSETS
    0x5403,      // TCSETSW
    0x5404,      // TCSETSF
    0x5406,      // TCSETA
    0x5407,      // TCSETAW
    0x5408,      // TCSETAF
    0x540a,      // TCXONC
    0x540b,      // TCFLSH
    0x5410,      // TIOCSPGRP
    0x5414,      // TIOCSWINSZ
    0x402c_542b, // TCSETS2
    0x402c_542c, // TCSETSW2
    0x402c_542d, // TCSETSF2
];

/// Commands on a descriptor that may be open for reading only, and yet change the file's metadata,
/// make and remove entries, or open what has no path. They fail as on file systems that do not know them.
pub(super) const FILE_COMMANDS: &[u32] = &[
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x0000_6609, // EXT4_IOC_MIGRATE
    0x4008_6610, // EXT4_IOC_RESIZE_FS, and two more that take no more than CAP_SYS_RESOURCE
    0x4004_6607, // EXT4_IOC_GROUP_EXTEND
    0x4028_6608, // EXT4_IOC_GROUP_ADD
    0x4004_7211, // FAT_IOCTL_SET_ATTRIBUTES
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x5000_9401, // BTRFS_IOC_SNAP_CREATE
    0x5000_940e, // BTRFS_IOC_SUBVOL_CREATE
    0x5000_940f, // BTRFS_IOC_SNAP_DESTROY
    0x5000_9417, // BTRFS_IOC_SNAP_CREATE_V2
    0x5000_9418, // BTRFS_IOC_SUBVOL_CREATE_V2
    0x4008_941a, // BTRFS_IOC_SUBVOL_SETFLAGS
    0xc0c8_9425, // BTRFS_IOC_SET_RECEIVED_SUBVOL
    0x5000_943f, // BTRFS_IOC_SNAP_DESTROY_V2
    0xc038_586b, // XFS_IOC_OPEN_BY_HANDLE
];
