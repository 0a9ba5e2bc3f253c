//! Tests the filter call by call: with an interpreter here, and once in the kernel.

mod landlock;
mod processes;

use jp_confine_engine::calls::{CALLS, Need, When, of_number};
use libc::c_long;

use super::*;
use crate::sys::filter as kernel;

const COOKIE: u64 = 0x1234_5678_9abc_def0;
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;

const NOTHING: Traps =
    Traps { reads: false, listings: false, writes: false, executes: false, ..Traps::ALL };
const LISTINGS: Traps = Traps { listings: true, ..NOTHING };
const WRITES: Traps = Traps { writes: true, ..NOTHING };
const EVERYTHING: Traps = Traps::ALL;

const fn fails(errno: c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

/// A call to filter. The sixth argument may be the cookie.
#[derive(Clone, Copy)]
struct Call {
    architecture: u32,
    number: u32,
    arguments: [u64; 6],
}

impl Call {
    fn of(number: c_long, arguments: &[u64]) -> Self {
        let number = u32::try_from(number).expect("small");
        let mut call = Self { architecture: ARCHITECTURE, number, arguments: [0; 6] };
        call.arguments[..arguments.len()].copy_from_slice(arguments);
        call
    }

    fn with_cookie(mut self, cookie: u64) -> Self {
        self.arguments[5] = cookie;
        self
    }

    fn word(self, offset: u32) -> u32 {
        let half = |value: u64, upper: bool| {
            let bytes = value.to_le_bytes();
            u32::from_le_bytes(bytes.as_chunks().0[usize::from(upper)])
        };
        match offset {
            0 => self.number,
            4 => self.architecture,
            16..64 => half(self.arguments[(offset as usize - 16) / 8], offset % 8 == 4),
            _ => panic!("the filter may not look at {offset}"),
        }
    }
}

/// The result of running the filter.
struct Run {
    answer: u32,
    /// Whether it looked at anything but the architecture and the number.
    looked_closer: bool,
}

fn run(program: &[sock_filter], call: Call) -> Run {
    let (mut at, mut word, mut looked_closer) = (0, 0, false);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let code = u32::from(code);
        let jump = |met: bool| usize::from(if met { jt } else { jf });
        match code & 7 {
            libc::BPF_RET => return Run { answer: k, looked_closer },
            libc::BPF_LD => {
                word = call.word(k);
                looked_closer |= k >= 8;
            }
            libc::BPF_ALU => word &= k,
            libc::BPF_JMP => {
                at += match code & 0xf0 {
                    libc::BPF_JA => k as usize,
                    libc::BPF_JEQ => jump(word == k),
                    libc::BPF_JGE => jump(word >= k),
                    libc::BPF_JSET => jump(word & k != 0),
                    _ => panic!("an unknown jump"),
                }
            }
            _ => panic!("an unknown instruction"),
        }
    }
}

fn answer(program: &[sock_filter], call: Call) -> u32 {
    run(program, call).answer
}

/// The calls that the filter handles so.
fn numbers(when: When, trap: Trap) -> Vec<c_long> {
    let wanted = CALLS.iter().filter(|call| {
        call.trap == (when, trap) && !matches!(call.need, Need::Refused | Need::TurnedOff)
    });
    wanted.filter_map(jp_confine_engine::calls::Call::number).collect()
}

/// The calls that need this.
fn needing(need: Need) -> Vec<c_long> {
    let wanted = CALLS.iter().filter(|call| call.need == need);
    wanted.filter_map(jp_confine_engine::calls::Call::number).collect()
}

fn flags(value: c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

fn openat(value: c_int) -> Call {
    Call::of(libc::SYS_openat, &[0, 0, flags(value)])
}

#[test]
fn opens_are_told_by_their_flags() {
    let writes = assemble(WRITES, Some(COOKIE), Sockets::All);
    let everything = assemble(EVERYTHING, Some(COOKIE), Sockets::All);
    let nothing = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let table = [
        (libc::O_RDONLY, ALLOW, NOTIFY),
        (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC, ALLOW, NOTIFY),
        (libc::O_WRONLY, NOTIFY, NOTIFY),
        (libc::O_RDWR, NOTIFY, NOTIFY),
        (libc::O_RDONLY | libc::O_CREAT, NOTIFY, NOTIFY),
        (libc::O_RDONLY | libc::O_TRUNC, NOTIFY, NOTIFY),
        (libc::O_ACCMODE, NOTIFY, NOTIFY),
        (libc::O_TMPFILE, NOTIFY, NOTIFY),
        (libc::O_PATH, ALLOW, ALLOW),
        (libc::O_PATH | libc::O_WRONLY | libc::O_CREAT, ALLOW, ALLOW),
    ];
    for (value, with_writes, with_reads) in table {
        let call = openat(value);
        assert_eq!(answer(&writes, call), with_writes, "{value:#o}");
        assert_eq!(answer(&everything, call), with_reads, "{value:#o}");
        assert_eq!(answer(&nothing, call), ALLOW, "{value:#o}");
        assert_eq!(answer(&everything, call.with_cookie(COOKIE)), ALLOW, "{value:#o}");
    }
}

#[test]
fn only_local_sockets_where_no_others_are_wanted() {
    let socket = |family: c_int| Call::of(libc::SYS_socket, &[family.cast_unsigned().into(), 1, 0]);
    let refused = fails(libc::EACCES);
    // A supervisor denies them, and reports it.
    let filters = |sockets| {
        [
            (assemble(EVERYTHING, Some(COOKIE), sockets), NOTIFY),
            (assemble(NOTHING, None, sockets), NOTIFY),
            (refusals(sockets), refused),
        ]
    };
    for (filter, told) in filters(Sockets::Local) {
        for family in [libc::AF_INET, libc::AF_INET6, libc::AF_PACKET, libc::AF_VSOCK] {
            let call = socket(family).with_cookie(COOKIE);
            assert_eq!(run(&filter, call).answer, told, "{family}");
        }
        assert_eq!(run(&filter, socket(libc::AF_NETLINK)).answer, refused);
        assert_eq!(run(&filter, socket(libc::AF_UNIX)).answer, ALLOW);
    }
    for (filter, _) in filters(Sockets::All) {
        assert_eq!(run(&filter, socket(libc::AF_INET)).answer, ALLOW);
    }
}

/// Root could report devices to `udevd`, and would receive reports of every process.
#[test]
fn root_makes_no_sockets_of_the_kernel_s_events() {
    let made = |filter: &[sock_filter], family: c_int, protocol: c_int| {
        answer(filter, Call::of(libc::SYS_socket, &[family, libc::SOCK_RAW, protocol].map(flags)))
    };
    let is_root = rustix::process::geteuid().is_root();
    for (filter, refused) in [
        (assemble(NOTHING, Some(COOKIE), Sockets::All), NOTIFY),
        (refusals(Sockets::All), fails(libc::EPERM)),
    ] {
        let expected = if is_root { refused } else { ALLOW };
        for protocol in [libc::NETLINK_KOBJECT_UEVENT, libc::NETLINK_CONNECTOR] {
            assert_eq!(made(&filter, libc::AF_NETLINK, protocol), expected, "{protocol}");
            assert_eq!(made(&filter, libc::AF_UNIX, protocol), ALLOW, "{protocol}");
        }
        assert_eq!(made(&filter, libc::AF_NETLINK, libc::NETLINK_ROUTE), ALLOW);
    }
}

#[test]
fn only_sockets_whose_addresses_can_be_judged() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::Judged);
    let made = |family: c_int, kind: c_int, protocol: c_int| {
        let call = Call::of(libc::SYS_socket, &[family, kind, protocol].map(flags));
        answer(&filter, call.with_cookie(COOKIE))
    };
    for (family, kind, protocol, expected) in [
        (libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, ALLOW),
        (libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_TCP, ALLOW),
        (libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_MPTCP, ALLOW),
        (libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, libc::IPPROTO_UDP, ALLOW),
        (libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP, NOTIFY),
        (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP, NOTIFY),
        (libc::AF_INET, libc::SOCK_STREAM, 256, NOTIFY),
        (libc::AF_INET, libc::SOCK_SEQPACKET, 0, NOTIFY),
        (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_UDP, NOTIFY),
        (libc::AF_INET6, libc::SOCK_RAW, 0, NOTIFY),
        (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE, ALLOW),
        (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER, fails(libc::EACCES)),
        (libc::AF_PACKET, libc::SOCK_RAW, 0, NOTIFY),
        (libc::AF_VSOCK, libc::SOCK_STREAM, 0, NOTIFY),
        (libc::AF_BLUETOOTH, libc::SOCK_STREAM, 0, NOTIFY),
        (libc::AF_UNIX, libc::SOCK_STREAM, 0, ALLOW),
    ] {
        assert_eq!(made(family, kind, protocol), expected, "{family} {kind} {protocol}");
    }
}

#[test]
fn addresses_are_judged_whoever_gives_them() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::Judged);
    let open = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let asked = |number: c_long, arguments: &[u64]| answer(&filter, Call::of(number, arguments));
    for number in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmsg] {
        let call = Call::of(number, &[3, 1, 0]).with_cookie(COOKIE);
        assert_eq!(answer(&filter, call), NOTIFY, "{number}");
        // It may be a path.
        let expected = if number == libc::SYS_connect { NOTIFY } else { ALLOW };
        assert_eq!(answer(&open, call), expected, "{number}");
    }
    assert_eq!(asked(libc::SYS_sendmmsg, &[3, 1, 1, 0]), NOTIFY);
    for (address, expected) in [(0, ALLOW), (1, NOTIFY), (1 << 32, NOTIFY)] {
        assert_eq!(asked(libc::SYS_sendto, &[3, 1, 1, 0, address, 0]), expected);
        assert_eq!(asked(libc::SYS_recvfrom, &[3, 1, 1, 0, address, 0]), expected);
    }
    let fast = flags(libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL);
    for (number, arguments) in [
        (libc::SYS_sendto, [3, 1, 1, fast, 1]),
        (libc::SYS_sendto, [3, 1, 1, fast, 0]),
        (libc::SYS_sendmsg, [3, 1, fast, 0, 0]),
        (libc::SYS_sendmmsg, [3, 1, 1, fast, 0]),
    ] {
        assert_eq!(asked(number, &arguments), fails(libc::EOPNOTSUPP));
    }
    let option =
        |level: c_int, name: c_int| asked(libc::SYS_setsockopt, &[3, flags(level), flags(name)]);
    assert_eq!(option(libc::IPPROTO_IP, libc::IP_OPTIONS), fails(libc::EACCES));
    assert_eq!(option(libc::IPPROTO_IP, 51), fails(libc::EACCES), "IP_LOCAL_PORT_RANGE");
    assert_eq!(option(libc::IPPROTO_IPV6, libc::IPV6_RTHDR), fails(libc::EACCES));
    assert_eq!(option(libc::IPPROTO_IPV6, libc::IPV6_FLOWLABEL_MGR), fails(libc::EACCES));
    assert_eq!(option(libc::IPPROTO_IP, libc::IP_TOS), ALLOW);
    assert_eq!(option(libc::SOL_SOCKET, libc::IP_OPTIONS), ALLOW);
}

#[test]
fn directories_can_be_trapped_alone() {
    let listings = assemble(LISTINGS, Some(COOKIE), Sockets::All);
    assert_eq!(answer(&listings, openat(libc::O_DIRECTORY)), NOTIFY);
    assert_eq!(answer(&listings, openat(libc::O_DIRECTORY).with_cookie(COOKIE)), ALLOW);
    assert_eq!(answer(&listings, openat(libc::O_DIRECTORY | libc::O_PATH)), ALLOW);
    assert_eq!(answer(&listings, openat(libc::O_RDWR)), ALLOW);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_older_open_has_its_flags_elsewhere() {
    let writes = assemble(WRITES, None, Sockets::All);
    assert_eq!(answer(&writes, Call::of(libc::SYS_open, &[0, flags(libc::O_RDWR)])), NOTIFY);
    assert_eq!(answer(&writes, Call::of(libc::SYS_open, &[0, 0, flags(libc::O_RDWR)])), ALLOW);
}

#[test]
fn groups_are_trapped_as_the_plan_says() {
    let all = |traps: Traps| assemble(traps, Some(COOKIE), Sockets::All);
    let expected = |numbers: &[c_long], traps: Traps, wanted: u32| {
        for &number in numbers {
            assert_eq!(answer(&all(traps), Call::of(number, &[])), wanted, "call {number}");
        }
    };
    expected(&numbers(When::Supervised, Trap::Always), NOTHING, NOTIFY);
    expected(&numbers(When::Supervised, Trap::Unmarked), NOTHING, NOTIFY);
    expected(&numbers(When::Contents, Trap::Unmarked), EVERYTHING, ALLOW);
    let contents = Traps { contents: true, ..NOTHING };
    expected(&numbers(When::Contents, Trap::Unmarked), contents, NOTIFY);
    expected(&numbers(When::Writes, Trap::Unmarked), NOTHING, ALLOW);
    expected(&numbers(When::Writes, Trap::Unmarked), WRITES, NOTIFY);
}

/// Landlock has no right for the names of message queues. So they are always judged.
#[test]
fn message_queues_are_always_judged() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::All);
    for number in [libc::SYS_mq_open, libc::SYS_mq_unlink] {
        assert_eq!(answer(&filter, Call::of(number, &[1])), NOTIFY, "call {number}");
    }
}

/// If no other layer holds a call, the cookie does not count.
#[test]
fn no_cookie_opens_what_is_beyond_landlock() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::All);
    for number in numbers(When::Supervised, Trap::Always) {
        let call = Call::of(number, &[1, 1, 1]).with_cookie(COOKIE);
        assert_eq!(answer(&filter, call), NOTIFY, "call {number}");
    }
    let connect = |length| Call::of(libc::SYS_connect, &[0, 1, length]);
    assert_eq!(answer(&filter, connect(110).with_cookie(COOKIE)), NOTIFY);
    assert_eq!(answer(&filter, connect(128).with_cookie(COOKIE)), ALLOW);
    assert_eq!(answer(&filter, connect(128)), NOTIFY);
    let times = |path| Call::of(libc::SYS_utimensat, &[0, path]);
    assert_eq!(answer(&filter, times(1 << 32).with_cookie(COOKIE)), NOTIFY);
    assert_eq!(answer(&filter, times(0).with_cookie(COOKIE)), ALLOW);
    assert_eq!(answer(&filter, times(0)), NOTIFY);
}

/// The library creates no files with such bits, so a call with them is not the library's.
#[test]
fn no_cookie_makes_files_with_set_id_bits() {
    let filter = assemble(WRITES, Some(COOKIE), Sockets::All);
    let made = |number: c_long, before: &[u64], mode: u64| {
        let call = Call::of(number, &[before, &[mode]].concat());
        answer(&filter, call.with_cookie(COOKIE))
    };
    let creates = flags(libc::O_CREAT | libc::O_WRONLY);
    let unnamed = flags(libc::O_TMPFILE | libc::O_RDWR);
    let writes = flags(libc::O_WRONLY);
    for (mode, expected) in [(0o755, ALLOW), (0o1755, ALLOW), (0o4755, NOTIFY), (0o2644, NOTIFY)] {
        assert_eq!(made(libc::SYS_openat, &[0, 0, creates], mode), expected, "{mode:o}");
        assert_eq!(made(libc::SYS_openat, &[0, 0, unnamed], mode), expected, "{mode:o}");
        assert_eq!(made(libc::SYS_mknodat, &[0, 0], mode), expected, "{mode:o}");
        assert_eq!(made(libc::SYS_openat, &[0, 0, writes], mode), ALLOW, "nothing is made");
    }
}

#[test]
fn only_the_whole_cookie_passes() {
    let filter = assemble(EVERYTHING, Some(COOKIE), Sockets::All);
    let strict = assemble(EVERYTHING, None, Sockets::All);
    for number in
        [When::Supervised, When::Writes].into_iter().flat_map(|when| numbers(when, Trap::Unmarked))
    {
        let call = Call::of(number, &[]);
        assert_eq!(answer(&filter, call.with_cookie(COOKIE)), ALLOW, "call {number}");
        assert_eq!(answer(&strict, call.with_cookie(COOKIE)), NOTIFY, "call {number}");
        for near in [COOKIE ^ 1, COOKIE ^ (1 << 63), COOKIE & 0xffff_ffff, COOKIE << 32] {
            assert_eq!(answer(&filter, call.with_cookie(near)), NOTIFY, "call {number}");
        }
    }
}

/// A supervisor denies them so that they are reported. So it must know each of them.
#[test]
fn some_calls_are_refused_whoever_makes_them() {
    let supervised =
        [assemble(EVERYTHING, Some(COOKIE), Sockets::All), assemble(NOTHING, None, Sockets::All)];
    let alone = refusals(Sockets::All);
    for number in needing(Need::Refused) {
        let call = Call::of(number, &[]).with_cookie(COOKIE);
        assert_eq!(supervised.each_ref().map(|filter| answer(filter, call)), [NOTIFY; 2]);
        assert_eq!(answer(&alone, call), fails(libc::EPERM), "call {number}");
        assert!(crate::supervisor::answers(number), "call {number}");
    }
    for filter in supervised.iter().chain([&alone]) {
        for number in needing(Need::Absent) {
            let call = Call::of(number, &[]).with_cookie(COOKIE);
            assert_eq!(answer(filter, call), fails(libc::ENOSYS), "call {number}");
        }
    }
}

#[test]
fn commands_are_told_by_their_arguments() {
    for (filter, typing, changing) in [
        (assemble(NOTHING, Some(COOKIE), Sockets::All), NOTIFY, NOTIFY),
        (refusals(Sockets::All), fails(libc::EPERM), ALLOW),
    ] {
        let ioctl = |command: u64| answer(&filter, Call::of(libc::SYS_ioctl, &[0, command]));
        assert_eq!(ioctl(0x5401), ALLOW, "TCGETS");
        assert_eq!(ioctl(0x5402), changing, "TCSETS");
        assert_eq!(ioctl(0x5410), changing, "TIOCSPGRP");
        assert_eq!(ioctl(0x540b), changing, "TCFLSH");
        assert_eq!(ioctl(0x5413), ALLOW, "TIOCGWINSZ");
        assert_eq!(ioctl(0x5414), changing, "TIOCSWINSZ");
        assert_eq!(ioctl(0x5412), typing, "TIOCSTI");
        assert_eq!(ioctl(0x5423), typing, "TIOCSETD");
        assert_eq!(ioctl(0xffff_ffff_0000_5412), typing, "commands have 32 bits");
        assert_eq!(ioctl(0x4008_6602), fails(libc::ENOTTY), "FS_IOC_SETFLAGS");
        for (command, name) in [
            (0x541d, "TIOCCONS"),
            (0x4b47, "KDSKBENT"),
            (0x4b49, "KDSKBSENT"),
            (0x4b63, "KDSKBMETA"),
            (0x4bff, "the last of a console"),
            (0x4b72, "KDFONTOP"),
            (0x5606, "VT_ACTIVATE"),
            (0x560f, "VT_SETACTIVATE"),
        ] {
            assert_eq!(ioctl(command), typing, "{name}");
            assert!(is_refused_of_terminals(u32::try_from(command).expect("small")), "{name}");
        }
        for (command, name) in [
            (0x4b46, "KDGKBENT"),
            (0x5603, "VT_GETSTATE"),
            (0x4aff, "below"),
            (0x4c00, "LOOP_SET_FD"),
            (0x5610, "above"),
            (0x8068_5600, "VIDIOC_QUERYCAP"),
        ] {
            assert_eq!(ioctl(command), ALLOW, "{name}");
            assert!(!is_refused_of_terminals(u32::try_from(command).expect("32 bits")), "{name}");
        }
    }
}

/// A message may have a path as its address. The cookie says that the library has judged it.
#[test]
fn messages_are_judged_where_they_may_have_an_address() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::All);
    for number in [libc::SYS_sendmsg, libc::SYS_sendmmsg] {
        let call = Call::of(number, &[3, 1]);
        assert_eq!(
            (answer(&filter, call), answer(&filter, call.with_cookie(COOKIE))),
            (NOTIFY, ALLOW)
        );
    }
    for (address, expected) in [(0, ALLOW), (1, NOTIFY)] {
        let call = Call::of(libc::SYS_sendto, &[3, 1, 1, 0, address]);
        assert_eq!(answer(&filter, call.with_cookie(COOKIE)), expected);
    }
}

#[test]
fn foreign_and_future_calls_do_not_exist() {
    let filter = assemble(EVERYTHING, Some(COOKIE), Sockets::All);
    let absent = fails(libc::ENOSYS);
    let read = Call::of(libc::SYS_read, &[]).with_cookie(COOKIE);
    assert_eq!(answer(&filter, Call { architecture: 0x4000_0003, ..read }), absent);
    assert_eq!(answer(&filter, Call { number: read.number | X32, ..read }), absent);
    assert_eq!(answer(&filter, Call { number: u32::MAX, ..read }), absent);
    assert_eq!(answer(&filter, Call::of(LAST_KNOWN, &[])), NOTIFY, "file_setattr");
    assert_eq!(answer(&filter, Call::of(LAST_KNOWN + 1, &[])), absent);
}

#[test]
fn what_always_passes_is_told_by_its_number() {
    let filter = assemble(EVERYTHING, Some(COOKIE), Sockets::All);
    let is_special = |number: c_long| {
        let fate = |call| fates::fate(call, Some(EVERYTHING), Sockets::All);
        of_number(number).is_some_and(|call| fate(call) != Fate::By(Trap::Never))
    };
    for number in 0..=LAST_KNOWN {
        let run = run(&filter, Call::of(number, &[]));
        if !is_special(number) {
            assert_eq!(run.answer, ALLOW, "call {number}");
            assert!(!run.looked_closer, "call {number}");
        }
    }
    for never in [
        libc::SYS_close,
        libc::SYS_clone,
        libc::SYS_fstat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_readlinkat,
        libc::SYS_chdir,
    ] {
        assert!(!is_special(never), "call {never}");
    }
}

#[test]
fn far_jumps_get_stepping_stones() {
    let mut program = Assembler::default();
    let [near, far] = [(); 2].map(|()| program.label());
    program.load(0);
    program.branch(Test::Is(7), far, near);
    program.place(near);
    for number in 0..600 {
        program.branch_away(Test::Is(1000 + number), far);
    }
    program.answer(1);
    program.place(far);
    program.answer(2);
    let program = program.finish();
    for (number, expected) in [(7, 2), (8, 1), (1000, 2), (1599, 2), (1600, 1)] {
        assert_eq!(answer(&program, Call::of(number, &[])), expected, "{number}");
    }
}

#[test]
fn the_kernel_takes_it() {
    let answer = |filter: &[sock_filter], number: c_long| {
        kernel::trial(filter, kernel::ListenerWanted::None, Some((number, 0))).expect("a child")
    };
    for filter in [
        assemble(NOTHING, None, Sockets::All),
        assemble(EVERYTHING, Some(COOKIE), Sockets::All),
        refusals(Sockets::All),
    ] {
        assert_eq!(answer(&filter, libc::SYS_io_uring_setup), libc::ENOSYS);
        assert_eq!(answer(&filter, libc::SYS_getppid), 0);
    }
    assert_eq!(answer(&refusals(Sockets::All), libc::SYS_fsopen), libc::EPERM);
}
