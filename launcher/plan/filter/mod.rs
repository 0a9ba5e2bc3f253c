//! Builds the seccomp filter, which decides for each system call whether it goes to the supervisor, fails at once, or
//! passes.
//!
//! The filter looks at a call's number first, then at its arguments, and at the cookie last. Calls that always pass are
//! recognised by number alone. The kernel finds that out once, and then skips the filter for them.

mod assembler;
mod calls;
mod network;
mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem::offset_of;

use jp_confine_engine::{report_protocol, set_id};
use libc::{c_int, seccomp_data, sock_filter};

use self::assembler::{Assembler, Label, Test};
use self::calls::Fate;
pub(crate) use self::calls::{IOPRIO_WHO_PROCESS, PRIO_PROCESS, is_refused_of_terminals};
use crate::syscalls::REFUSED;

/// The value of `seccomp_data.arch` for this architecture's own calls (`linux/audit.h`).
const ARCHITECTURE: u32 = if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };

/// The bit that all call numbers of x32 share.
const X32: u32 = 0x4000_0000;

/// The part of a socket's type without flags.
const SOCKET_TYPE: u32 = 0xf;

/// `O_TMPFILE` without the directory bit that it contains.
const TEMPORARY: c_int = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// The flags of an open that may change something.
const WRITING: c_int = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | TEMPORARY;

/// The groups of calls that the supervisor judges, besides those that no other layer can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one group of calls")]
pub(crate) struct Traps {
    /// Opens that only read.
    pub(crate) reads: bool,
    /// Opens with the directory flag.
    pub(crate) listings: bool,
    /// Reads of open directories. They are not judged, but recorded for a learning run.
    pub(crate) contents: bool,
    /// Opens that write, and all changes of entries.
    pub(crate) writes: bool,
    /// Starts of programs.
    pub(crate) executes: bool,
    /// Starts by a loader, if Landlock holds starts exactly (ld.so(8)). To Landlock a loader only reads the program.
    pub(crate) loaders: bool,
    /// Calls that reach into other processes, if Landlock does not separate those outside of the run. Most are denied
    /// without judgement.
    pub(crate) processes: bool,
    /// Namespaces that root inside lacks the capability for. Trapped so that the denial is reported.
    pub(crate) namespaces: bool,
    /// Hiding memory from others, if the supervisor lacks the capability to read it anyway. Appears to succeed and does
    /// nothing.
    pub(crate) hiding: bool,
    /// Letting a crash write memory to a file, which no layer could judge. Setting the limit appears to succeed and
    /// does nothing.
    pub(crate) cores: bool,
}

impl Traps {
    /// All calls that can be judged.
    pub(crate) const ALL: Self = Self {
        reads: true,
        listings: true,
        contents: false,
        writes: true,
        executes: true,
        loaders: true,
        processes: false,
        namespaces: false,
        hiding: false,
        cores: false,
    };
}

/// The sockets that may be created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// All families.
    #[default]
    All,
    /// Local sockets, which lead to paths.
    Local,
    /// Local sockets, and internet sockets whose every address the supervisor judges.
    Judged,
}

/// The filter that sends the calls in `traps` to the supervisor unless they carry the cookie.
pub(crate) fn assemble(traps: Traps, cookie: Option<u64>, sockets: Sockets) -> Vec<sock_filter> {
    let writer = Writer::new(cookie);
    let teller = writer.notify;
    writer.write(teller, &fates(Some(traps), sockets), trapped_flags(traps))
}

/// A filter that lets everything pass, to test whether one can be installed.
pub(crate) fn nothing() -> Vec<sock_filter> {
    let mut program = Assembler::default();
    program.answer(libc::SECCOMP_RET_ALLOW);
    program.finish()
}

/// The filter for a run without a supervisor. It only denies.
pub(crate) fn refusals(sockets: Sockets) -> Vec<sock_filter> {
    let writer = Writer::new(None);
    // The supervisor of an outer run may receive reports.
    let teller = writer.allow;
    writer.write(teller, &fates(None, sockets), Some(0))
}

/// The flags of which any one traps an open. `None` traps all opens.
fn trapped_flags(traps: Traps) -> Option<u32> {
    let directory = if traps.listings { libc::O_DIRECTORY } else { 0 };
    let writing = if traps.writes { WRITING } else { 0 };
    (!traps.reads).then_some((directory | writing).cast_unsigned())
}

/// How to handle each call that does not simply pass.
fn fates(traps: Option<Traps>, sockets: Sockets) -> BTreeMap<u32, Fate> {
    let mut fates = BTreeMap::new();
    let mut add = |number: libc::c_long, fate| {
        fates.insert(u32::try_from(number).expect("numbers of calls are small"), fate);
    };
    let told = traps.is_some();
    for call in REFUSED {
        // If there is a supervisor, it denies the call, so that the denial is reported.
        add(call.number, if told { Fate::TrapAlways } else { Fate::Refuse(libc::EPERM) });
    }
    for &number in calls::ABSENT {
        add(number, Fate::Refuse(libc::ENOSYS));
    }
    add(libc::SYS_ioctl, Fate::Control { told });
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        match sockets {
            Sockets::All if rustix::process::geteuid().is_root() => {
                add(number, Fate::EventSocket { told });
            }
            Sockets::All => {}
            Sockets::Local => add(number, Fate::LocalSocket { told }),
            Sockets::Judged => add(number, Fate::Socket),
        }
    }
    let Some(traps) = traps else { return fates };
    for &number in calls::LANDLOCK {
        // The same errno as from a kernel that was booted without Landlock.
        add(number, Fate::Refuse(libc::EOPNOTSUPP));
    }
    for &number in calls::BEYOND_LANDLOCK {
        add(number, Fate::TrapAlways);
    }
    for (number, fate) in [calls::TIMES, calls::CONNECTING] {
        add(number, fate);
    }
    for &(number, fate) in calls::SCHEDULING {
        add(number, fate);
    }
    add(libc::SYS_prlimit64, Fate::Limits { cores: traps.cores });
    if traps.cores {
        add(libc::SYS_setrlimit, Fate::Cores);
    }
    for &(number, fate) in calls::PAGES.iter().filter(|_| traps.processes) {
        add(number, fate);
    }
    for &(number, fate) in calls::NAMESPACES.iter().filter(|_| traps.namespaces) {
        add(number, fate);
    }
    if traps.hiding {
        add(libc::SYS_prctl, Fate::Hiding);
    }
    for &number in calls::PROCESSES.iter().filter(|_| traps.processes) {
        add(number, Fate::TrapAlways);
    }
    let groups = [
        (true, calls::OF_WHAT_IS_OPEN),
        (traps.contents, calls::CONTENTS),
        (traps.writes, calls::WRITES),
        (traps.executes || traps.loaders, calls::EXECUTES),
    ];
    for (_, numbers) in groups.into_iter().filter(|(trapped, _)| *trapped) {
        for &number in numbers {
            add(number, Fate::Trap);
        }
    }
    for &(number, fate) in calls::MAKES.iter().filter(|_| traps.writes) {
        add(number, fate);
    }
    if trapped_flags(traps) != Some(0) {
        for &(number, flags) in calls::OPENS {
            add(number, Fate::Open { flags });
        }
    }
    let sending = if sockets == Sockets::Judged { calls::NETWORK } else { calls::MESSAGES };
    for &(number, fate) in sending {
        add(number, fate);
    }
    fates
}

/// The filter under construction, and the answers that all its parts share.
struct Writer {
    program: Assembler,
    cookie: Option<u64>,
    allow: Label,
    /// To the supervisor unless there is a cookie.
    trap: Label,
    /// To the supervisor.
    notify: Label,
    /// To failures by errno. 0 reports success without doing anything.
    refusals: BTreeMap<c_int, Label>,
}

impl Writer {
    fn new(cookie: Option<u64>) -> Self {
        let mut program = Assembler::default();
        let [allow, trap, notify] = [(); 3].map(|()| program.label());
        Self { program, cookie, allow, trap, notify, refusals: BTreeMap::new() }
    }

    /// The whole filter. The library's reports go to `teller`.
    fn write(
        mut self,
        teller: Label,
        fates: &BTreeMap<u32, Fate>,
        opens: Option<u32>,
    ) -> Vec<sock_filter> {
        let absent = self.refusal(libc::ENOSYS);
        self.load(offset_of!(seccomp_data, arch));
        let native = self.program.label();
        self.program.branch(Test::Is(ARCHITECTURE), native, absent);
        self.program.place(native);
        self.load(offset_of!(seccomp_data, nr));
        // This also covers the numbers of x32.
        debug_assert!(i64::from(X32) > calls::LAST_KNOWN, "x32 is beyond what is known");
        let beyond = u32::try_from(calls::LAST_KNOWN + 1).expect("numbers of calls are small");
        let newer = self.program.label();
        self.program.branch_away(Test::AtLeast(beyond), newer);
        let fates: Vec<(u32, Fate)> = fates.iter().map(|(&number, &fate)| (number, fate)).collect();
        let mut details = Vec::new();
        self.search(&fates, &mut details);
        for (label, fate) in details {
            self.program.place(label);
            self.detail(fate, opens);
        }
        self.program.place(newer);
        let telling = u32::try_from(report_protocol::REPORT_SYSCALL).expect("a number of 32 bits");
        self.program.branch(Test::Is(telling), teller, absent);
        self.answers();
        self.program.finish()
    }

    /// Finds the loaded number in the sorted `fates` by binary search.
    fn search(&mut self, fates: &[(u32, Fate)], details: &mut Vec<(Label, Fate)>) {
        let (left, right) = fates.split_at(fates.len() / 2);
        match (left, right) {
            (_, []) => {}
            ([], [(number, fate), ..]) => {
                let target = self.target(*fate, details);
                self.program.branch(Test::Is(*number), target, self.allow);
            }
            (left, [(middle, _), ..]) => {
                let upper = self.program.label();
                self.program.branch_away(Test::AtLeast(*middle), upper);
                self.search(left, details);
                self.program.place(upper);
                self.search(right, details);
            }
        }
    }

    /// The target for a call with this fate. If it needs a closer look, adds it to `details`.
    fn target(&mut self, fate: Fate, details: &mut Vec<(Label, Fate)>) -> Label {
        match fate {
            Fate::Refuse(errno) => self.refusal(errno),
            Fate::Trap => self.trap,
            Fate::TrapAlways => self.notify,
            Fate::Open { .. }
            | Fate::Make { .. }
            | Fate::Control { .. }
            | Fate::Socket
            | Fate::LocalSocket { .. }
            | Fate::EventSocket { .. }
            | Fate::Send { .. }
            | Fate::Addressed { .. }
            | Fate::Times { .. }
            | Fate::Connect { .. }
            | Fate::Process { .. }
            | Fate::Limits { .. }
            | Fate::Cores
            | Fate::Priority { .. }
            | Fate::Namespaces { .. }
            | Fate::Hiding
            | Fate::SocketOption => {
                if let Some((known, _)) = details.iter().find(|(_, known)| *known == fate) {
                    return *known;
                }
                let label = self.program.label();
                details.push((label, fate));
                label
            }
        }
    }

    fn detail(&mut self, fate: Fate, opens: Option<u32>) {
        match fate {
            Fate::Open { flags } => self.open(flags, opens),
            Fate::Make { mode } => self.make(mode),
            Fate::Control { told } => self.control(told),
            Fate::Socket => self.socket(),
            Fate::Send { flags, address } => self.send(flags, address),
            Fate::Addressed { address } => self.notify_with(address),
            Fate::Times { path } => self.times(path),
            Fate::Connect { length } => self.connect(length),
            Fate::SocketOption => self.socket_option(),
            Fate::Process { number } => self.process(number),
            Fate::Limits { cores } => self.limits(cores),
            Fate::Cores => self.cores(),
            Fate::Priority { one } => self.priority(one),
            Fate::Namespaces { flags } => self.namespaces(flags),
            Fate::Hiding => self.hiding(),
            Fate::LocalSocket { told } => self.only_local_socket(told),
            Fate::EventSocket { told } => self.no_event_socket(told),
            Fate::Refuse(_) | Fate::Trap | Fate::TrapAlways => {
                unreachable!("these are told by number")
            }
        }
    }

    /// An open with `O_PATH` only refers to an object. It says nothing about the content, whatever other flags it has.
    fn open(&mut self, flags: u32, trapped: Option<u32>) {
        self.load_argument(flags);
        self.program.branch_away(Test::Any(libc::O_PATH.cast_unsigned()), self.allow);
        if let Some(trapped) = trapped {
            let inexact = self.program.label();
            self.program.branch(Test::Any(trapped), inexact, self.allow);
            self.program.place(inexact);
        }
        // The kernel uses the mode only when it creates a file.
        let makes = self.program.label();
        let making = (libc::O_CREAT | TEMPORARY).cast_unsigned();
        self.program.branch(Test::Any(making), makes, self.trap);
        self.program.place(makes);
        self.make(flags + 1);
    }

    /// The library removes set-user-ID and set-group-ID bits from its modes. A call that has them is not the library's.
    fn make(&mut self, mode: u32) {
        self.load_argument(mode);
        self.program.branch(Test::Any(set_id::BITS), self.notify, self.trap);
    }

    fn control(&mut self, told: bool) {
        let typing = if told { self.notify } else { self.refusal(libc::EPERM) };
        let absent = self.refusal(libc::ENOTTY);
        self.load_argument(1);
        let changing = if told { self.notify } else { self.allow };
        for (commands, fate) in [
            (calls::TERMINAL_COMMANDS, typing),
            (calls::TERMINAL_CHANGES, changing),
            (calls::FILE_COMMANDS, absent),
        ] {
            for &command in commands {
                self.program.branch_away(Test::Is(command), fate);
            }
        }
        for (first, last, told) in calls::CONSOLES {
            let [within, beyond] = [(); 2].map(|()| self.program.label());
            self.program.branch_away(Test::AtLeast(last + 1), beyond);
            self.program.branch(Test::AtLeast(first), within, beyond);
            self.program.place(within);
            for &command in told {
                self.program.branch_away(Test::Is(command), self.allow);
            }
            self.jump(typing);
            self.program.place(beyond);
        }
        self.jump(self.allow);
    }

    /// A call with a path in that argument goes to the supervisor. Without a path a cookie counts.
    fn times(&mut self, path: u32) {
        self.branch_on_pointer(path, self.notify, self.trap);
    }

    /// If the address of this length may be a unix socket's (`unix(7)`), the call goes to the supervisor. The kernel
    /// accepts no longer ones for unix sockets, so for those a cookie counts.
    fn connect(&mut self, length: u32) {
        let longest = u32::try_from(size_of::<libc::sockaddr_un>()).expect("110 bytes");
        self.load_argument(length);
        self.program.branch(Test::AtLeast(longest + 1), self.trap, self.notify);
    }

    fn answers(&mut self) {
        self.program.place(self.trap);
        self.unless_cookie(self.notify);
        self.program.place(self.notify);
        self.program.answer(libc::SECCOMP_RET_USER_NOTIF);
        for (errno, label) in std::mem::take(&mut self.refusals) {
            self.program.place(label);
            self.program.answer(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned());
        }
        self.program.place(self.allow);
        self.program.answer(libc::SECCOMP_RET_ALLOW);
    }

    /// Lets the call pass if its sixth argument is the cookie, else goes to `label`.
    fn unless_cookie(&mut self, label: Label) {
        let Some(cookie) = self.cookie else { return self.jump(label) };
        let [low, high] = [cookie & u64::from(u32::MAX), cookie >> 32]
            .map(|half| u32::try_from(half).expect("half a word"));
        let first = self.program.label();
        self.load_argument(5);
        self.program.branch(Test::Is(low), first, label);
        self.program.place(first);
        self.load(offset_of!(seccomp_data, args) + 5 * size_of::<u64>() + size_of::<u32>());
        self.program.branch(Test::Is(high), self.allow, label);
    }

    fn refusal(&mut self, errno: c_int) -> Label {
        let program = &mut self.program;
        *self.refusals.entry(errno).or_insert_with(|| program.label())
    }

    fn jump(&mut self, label: Label) {
        // Both branches lead to the label, whatever is loaded.
        self.program.branch(Test::Any(0), label, label);
    }

    /// Loads the low half of an argument, enough for `int`s and flags. It comes first on both supported architectures.
    fn load_argument(&mut self, number: u32) {
        self.load_argument_at(number, 0);
    }

    /// Loads the half of an argument at `offset`.
    fn load_argument_at(&mut self, number: u32, offset: usize) {
        let argument = number as usize * size_of::<u64>();
        self.load(offset_of!(seccomp_data, args) + argument + offset);
    }

    /// Goes to `given` if the argument is a pointer, to `null` if it is zero.
    fn branch_on_pointer(&mut self, argument: u32, given: Label, null: Label) {
        for half in [0, size_of::<u32>()] {
            self.load_argument_at(argument, half);
            self.program.branch_away(Test::AtLeast(1), given);
        }
        self.jump(null);
    }

    fn load(&mut self, offset: usize) {
        self.program.load(u32::try_from(offset).expect("the structure has 64 bytes"));
    }
}
