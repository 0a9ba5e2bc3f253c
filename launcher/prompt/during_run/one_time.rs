//! What is still to come after a yes for once: the call that the preload library makes when it has asked, and what a
//! program reads of the file that it was started from.
//!
//! A start may fail, and another one come: so nothing counts before it was seen that the process executes what it was to.
//! It is looked when the process makes its next call: by then the start has come about, or never will.

use std::fs;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use jp_confine_policy::Capabilities;
use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::pread;

use super::question::Question;
use super::wish::Wish;
use crate::prompt::during_run::identity::{Asker, Identity};
use crate::sys::identity::look_into;
use crate::sys::proc::descendants;

/// For so long the call of the library's is waited for.
const ONE_CALL: Duration = Duration::from_secs(2);

/// The flag of who was forked and has executed nothing since (`PF_FORKNOEXEC`; `F` in `ps(1)`).
const FORKED: u64 = 0x40;

/// No address of a program's on any architecture, whatever its upper bits may be used for: to read there is to learn
/// whether there is memory at all, and waits for no page.
const NOWHERE: u64 = 0b11 << 55;

/// Whom a question comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) asker: Asker,
    /// The thread that waits.
    pub(crate) tid: i32,
    /// Where in its memory the instruction is that made the call.
    pub(crate) instruction: u64,
}

/// What was consented to and is not done yet.
#[derive(Debug, Default)]
pub(super) struct Once {
    acts: Vec<Act>,
    starts: Vec<Start>,
}

/// One call of a thread's, by the code that asked about it.
#[derive(Debug)]
struct Act {
    tid: i32,
    code: Range<u64>,
    wish: Wish,
    until: Instant,
}

/// A start from a file that is asked about: an interpreter reads its script, more than once some do.
#[derive(Debug)]
struct Start {
    process: Process,
    path: Vec<u8>,
    /// What was asked about, at the path then.
    file: Identity,
    /// `None` once it has come about.
    under_way: Option<UnderWay>,
}

/// What tells whether a start comes about.
#[derive(Debug)]
struct UnderWay {
    /// The thread that makes the call.
    tid: i32,
    mark: Mark,
    /// The program that is executed then: the file itself, or what interprets it.
    image: Identity,
}

/// What a process has until it executes something, and loses by nothing else.
#[derive(Debug)]
enum Mark {
    /// That it was forked, and has executed nothing.
    Forked,
    /// Its memory: who opened that (`/proc/PID/mem`) has it still when the process has another.
    Memory(OwnedFd),
}

/// A process, told from others that have its number later.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    /// Since when it runs, as the kernel counts.
    since: String,
}

impl Once {
    /// Keeps what is to come after a yes to this question of the library's. Of one thread the last one counts.
    pub(super) fn keep(&mut self, Asking { tid, instruction, .. }: Asking, question: &Question) {
        let now = Instant::now();
        self.acts.retain(|act| act.tid != tid && act.until > now);
        let (code, until) = (code_at(tid, instruction), now + ONE_CALL);
        let act = |wish: &Wish| Act { tid, code: code.clone(), wish: wish.clone(), until };
        self.acts.extend(question.wishes.iter().map(act));
    }

    /// Keeps what a program may read that is started now by a yes to these questions.
    pub(super) fn begin_start(&mut self, tid: i32, questions: &[Question], image: Identity) {
        self.starts.retain(|start| start.process.is_there());
        for Question { pid, wishes, .. } in questions {
            self.starts.extend(wishes.iter().filter_map(|wish| Start::of(*pid, tid, wish, image)));
        }
    }

    pub(super) fn is_any_under_way(&self) -> bool {
        self.starts.iter().any(|start| start.under_way.is_some())
    }

    /// A thread of this process makes a call.
    pub(super) fn settle_start(&mut self, (pid, tid): (u32, i32), executes: bool) {
        self.starts.retain(|start| start.process.is_there());
        self.starts.retain_mut(|start| match &start.under_way {
            Some(under_way) if start.process.pid == pid => {
                match under_way.has_come(&start.process) {
                    Some(true) => start.under_way = None,
                    Some(false) => return false,
                    None => return !executes && tid != under_way.tid,
                }
                true
            }
            _ => true,
        });
    }

    /// Whether this is among what is to come.
    pub(super) fn covers(&self, asking: Asking, pid: u32, wish: &Wish) -> bool {
        self.acts.iter().any(|act| act.is(asking, wish))
            || wish.wanted == Capabilities::READ
                && self.starts.iter().any(|start| start.opens(pid, &wish.path))
    }

    /// It has come.
    pub(super) fn use_up(&mut self, asking: Asking, question: &Question) {
        self.acts.retain(|act| !question.wishes.iter().any(|wish| act.is(asking, wish)));
    }
}

impl Act {
    /// Whether it is this that somebody is about to do now.
    fn is(&self, asking: Asking, wish: &Wish) -> bool {
        asking.asker == Asker::Call
            && asking.tid == self.tid
            && self.code.contains(&asking.instruction)
            && self.until > Instant::now()
            && self.wish.covers(wish)
            && self.wish.file == wish.file
    }
}

impl Start {
    /// That which is about to come. None where it could not be told later whether it has.
    fn of(pid: u32, tid: i32, wish: &Wish, image: Identity) -> Option<Self> {
        let reads = wish.wanted.contains(Capabilities::READ.union(Capabilities::EXECUTE));
        let (path, file) = (wish.path.clone(), wish.file.filter(|_| reads)?);
        let process = Process::of(pid)?;
        let under_way = Some(UnderWay { tid, mark: Mark::of(&process, tid)?, image });
        Some(Self { process, path, file, under_way })
    }

    /// Whether this process may read what is at that path: its start has come about, and the file is that of the
    /// question, in the place of which another may be put.
    fn opens(&self, pid: u32, path: &[u8]) -> bool {
        self.under_way.is_none()
            && self.process.pid == pid
            && self.path == path
            && self.process.is_there()
            && Identity::at(path) == Some(self.file)
    }
}

impl UnderWay {
    /// Whether the process executes what it was to; `None` where it has executed nothing since.
    fn has_come(&self, process: &Process) -> Option<bool> {
        self.mark.is_lost(process).then(|| process.image() == Some(self.image))
    }
}

impl Mark {
    /// That of a process of which this thread waits. None where it has none that is seen.
    fn of(process: &Process, tid: i32) -> Option<Self> {
        if process.is_forked()? {
            return Some(Self::Forked);
        }
        let path = format!("/proc/{}/task/{tid}/mem", process.pid);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let memory = Self::Memory(look_into(|| open(&path, flags, Mode::empty())).ok()?);
        (!memory.is_lost(process)).then_some(memory)
    }

    /// Whether the process has executed something since. Not told where others use the same memory and go on.
    fn is_lost(&self, process: &Process) -> bool {
        match self {
            Self::Forked => process.is_forked() == Some(false),
            // Memory that nobody uses any more ends at once; of other memory that is an error.
            Self::Memory(memory) => pread(memory, &mut [0; 1], NOWHERE) == Ok(0),
        }
    }
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, since: Self::field(pid, 22)? })
    }

    /// A field of its status, as `proc_pid_stat(5)` numbers them.
    fn field(pid: u32, number: usize) -> Option<String> {
        let status = descendants::status_of(&Path::new("/proc").join(pid.to_string()))?;
        // The third is the first behind the name.
        descendants::fields(&status)?.nth(number - 3).map(str::to_owned)
    }

    /// Whether it was forked and has executed nothing since.
    fn is_forked(&self) -> Option<bool> {
        let flags: u64 = Self::field(self.pid, 9)?.parse().ok()?;
        Some(flags & FORKED != 0)
    }

    /// The program that it executes. None where that is withheld.
    fn image(&self) -> Option<Identity> {
        let link = format!("/proc/{}/exe", self.pid);
        look_into(|| stat(&link)).ok().as_ref().map(Identity::from)
    }

    /// Whether it has not ended.
    fn is_there(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The code of a thread's that this instruction is of: what lies in its memory as one (`proc_pid_maps(5)`). None where
/// that cannot be told.
fn code_at(tid: i32, instruction: u64) -> Range<u64> {
    let maps = fs::read(format!("/proc/{tid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let range = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        Some(number(start)?..number(end)?)
    };
    maps.lines().filter_map(range).find(|code| code.contains(&instruction)).unwrap_or_default()
}
