//! Builds the seccomp filter, which decides for each system call whether it goes to the supervisor, fails at once, or
//! passes.
//!
//! The filter looks at a call's number first, then at its arguments, and at the cookie last. Calls that always pass are
//! recognised by number alone. The kernel finds that out once, and then skips the filter for them.

mod arguments;
mod assembler;
mod fates;
mod network;
mod processes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem::offset_of;

use jp_confine_engine::calls::{Arg, LAST_KNOWN, Trap};
use jp_confine_engine::{report_protocol, set_id};
use libc::{c_int, seccomp_data, sock_filter};

pub(crate) use self::arguments::is_refused_of_terminals;
use self::assembler::{Assembler, Label, Test};
use self::fates::Fate;

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
    /// Starts of programs that the library judged, too. The others are always judged: to Landlock a loader only reads
    /// its program (ld.so(8)), and its denials are not reported.
    pub(crate) executes: bool,
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
    Writer::new(Some(traps), sockets, cookie).write()
}

/// A filter that lets everything pass, to test whether one can be installed.
pub(crate) fn nothing() -> Vec<sock_filter> {
    let mut program = Assembler::default();
    program.answer(libc::SECCOMP_RET_ALLOW);
    program.finish()
}

/// The filter for a run without a supervisor. It only denies.
pub(crate) fn refusals(sockets: Sockets) -> Vec<sock_filter> {
    Writer::new(None, sockets, None).write()
}

/// The flags of which any one traps an open. `None` traps all opens.
fn trapped_flags(traps: Traps) -> Option<u32> {
    let directory = if traps.listings { libc::O_DIRECTORY } else { 0 };
    let writing = if traps.writes { WRITING } else { 0 };
    (!traps.reads).then_some((directory | writing).cast_unsigned())
}

/// The filter under construction, and the answers that all its parts share.
struct Writer {
    program: Assembler,
    /// The groups that the supervisor judges, if there is one.
    traps: Option<Traps>,
    sockets: Sockets,
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
    fn new(traps: Option<Traps>, sockets: Sockets, cookie: Option<u64>) -> Self {
        let mut program = Assembler::default();
        let [allow, trap, notify] = [(); 3].map(|()| program.label());
        Self { program, traps, sockets, cookie, allow, trap, notify, refusals: BTreeMap::new() }
    }

    /// The whole filter.
    fn write(mut self) -> Vec<sock_filter> {
        let absent = self.refusal(libc::ENOSYS);
        self.load(offset_of!(seccomp_data, arch));
        let native = self.program.label();
        self.program.branch(Test::Is(ARCHITECTURE), native, absent);
        self.program.place(native);
        self.load(offset_of!(seccomp_data, nr));
        // This also covers the numbers of x32.
        debug_assert!(i64::from(X32) > LAST_KNOWN, "x32 is beyond what is known");
        let beyond = u32::try_from(LAST_KNOWN + 1).expect("numbers of calls are small");
        let newer = self.program.label();
        self.program.branch_away(Test::AtLeast(beyond), newer);
        let mut details = Vec::new();
        self.search(&fates::ranges(self.traps, self.sockets), &mut details);
        for (label, trap) in details {
            self.program.place(label);
            self.detail(trap);
        }
        self.program.place(newer);
        let telling = u32::try_from(report_protocol::REPORT_SYSCALL).expect("a number of 32 bits");
        // Without a supervisor here, that of an outer run may receive reports.
        let teller = if self.traps.is_some() { self.notify } else { self.allow };
        self.program.branch(Test::Is(telling), teller, absent);
        self.answers();
        self.program.finish()
    }

    /// Finds the range of the loaded number by binary search.
    fn search(&mut self, ranges: &[(u32, Fate)], details: &mut Vec<(Label, Trap)>) {
        let (left, right) = ranges.split_at(ranges.len() / 2);
        let Some((middle, _)) = right.first().filter(|_| !left.is_empty()) else { return };
        let [low, high] = [left, right].map(|part| match part {
            [(_, fate)] => self.target(*fate, details),
            _ => self.program.label(),
        });
        self.program.branch(Test::AtLeast(*middle), high, low);
        for (label, part) in [(low, left), (high, right)] {
            if part.len() > 1 {
                self.program.place(label);
                self.search(part, details);
            }
        }
    }

    /// The target for a call with this fate. If it needs a closer look, adds it to `details`.
    fn target(&mut self, fate: Fate, details: &mut Vec<(Label, Trap)>) -> Label {
        let trap = match fate {
            Fate::Fails(errno) => return self.refusal(errno),
            Fate::By(Trap::Never) => return self.allow,
            Fate::By(Trap::Unmarked) => return self.trap,
            Fate::By(Trap::Always) => return self.notify,
            Fate::By(trap) => trap,
        };
        if let Some((known, _)) = details.iter().find(|(_, known)| *known == trap) {
            return *known;
        }
        let label = self.program.label();
        details.push((label, trap));
        label
    }

    fn detail(&mut self, trap: Trap) {
        match trap {
            Trap::Never | Trap::Unmarked | Trap::Always => unreachable!("the number tells"),
            Trap::ByFlags(flags) => self.open(flags),
            Trap::ByMode(mode) => self.make(mode),
            Trap::ByCommand => self.control(),
            Trap::BySocket => self.socket(),
            Trap::Send { flags, address } => self.send(flags, address),
            Trap::ByAddress(address) => self.notify_with(address),
            Trap::ByPath(path) => self.times(path),
            Trap::ByLength(length) => self.connect(length),
            Trap::ByOption => self.socket_option(),
            Trap::ByProcess(number) => self.process(number),
            Trap::Limits => self.limits(),
            Trap::CoreLimit => self.cores(),
            Trap::ByKind(one) => self.priority(one),
            Trap::ByNamespaces(flags) => self.namespaces(flags),
            Trap::HiddenMemory => self.hiding(),
        }
    }

    /// An open with `O_PATH` only refers to an object. It says nothing about the content, whatever other flags it has.
    fn open(&mut self, flags: Arg) {
        self.load_argument(flags);
        self.program.branch_away(Test::Any(libc::O_PATH.cast_unsigned()), self.allow);
        if let Some(trapped) = self.traps.and_then(trapped_flags) {
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
    fn make(&mut self, mode: Arg) {
        self.load_argument(mode);
        self.program.branch(Test::Any(set_id::BITS), self.notify, self.trap);
    }

    /// `ioctl`: some commands are denied. A supervisor denies typing for the user, and delays changes that have to wait
    /// for prompts.
    fn control(&mut self) {
        let told = self.traps.is_some();
        let typing = if told { self.notify } else { self.refusal(libc::EPERM) };
        let absent = self.refusal(libc::ENOTTY);
        self.load_argument(1);
        let changing = if told { self.notify } else { self.allow };
        for (commands, fate) in [
            (arguments::TERMINAL_COMMANDS, typing),
            (arguments::TERMINAL_CHANGES, changing),
            (arguments::FILE_COMMANDS, absent),
        ] {
            for &command in commands {
                self.program.branch_away(Test::Is(command), fate);
            }
        }
        for (first, last, told) in arguments::CONSOLES {
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
    fn times(&mut self, path: Arg) {
        self.branch_on_pointer(path, self.notify, self.trap);
    }

    /// If the address of this length may be a unix socket's (`unix(7)`), the call goes to the supervisor. The kernel
    /// accepts no longer ones for unix sockets, so for those a cookie counts.
    fn connect(&mut self, length: Arg) {
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
    fn load_argument(&mut self, number: Arg) {
        self.load_argument_at(number, 0);
    }

    /// Loads the half of an argument at `offset`.
    fn load_argument_at(&mut self, number: Arg, offset: usize) {
        let argument = usize::from(number) * size_of::<u64>();
        self.load(offset_of!(seccomp_data, args) + argument + offset);
    }

    /// Goes to `given` if the argument is a pointer, to `null` if it is zero.
    fn branch_on_pointer(&mut self, argument: Arg, given: Label, null: Label) {
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
