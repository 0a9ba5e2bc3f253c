//! Tracks the uses of a yes for once that are still to come. These are the call that the preload library makes after it
//! asked, and a program's reads of the file it was started from.
//!
//! A start may fail, and another may follow. Nothing counts until the process is seen to execute the allowed program.
//! This is checked at the next call of the process: by then the start has succeeded or never will.

use std::fs;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use jp_confine_engine::Capabilities;
use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::pread;

use super::question::Question;
use super::wish::Wish;
use crate::prompt::during_run::identity::{FileIdentity, PromptedCaller};
use crate::sys::identity::look_into;
use crate::sys::proc::descendants;

/// How long to wait for the library's call.
const ONE_CALL: Duration = Duration::from_secs(2);

/// The flag of a process that was forked and has executed nothing since (`PF_FORKNOEXEC`, see `F` in `ps(1)`).
const FORKED: u64 = 0x40;

/// An address that no program has on any architecture, whatever the upper bits are used for. Reading there tells
/// whether there is memory at all, and never waits for a page.
const NOWHERE: u64 = 0b11 << 55;

/// The caller that a prompt comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) asker: PromptedCaller,
    /// The waiting thread.
    pub(crate) tid: i32,
    /// The address of the instruction that made the call.
    pub(crate) instruction: u64,
}

/// Uses that are allowed and still to come.
#[derive(Debug, Default)]
pub(super) struct Once {
    acts: Vec<Act>,
    starts: Vec<Start>,
}

/// One call of a thread, made by the code that asked about it.
#[derive(Debug)]
struct Act {
    tid: i32,
    code: Range<u64>,
    wish: Wish,
    until: Instant,
}

/// A start of a file that needed consent. An interpreter reads its script, and some do so more than once.
#[derive(Debug)]
struct Start {
    process: Process,
    path: Vec<u8>,
    /// The file that was at the path when it was asked about.
    file: FileIdentity,
    /// `None` once the start has succeeded.
    under_way: Option<UnderWay>,
}

/// Tells whether a start succeeds.
#[derive(Debug)]
struct UnderWay {
    /// The thread that makes the call.
    tid: i32,
    mark: Mark,
    /// The program that will be executed: the file itself, or its interpreter.
    image: FileIdentity,
}

/// Something that a process has until it executes a program, and loses in no other way.
#[derive(Debug)]
enum Mark {
    /// The fork flag: it was forked, and has executed nothing.
    Forked,
    /// Its memory. An open `/proc/PID/mem` still refers to the old memory after the process has new memory.
    Memory(OwnedFd),
}

/// A process, told from later ones with the same number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Process {
    pid: u32,
    /// When it started, as the kernel counts.
    since: String,
}

impl Once {
    /// Keeps the uses that follow a yes to the library's prompt. For each thread only the last prompt counts.
    pub(super) fn keep(&mut self, Asking { tid, instruction, .. }: Asking, question: &Question) {
        let now = Instant::now();
        self.acts.retain(|act| act.tid != tid && act.until > now);
        let (code, until) = (code_at(tid, instruction), now + ONE_CALL);
        let act = |wish: &Wish| Act { tid, code: code.clone(), wish: wish.clone(), until };
        self.acts.extend(question.wishes.iter().map(act));
    }

    /// Keeps the files that a program may read when these prompts allowed its start.
    pub(super) fn begin_start(&mut self, tid: i32, questions: &[Question], image: FileIdentity) {
        self.starts.retain(|start| start.process.is_there());
        for Question { pid, wishes, .. } in questions {
            self.starts.extend(wishes.iter().filter_map(|wish| Start::of(*pid, tid, wish, image)));
        }
    }

    pub(super) fn is_any_under_way(&self) -> bool {
        self.starts.iter().any(|start| start.under_way.is_some())
    }

    /// Called when a thread of this process makes a call.
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

    /// Whether this use is one of those still to come.
    pub(super) fn covers(&self, asking: Asking, pid: u32, wish: &Wish) -> bool {
        self.acts.iter().any(|act| act.is(asking, wish))
            || wish.wanted == Capabilities::READ
                && self.starts.iter().any(|start| start.opens(pid, &wish.path))
    }

    /// Removes a use that has now happened.
    pub(super) fn use_up(&mut self, asking: Asking, question: &Question) {
        self.acts.retain(|act| !question.wishes.iter().any(|wish| act.is(asking, wish)));
    }
}

impl Act {
    /// Whether the caller is about to do exactly this.
    fn is(&self, asking: Asking, wish: &Wish) -> bool {
        asking.asker == PromptedCaller::Call
            && asking.tid == self.tid
            && self.code.contains(&asking.instruction)
            && self.until > Instant::now()
            && self.wish.covers(wish)
            && self.wish.file == wish.file
    }
}

impl Start {
    /// A start that is about to happen. `None` if its success could not be detected later.
    fn of(pid: u32, tid: i32, wish: &Wish, image: FileIdentity) -> Option<Self> {
        let reads = wish.wanted.contains(Capabilities::READ.union(Capabilities::EXECUTE));
        let (path, file) = (wish.path.clone(), wish.file.filter(|_| reads)?);
        let process = Process::of(pid)?;
        let under_way = Some(UnderWay { tid, mark: Mark::of(&process, tid)?, image });
        Some(Self { process, path, file, under_way })
    }

    /// Whether this process may read the file at that path. Its start must have succeeded, and the path must still hold
    /// the file of the prompt.
    fn opens(&self, pid: u32, path: &[u8]) -> bool {
        self.under_way.is_none()
            && self.process.pid == pid
            && self.path == path
            && self.process.is_there()
            && FileIdentity::at(path) == Some(self.file)
    }
}

impl UnderWay {
    /// Whether the process executes the allowed program. `None` if it has executed nothing since.
    fn has_come(&self, process: &Process) -> Option<bool> {
        self.mark.is_lost(process).then(|| process.image() == Some(self.image))
    }
}

impl Mark {
    /// A mark of the process whose thread waits here. `None` if no mark can be seen.
    fn of(process: &Process, tid: i32) -> Option<Self> {
        if process.is_forked()? {
            return Some(Self::Forked);
        }
        let path = format!("/proc/{}/task/{tid}/mem", process.pid);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let memory = Self::Memory(look_into(|| open(&path, flags, Mode::empty())).ok()?);
        (!memory.is_lost(process)).then_some(memory)
    }

    /// Whether the process has executed something since. This stays undetected if other processes share its memory and
    /// go on.
    fn is_lost(&self, process: &Process) -> bool {
        match self {
            Self::Forked => process.is_forked() == Some(false),
            // Memory without a user reads as its end. Reading other memory here is an error.
            Self::Memory(memory) => pread(memory, &mut [0; 1], NOWHERE) == Ok(0),
        }
    }
}

impl Process {
    pub(super) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, since: Self::field(pid, 22)? })
    }

    /// A field of its status, numbered as in `proc_pid_stat(5)`.
    fn field(pid: u32, number: usize) -> Option<String> {
        let status = descendants::status_of(&Path::new("/proc").join(pid.to_string()))?;
        // Field 3 is the first after the name.
        descendants::fields(&status)?.nth(number - 3).map(str::to_owned)
    }

    /// Whether it was forked and has executed nothing since.
    fn is_forked(&self) -> Option<bool> {
        let flags: u64 = Self::field(self.pid, 9)?.parse().ok()?;
        Some(flags & FORKED != 0)
    }

    /// The program that it executes. `None` if that is hidden.
    fn image(&self) -> Option<FileIdentity> {
        let link = format!("/proc/{}/exe", self.pid);
        look_into(|| stat(&link)).ok().as_ref().map(FileIdentity::from)
    }

    /// Whether it has this number, and is still running.
    pub(super) fn is(&self, pid: u32) -> bool {
        self.pid == pid && self.is_there()
    }

    /// Whether it is still running.
    pub(super) fn is_there(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The part of a thread's code that contains this instruction: one mapping in `proc_pid_maps(5)`. Empty if that is
/// unknown.
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
