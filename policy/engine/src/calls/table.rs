//! The table of system calls. Add a call here first; `CONTRIBUTING.md` says what it needs besides.

use super::call::Need::{
    Absent, Create, Delete, Execute, Link, Look, Open, OwnProcess, Peer, Refused, Rename,
    TurnedOff, Varies,
};
use super::call::Trap::{
    Always, ByAddress, ByCommand, ByFlags, ByKind, ByLength, ByMode, ByNamespaces, ByOption,
    ByPath, ByProcess, BySocket, CoreLimit, HiddenMemory, Limits, Never, Send, Unmarked,
};
use super::call::When::{
    Contents, CoreFiles, Filtered, Hiding, Hosts, Namespaces, Processes, Supervised, Writes,
};
use super::call::{Arg, Call, Follow, HERE, Need, Operand, Operation, Trap};
use super::effect::Effect;
use super::effect::Effect::{Device, Log, Machine, Memory, Names, Paths, Process, Queue, Terminal};
use crate::capability::Capabilities;

const UPDATE: Need = Need::Capabilities(Capabilities::UPDATE);
const READ: Need = Need::Capabilities(Capabilities::READ);

/// From `linux/resource.h`: the number in the next argument is that of a process.
pub const PRIO_PROCESS: u32 = 0;
/// The counterpart in `linux/ioprio.h`.
pub const IOPRIO_WHO_PROCESS: u32 = 1;

/// Where a call has no values after its operands.
const NONE: Arg = 6;

/// One line for each call: its name, its numbers on x86-64 and aarch64, its operation, its operands, the first of its
/// values, its need, when the filter handles it and how. Then how it does with rules about hosts, and the effect.
macro_rules! calls {
    ($($name:literal $x86_64:tt $aarch64:tt $operation:ident [$($operand:expr),*] $values:tt $need:ident
        $when:ident $trap:expr $(, hosts $hosts:expr)? $(, effect $effect:ident)?;)*) => {
        /// The calls that a layer handles. All others pass.
        pub const CALLS: &[Call] = &[$(Call {
            name: $name,
            numbers: [number!($x86_64), number!($aarch64)],
            operation: Operation::$operation,
            operands: operands(&[$($operand),*]),
            values: values!($values),
            need: $need,
            trap: ($when, $trap),
            hosts: optional!($($hosts)?),
            effect: effect!($($effect)?),
        }),*];
    };
}

/// A `-` stands for a processor that does not have the call.
macro_rules! number {
    (-) => {
        -1
    };
    ($number:literal) => {
        $number
    };
}

macro_rules! values {
    (-) => {
        NONE
    };
    ($first:literal) => {
        $first
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! effect {
    () => {
        Effect::Around
    };
    ($effect:ident) => {
        $effect
    };
}

const fn operands(given: &[Operand]) -> [Operand; 2] {
    match *given {
        [] => [Operand::None; 2],
        [first] => [first, Operand::None],
        [first, second, ..] => [first, second],
    }
}

const fn object(dirfd: Arg, path: Arg) -> Operand {
    Operand::Object { dirfd, path, follow: Follow::Always }
}

/// An object. The flags in that argument tell whether a symlink is followed.
const fn flagged(dirfd: Arg, path: Arg, flags: Arg) -> Operand {
    Operand::Object { dirfd, path, follow: Follow::Flags(flags) }
}

/// An object, without following a symlink at the end.
const fn symlink(path: Arg) -> Operand {
    Operand::Object { dirfd: HERE, path, follow: Follow::Never }
}

const fn entry(dirfd: Arg, path: Arg) -> Operand {
    Operand::Entry { dirfd, path }
}

const fn descriptor(at: Arg) -> Operand {
    Operand::Descriptor(at)
}

const fn process(at: Arg) -> Operand {
    Operand::Process(at)
}

/// A send with the flags in that argument.
const fn send(flags: Arg, address: Option<Arg>) -> Trap {
    Send { flags, address }
}

calls! {
    // Opening files, and starting programs. `creat` is the only open that has no flags.
    c"open" 2 - Open [object(HERE, 0)] 1 Open Supervised ByFlags(1);
    c"openat" 257 56 Open [object(0, 1)] 2 Open Supervised ByFlags(2);
    c"creat" 85 - CreateFile [object(HERE, 0)] 1 Open Writes ByMode(1);
    c"openat2" 437 437 OpenHow [object(0, 1)] 2 Open Supervised Unmarked;
    c"execve" 59 221 Execute [object(HERE, 0)] 1 Execute Supervised Unmarked;
    c"execveat" 322 281 Execute [flagged(0, 1, 4)] 2 Execute Supervised Unmarked;

    // Changing entries of directories, and contents.
    c"mkdir" 83 - MakeDirectory [entry(HERE, 0)] 1 Create Writes Unmarked;
    c"mkdirat" 258 34 MakeDirectory [entry(0, 1)] 2 Create Writes Unmarked;
    c"mknod" 133 - MakeNode [entry(HERE, 0)] 1 Create Writes ByMode(1), effect Device;
    c"mknodat" 259 33 MakeNode [entry(0, 1)] 2 Create Writes ByMode(2), effect Device;
    c"symlink" 88 - MakeSymlink [entry(HERE, 1)] 0 Create Writes Unmarked;
    c"symlinkat" 266 36 MakeSymlink [entry(1, 2)] 0 Create Writes Unmarked;
    c"unlink" 87 - Unlink [entry(HERE, 0)] - Delete Writes Unmarked;
    c"unlinkat" 263 35 Unlink [entry(0, 1)] 2 Delete Writes Unmarked;
    c"rmdir" 84 - RemoveDirectory [entry(HERE, 0)] - Delete Writes Unmarked;
    c"link" 86 - Link [object(HERE, 0), entry(HERE, 1)] - Link Writes Unmarked;
    c"linkat" 265 37 Link [flagged(0, 1, 4), entry(2, 3)] - Link Writes Unmarked;
    c"rename" 82 - Rename [entry(HERE, 0), entry(HERE, 1)] - Rename Writes Unmarked;
    c"renameat" 264 38 Rename [entry(0, 1), entry(2, 3)] - Rename Writes Unmarked;
    c"renameat2" 316 276 Rename [entry(0, 1), entry(2, 3)] 4 Rename Writes Unmarked;
    c"truncate" 76 45 Truncate [object(HERE, 0)] 1 UPDATE Writes Unmarked;

    // Changing attributes. Landlock has no right for these and the next group, so no cookie counts: another thread may
    // have replaced the object that the library vouches for, and no later layer would notice.
    c"chmod" 90 - SetMode [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"fchmod" 91 52 SetModeByDescriptor [descriptor(0)] 1 UPDATE Supervised Always;
    c"fchmodat" 268 53 SetMode [object(0, 1)] 2 UPDATE Supervised Always;
    c"fchmodat2" 452 452 SetMode [flagged(0, 1, 3)] 2 UPDATE Supervised Always;
    c"chown" 92 - SetOwner [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"lchown" 94 - SetOwner [symlink(0)] 1 UPDATE Supervised Always;
    c"fchown" 93 55 SetOwnerByDescriptor [descriptor(0)] 1 UPDATE Supervised Always;
    c"fchownat" 260 54 SetOwner [flagged(0, 1, 4)] 2 UPDATE Supervised Always;
    c"utime" 132 - SetTimesInSeconds [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"utimes" 235 - SetTimesInMicroseconds [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"futimesat" 261 - SetTimesInMicroseconds [object(0, 1)] 2 UPDATE Supervised Always;
    // Without a path it acts on an object that Landlock let the run open.
    c"utimensat" 280 88 SetTimes [flagged(0, 1, 3)] 2 UPDATE Supervised ByPath(1);
    c"setxattr" 188 5 SetAttribute [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"lsetxattr" 189 6 SetAttribute [symlink(0)] 1 UPDATE Supervised Always;
    c"fsetxattr" 190 7 SetAttributeByDescriptor [descriptor(0)] 1 UPDATE Supervised Always;
    c"setxattrat" 463 463 SetAttributeAt [flagged(0, 1, 2)] 3 UPDATE Supervised Always;
    c"removexattr" 197 14 RemoveAttribute [object(HERE, 0)] 1 UPDATE Supervised Always;
    c"lremovexattr" 198 15 RemoveAttribute [symlink(0)] 1 UPDATE Supervised Always;
    c"fremovexattr" 199 16 RemoveAttributeByDescriptor [descriptor(0)] 1 UPDATE Supervised Always;
    c"removexattrat" 466 466 RemoveAttribute [flagged(0, 1, 2)] 3 UPDATE Supervised Always;
    c"file_setattr" 469 469 SetFileFlags [flagged(0, 1, 4)] 2 UPDATE Supervised Always;

    // Accesses without a Landlock right: watches, and the names of message queues.
    c"inotify_add_watch" 254 27 Watch [object(HERE, 1)] 0 READ Supervised Always;
    c"mq_open" 240 180 OpenQueue [] 0 Open Supervised Always, effect Queue;
    c"mq_unlink" 241 181 RemoveQueue [] 0 Delete Supervised Always, effect Queue;

    // Reading attributes and directories. The attributes of the user are content.
    c"getxattr" 191 8 GetAttribute [object(HERE, 0)] 1 READ Supervised Unmarked;
    c"lgetxattr" 192 9 GetAttribute [symlink(0)] 1 READ Supervised Unmarked;
    c"getxattrat" 464 464 GetAttributeAt [flagged(0, 1, 2)] 3 READ Supervised Always;
    c"listxattr" 194 11 ListAttributes [object(HERE, 0)] 1 Look Supervised Never;
    c"llistxattr" 195 12 ListAttributes [symlink(0)] 1 Look Supervised Never;
    c"listxattrat" 465 465 ListAttributesAt [flagged(0, 1, 2)] 3 Look Supervised Never;
    c"file_getattr" 468 468 GetFileFlags [flagged(0, 1, 4)] 2 Look Supervised Never;
    c"getdents" 78 - ListDirectory [descriptor(0)] 1 Varies Contents Unmarked;
    c"getdents64" 217 61 ListDirectory [descriptor(0)] 1 Varies Contents Unmarked;

    // Metadata, which is no secret outside of hidden areas.
    c"stat" 4 - Status [object(HERE, 0)] 1 Look Supervised Never;
    c"lstat" 6 - Status [symlink(0)] 1 Look Supervised Never;
    c"newfstatat" 262 79 Status [flagged(0, 1, 3)] 2 Look Supervised Never;
    c"statx" 332 291 ExtendedStatus [flagged(0, 1, 2)] 3 Look Supervised Never;
    c"access" 21 - Access [object(HERE, 0)] 1 Look Supervised Never;
    c"faccessat" 269 48 Access [object(0, 1)] 2 Look Supervised Never;
    c"faccessat2" 439 439 Access [flagged(0, 1, 3)] 2 Look Supervised Never;
    c"readlink" 89 - ReadLink [symlink(0)] 1 Look Supervised Never;
    c"readlinkat" 267 78 ReadLink [object(0, 1)] 2 Look Supervised Never;
    c"statfs" 137 43 FileSystem [object(HERE, 0)] 1 Look Supervised Never;
    c"chdir" 80 49 ChangeDirectory [object(HERE, 0)] 1 Look Supervised Never;
    c"fchdir" 81 50 ChangeDirectoryByDescriptor [descriptor(0)] 1 Look Supervised Never;
    // The library has no functions for these, so for its programs they do not exist.
    c"name_to_handle_at" 303 264 None [object(0, 1)] 2 Look Supervised Never;
    c"fanotify_mark" 301 263 None [object(3, 4)] 0 Look Supervised Never;

    // Sockets. Addresses may be paths, so they are judged without rules about hosts as well.
    c"socket" 41 198 MakeSocket [] 0 Peer Filtered BySocket, effect Machine;
    c"socketpair" 53 199 MakeSocket [] 0 Peer Filtered BySocket, effect Machine;
    c"connect" 42 203 Connect [descriptor(0)] 1 Peer Supervised ByLength(2), hosts Always;
    c"bind" 49 200 Bind [descriptor(0)] 1 Create Writes Unmarked, hosts Always;
    c"listen" 50 201 Listen [descriptor(0)] 1 Peer Hosts Always;
    c"shutdown" 48 210 Shutdown [descriptor(0)] 1 Peer Hosts Always;
    c"sendto" 44 206 SendTo [descriptor(0)] 1 Peer Supervised ByAddress(4), hosts send(3, Some(4));
    c"sendmsg" 46 211 SendMessage [descriptor(0)] 1 Peer Supervised Unmarked, hosts send(2, None);
    c"sendmmsg" 307 269 SendMessages [descriptor(0)] 1 Peer Supervised Unmarked, hosts send(3, None);
    c"recvfrom" 45 207 ReceiveFrom [descriptor(0)] 1 Peer Hosts ByAddress(4);
    c"recvmsg" 47 212 ReceiveMessage [descriptor(0)] 1 Peer Hosts Always;
    c"recvmmsg" 299 243 ReceiveMessages [descriptor(0)] 1 Peer Hosts Always;
    c"getpeername" 52 205 PeerName [descriptor(0)] 1 Peer Hosts Always;
    c"setsockopt" 54 208 SetSocketOption [descriptor(0)] 1 Peer Hosts ByOption;

    // Other processes: which of them a terminal's signals reach, which run first and where, and what is counted.
    c"setpgid" 109 154 JoinGroup [process(0)] 1 OwnProcess Supervised ByProcess(1), effect Process;
    c"setpriority" 141 140 SetPriority [process(1)] 0 OwnProcess Supervised ByKind(PRIO_PROCESS), effect Process;
    c"ioprio_set" 251 30 SetIoPriority [process(1)] 0 OwnProcess Supervised ByKind(IOPRIO_WHO_PROCESS), effect Process;
    c"sched_setaffinity" 203 122 ChangeProcess [process(0)] 1 OwnProcess Supervised ByProcess(0), effect Process;
    c"sched_setattr" 314 274 ChangeProcess [process(0)] 1 OwnProcess Supervised ByProcess(0), effect Process;
    c"sched_setparam" 142 118 ChangeProcess [process(0)] 1 OwnProcess Supervised ByProcess(0), effect Process;
    c"sched_setscheduler" 144 119 ChangeProcess [process(0)] 1 OwnProcess Supervised ByProcess(0), effect Process;
    c"prlimit64" 302 261 ChangeProcess [process(0)] 1 OwnProcess Supervised Limits, effect Process;
    // If all processes are counted at once, only a setting of the machine decides whether that is allowed.
    c"perf_event_open" 298 241 CountEvents [process(1)] 2 OwnProcess Supervised Always, effect Process;
    c"migrate_pages" 256 238 ChangeProcess [process(0)] 1 OwnProcess Processes ByProcess(0), effect Process;
    c"move_pages" 279 239 ChangeProcess [process(0)] 1 OwnProcess Processes ByProcess(0), effect Process;
    c"ptrace" 101 117 ReachProcess [process(1)] 0 OwnProcess Processes Always, effect Memory;
    c"process_vm_readv" 310 270 ReachProcess [process(0)] 1 OwnProcess Processes Always, effect Memory;
    c"process_vm_writev" 311 271 ReachProcess [process(0)] 1 OwnProcess Processes Always, effect Memory;
    c"process_madvise" 440 440 ReachProcess [] 0 OwnProcess Processes Always, effect Memory;
    c"pidfd_getfd" 438 438 TakeDescriptor [] 0 OwnProcess Processes Always, effect Memory;

    // Namespaces, and settings of the process that would blind the supervisor or write files.
    c"unshare" 272 97 LeaveNamespaces [] 0 Varies Namespaces ByNamespaces(0), effect Names;
    c"setns" 308 268 JoinNamespaces [] 0 Varies Namespaces ByNamespaces(1), effect Names;
    c"clone" 56 220 None [] 0 Varies Supervised Never, effect Names;
    c"clone3" 435 435 None [] 0 Varies Supervised Never, effect Names;
    c"prctl" 157 167 None [] 0 Varies Hiding HiddenMemory;
    c"setrlimit" 160 164 None [] 0 Varies CoreFiles CoreLimit;
    c"ioctl" 16 29 CommandDevice [descriptor(0)] 1 Varies Filtered ByCommand, effect Terminal;

    // Calls that change what paths mean.
    c"mount" 165 40 None [object(HERE, 1)] 0 Refused Supervised Always, effect Paths;
    c"umount2" 166 39 None [object(HERE, 0)] 1 Refused Supervised Always, effect Paths;
    c"pivot_root" 155 41 None [object(HERE, 0)] 1 Refused Supervised Always, effect Paths;
    c"chroot" 161 51 None [object(HERE, 0)] 1 Refused Supervised Always, effect Paths;
    c"move_mount" 429 429 None [object(2, 3)] 0 Refused Supervised Always, effect Paths;
    c"open_tree" 428 428 None [object(0, 1)] 2 Refused Supervised Always, effect Paths;
    c"open_tree_attr" 467 467 None [object(0, 1)] 2 Refused Supervised Always, effect Paths;
    c"fsopen" 430 430 None [] 0 Refused Supervised Always, effect Paths;
    c"fsmount" 432 432 None [] 0 Refused Supervised Always, effect Paths;
    c"fspick" 433 433 None [object(0, 1)] 2 Refused Supervised Always, effect Paths;
    c"fsconfig" 431 431 None [] 0 Refused Supervised Always, effect Paths;
    c"mount_setattr" 442 442 None [object(0, 1)] 2 Refused Supervised Always, effect Paths;

    // Calls that reach files without their paths.
    c"open_by_handle_at" 304 265 None [] 0 Refused Supervised Always;
    c"fanotify_init" 300 262 None [] 0 Refused Supervised Always;

    // Calls that administer the machine.
    c"swapon" 167 224 None [object(HERE, 0)] 1 Refused Supervised Always, effect Machine;
    c"swapoff" 168 225 None [object(HERE, 0)] 1 Refused Supervised Always, effect Machine;
    c"acct" 163 89 None [object(HERE, 0)] 1 Refused Supervised Always, effect Machine;
    c"quotactl" 179 60 None [object(HERE, 1)] 0 Refused Supervised Always, effect Machine;
    c"quotactl_fd" 443 443 None [descriptor(0)] 1 Refused Supervised Always, effect Machine;
    c"init_module" 175 105 None [] 0 Refused Supervised Always, effect Machine;
    c"finit_module" 313 273 None [descriptor(0)] 1 Refused Supervised Always, effect Machine;
    c"delete_module" 176 106 None [] 0 Refused Supervised Always, effect Machine;
    c"kexec_load" 246 104 None [] 0 Refused Supervised Always, effect Machine;
    c"kexec_file_load" 320 294 None [] 0 Refused Supervised Always, effect Machine;
    c"iopl" 172 - None [] 0 Refused Supervised Always, effect Machine;
    c"ioperm" 173 - None [] 0 Refused Supervised Always, effect Machine;
    c"uselib" 134 - None [object(HERE, 0)] 1 Refused Supervised Always, effect Machine;
    c"vhangup" 153 58 None [] 0 Refused Supervised Always, effect Terminal;
    c"syslog" 103 116 None [] 0 Refused Supervised Always, effect Log;
    c"bpf" 321 280 None [] 0 Refused Supervised Always, effect Machine;
    c"reboot" 169 142 None [] 0 Refused Supervised Always, effect Machine;
    c"settimeofday" 164 170 None [] 0 Refused Supervised Always, effect Machine;
    c"clock_settime" 227 112 None [] 0 Refused Supervised Always, effect Machine;

    // Calls that programs are told do not exist. Programs then fall back to ordinary calls, which can be seen. `enter`
    // and `register` are listed because a ring may have been handed over. Keys belong to a user: those of the user's
    // other programs have no path.
    c"io_uring_setup" 425 425 None [] 0 Absent Filtered Always;
    c"io_uring_enter" 426 426 None [] 0 Absent Filtered Always;
    c"io_uring_register" 427 427 None [] 0 Absent Filtered Always;
    c"add_key" 248 217 None [] 0 Absent Filtered Always;
    c"request_key" 249 218 None [] 0 Absent Filtered Always;
    c"keyctl" 250 219 None [] 0 Absent Filtered Always;
    c"lookup_dcookie" 212 18 None [] 0 Absent Filtered Always;

    // Calls with which a program builds its own sandbox.
    c"landlock_create_ruleset" 444 444 None [] 0 TurnedOff Supervised Always;
    c"landlock_add_rule" 445 445 None [] 0 TurnedOff Supervised Always;
    c"landlock_restrict_self" 446 446 None [] 0 TurnedOff Supervised Always;
}
