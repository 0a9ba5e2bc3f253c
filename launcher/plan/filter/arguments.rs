//! Lists the values of arguments by which the filter handles a call: commands, options, protocols and namespaces.

use libc::c_int;

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

/// The kinds of namespaces that need `CAP_SYS_ADMIN`, except those created along with a user namespace.
pub(super) const PRIVILEGED_NAMESPACES: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | CLONE_NEWTIME;
const CLONE_NEWTIME: c_int = 0x80;

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
