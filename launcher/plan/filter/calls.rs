//! Lists the system calls that the filter handles, and how it handles each.
//!
//! Any other call passes, unless it is newer than the last known one.

use libc::{c_int, c_long};

/// How the filter handles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Fails with this errno, whoever makes it.
    Refuse(c_int),
    /// The supervisor judges it unless it carries the cookie.
    Trap,
    /// The supervisor always judges it: no cookie counts, or there is no room for one.
    TrapAlways,
    /// An open. Its flags are in this argument, its mode in the next.
    Open { flags: u32 },
    /// Creates a file with the mode in this argument. No cookie counts if the mode has set-user-ID or set-group-ID
    /// bits.
    Make { mode: u32 },
    /// `ioctl`: some commands are denied. If the supervisor is `told`, it denies typing for the user, and delays
    /// changes that have to wait for prompts.
    Control { told: bool },
    /// `socket`, if every kind is allowed except those with which root would speak for the kernel.
    EventSocket { told: bool },
    /// `socket`, if only local ones are allowed. If the supervisor is `told` of the others, it denies them.
    LocalSocket { told: bool },
    /// `socket`, if the supervisor can judge the addresses of those that are allowed.
    Socket,
    /// Sends while the network is judged. The flags are in the first of these arguments. The address is in the other,
    /// or in memory.
    Send { flags: u32, address: Option<u32> },
    /// With an address in this argument the supervisor judges it, and no cookie counts.
    Addressed { address: u32 },
    /// With a path in this argument the supervisor judges it, and no cookie counts. Without a path a cookie counts.
    Times { path: u32 },
    /// If an address of this length may belong to a unix socket, the supervisor judges it, and no cookie counts. For a
    /// longer one a cookie counts.
    Connect { length: u32 },
    /// Acts on the process with the number in this argument. The supervisor judges it, unless the number is zero: that
    /// is the caller itself.
    Process { number: u32 },
    /// `prlimit64`: like [`Self::Process`] if it sets limits. With `cores` also like [`Self::Cores`].
    Limits { cores: bool },
    /// `setrlimit`, if crashes must not create files. A call that sets the core limit appears to succeed and does
    /// nothing.
    Cores,
    /// `setpriority`, `ioprio_set`: the first argument tells what kind of number the second is. `one` stands for a
    /// process.
    Priority { one: u32 },
    /// `unshare`, `setns`: this argument names the namespaces. The supervisor reports those that need a capability.
    Namespaces { flags: u32 },
    /// `prctl`, if the supervisor cannot look into a process that hides its memory. Hiding appears to succeed and does
    /// nothing.
    Hiding,
    /// `setsockopt` while the network is judged. Some options send packets elsewhere first.
    SocketOption,
}

// Calls without a name in `libc` so far. Their numbers are the same on every architecture.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_GETXATTRAT: c_long = 464;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

/// From `linux/resource.h`: the call's number is that of a process.
pub(crate) const PRIO_PROCESS: u32 = 0;
/// The counterpart in `linux/ioprio.h`.
pub(crate) const IOPRIO_WHO_PROCESS: u32 = 1;

/// The last call that these tables were checked against (Linux 6.18). A newer call may take a path. So confined
/// programs are told that it does not exist yet.
pub(super) const LAST_KNOWN: c_long = 469;

/// Calls that programs are told do not exist. Programs then fall back to ordinary calls, which can be seen. `enter` and
/// `register` are listed because a ring may have been handed over. Keys belong to a user: those of the user's other
/// programs have no path.
pub(super) const ABSENT: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// Calls with which a program builds its own sandbox. The supervisor would act for it outside of that sandbox. So the
/// program is told that Landlock does not exist (`docs/decisions/0027`).
pub(super) const LANDLOCK: &[c_long] = &[
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Opens with flags in a register, and the argument that has them.
pub(super) const OPENS: &[(c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// Accesses without a Landlock right: metadata by path, sockets by path, watches, message queues. The supervisor judges
/// them even with a cookie. The library vouches for the object behind its descriptor, but another thread may have
/// replaced that object since. No later layer would notice.
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

/// `connect` belongs here, too. This argument has the length of its address. A cookie counts only if that is longer
/// than any address of a unix socket.
pub(super) const CONNECTING: (c_long, Fate) = (libc::SYS_connect, Fate::Connect { length: 2 });

/// Calls that read attributes, and `openat2`, which has its flags in memory. The cookie counts.
pub(super) const OF_WHAT_IS_OPEN: &[c_long] =
    &[libc::SYS_openat2, libc::SYS_getxattr, libc::SYS_lgetxattr];

/// `utimensat` is either kind. Without the path in this argument it acts on an object that Landlock let the run open.
pub(super) const TIMES: (c_long, Fate) = (libc::SYS_utimensat, Fate::Times { path: 1 });

/// Calls that read the entries of a directory.
pub(super) const CONTENTS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    libc::SYS_getdents64,
];

/// Calls that change entries and contents, apart from opens.
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

/// Those of [`WRITES`] that have the mode of a file in this argument. The mode of a directory has no such bits
/// (`mkdir(2)`).
pub(super) const MAKES: &[(c_long, Fate)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, Fate::Make { mode: 1 }),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, Fate::Make { mode: 1 }),
    (libc::SYS_mknodat, Fate::Make { mode: 2 }),
];

/// Calls that may send to a path.
pub(super) const MESSAGES: &[(c_long, Fate)] = &[
    (libc::SYS_sendto, Fate::Addressed { address: 4 }),
    (libc::SYS_sendmsg, Fate::Trap),
    (libc::SYS_sendmmsg, Fate::Trap),
];

/// Calls that connect to hosts, or accept connections. They are judged whenever the network is, even with a cookie. The
/// cookie says nothing about the address.
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

/// Options, with their levels, that send packets to an address of the program's choice first (`ip(7)`, RFC 3542).
pub(super) const ROUTING_OPTIONS: &[(c_int, c_int)] = &[
    (libc::IPPROTO_IP, libc::IP_OPTIONS),
    (libc::IPPROTO_IP, 51), // IP_LOCAL_PORT_RANGE limits the port that the kernel chooses.
    (libc::IPPROTO_IPV6, libc::IPV6_RTHDR),
    (libc::IPPROTO_IPV6, 5),                        // IPV6_2292RTHDR
    (libc::IPPROTO_IPV6, 6),                        // IPV6_2292PKTOPTIONS
    (libc::IPPROTO_IPV6, libc::IPV6_FLOWLABEL_MGR), // A label may imply a route.
    // These choose the device that packets leave by.
    (libc::SOL_SOCKET, libc::SO_BINDTODEVICE),
    (libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX),
];

/// The option that makes sockets share a port. The supervisor sets it.
pub(super) const SHARING_OPTION: (c_int, c_int) = (libc::SOL_SOCKET, libc::SO_REUSEPORT);

/// Calls that reach into other processes, by number or by handle. Landlock limits them to processes of the run. Without
/// Landlock the supervisor denies them with `EPERM`.
pub(super) const PROCESSES: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
];

/// Calls that change which processes a terminal's signals reach, which run first and on which processor, and what is
/// counted about them.
pub(super) const SCHEDULING: &[(c_long, Fate)] = &[
    (libc::SYS_setpgid, Fate::Process { number: 1 }),
    (libc::SYS_setpriority, Fate::Priority { one: PRIO_PROCESS }),
    (libc::SYS_ioprio_set, Fate::Priority { one: IOPRIO_WHO_PROCESS }),
    (libc::SYS_sched_setaffinity, Fate::Process { number: 0 }),
    (libc::SYS_sched_setattr, Fate::Process { number: 0 }),
    (libc::SYS_sched_setparam, Fate::Process { number: 0 }),
    (libc::SYS_sched_setscheduler, Fate::Process { number: 0 }),
    // If all processes are counted at once, only a setting of the machine decides whether that is allowed.
    (libc::SYS_perf_event_open, Fate::TrapAlways),
];

/// Further calls on the memory of processes, for machines where Landlock does not separate those outside.
pub(super) const PAGES: &[(c_long, Fate)] = &[
    (libc::SYS_migrate_pages, Fate::Process { number: 0 }),
    (libc::SYS_move_pages, Fate::Process { number: 0 }),
];

/// Calls that create or join namespaces.
pub(super) const NAMESPACES: &[(c_long, Fate)] = &[
    (libc::SYS_unshare, Fate::Namespaces { flags: 0 }),
    (libc::SYS_setns, Fate::Namespaces { flags: 1 }),
];

/// The kinds of namespaces that need `CAP_SYS_ADMIN`, except those created along with a user namespace.
pub(super) const PRIVILEGED_NAMESPACES: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | CLONE_NEWTIME;
const CLONE_NEWTIME: c_int = 0x80;

/// Calls that start programs.
pub(super) const EXECUTES: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Commands that type into a terminal, or select and paste on a console, in the user's name. Also commands after which
/// nobody can type into the terminal.
pub(super) const TERMINAL_COMMANDS: &[u32] = &[
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS: redirects the kernel's console messages here
    0x5423, // TIOCSETD
    0x5437, // TIOCVHANGUP
    0x5457, // TIOCSLCKTRMIOS, for root: locks the modes
];

/// The commands of consoles (`ioctl_console(2)`): the first and last number of the `KD` and `VT_` groups. Each group
/// lists the commands that only query the console or wait. All others are denied. A new keymap types for the user, as
/// does a new font together with the text on the screen.
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

/// Whether a terminal command is denied, whoever gives it.
pub(crate) fn is_refused_of_terminals(command: u32) -> bool {
    let of_console = |&(first, last, told): &(u32, u32, &[u32])| {
        (first..=last).contains(&command) && !told.contains(&command)
    };
    TERMINAL_COMMANDS.contains(&command) || CONSOLES.iter().any(of_console)
}

/// Netlink protocols with which the kernel reports devices, accepts reports of devices, and reports all processes
/// (`linux/netlink.h`). The kernel lets root speak there in its name.
pub(super) const EVENT_PROTOCOLS: [c_int; 2] =
    [libc::NETLINK_KOBJECT_UEVENT, libc::NETLINK_CONNECTOR];

/// Commands that change a terminal's foreground or modes, discard its input, or hold back its output. They wait while a
/// prompt is shown there. Setting a size other than the screen's is never allowed on a terminal that shows prompts.
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

/// Commands on a descriptor that may be open only for reading, yet change metadata, create or delete entries, or open
/// objects without a path. They fail as on file systems that do not know them.
pub(super) const FILE_COMMANDS: &[u32] = &[
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x0000_6609, // EXT4_IOC_MIGRATE
    0x4008_6610, // EXT4_IOC_RESIZE_FS, and two more that only need CAP_SYS_RESOURCE
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
