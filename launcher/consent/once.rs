//! What is still to come after a yes for once: the call that the preload library makes when it has asked, and what a
//! program reads of the file that it was started from.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jp_confine_policy::Capabilities;

use super::{Asker, Question, Wish};
use crate::asked::path_of;
use crate::descendants;

/// For so long the call of the library's is waited for.
const ONE_CALL: Duration = Duration::from_secs(2);

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
    /// What was at the path then.
    file: File,
    /// Where the process had its arguments before.
    arguments: u64,
}

/// A file, told from others at its path: device and inode.
#[derive(Debug, PartialEq, Eq)]
struct File(u64, u64);

/// A process, told from others that have its number later.
#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    /// Since when it runs, as the kernel counts.
    since: String,
}

impl Once {
    /// Keeps what is to come after a yes to this question.
    pub(super) fn keep(&mut self, asking: Asking, question: &Question) {
        self.starts.retain(|start| start.process.is_there());
        for wish in &question.wishes {
            if wish.wanted.contains(Capabilities::READ.union(Capabilities::EXECUTE)) {
                self.starts.retain(|start| !start.is_of(question.pid, &wish.path));
                self.starts.extend(Start::of(question.pid, &wish.path));
            }
        }
        if asking.asker == Asker::Library {
            self.keep_acts(asking, &question.wishes);
        }
    }

    /// Of one thread the last question counts.
    fn keep_acts(&mut self, Asking { tid, instruction, .. }: Asking, wishes: &[Wish]) {
        let now = Instant::now();
        self.acts.retain(|act| act.tid != tid && act.until > now);
        let (code, until) = (code_at(tid, instruction), now + ONE_CALL);
        let act = |wish: &Wish| Act { tid, code: code.clone(), wish: wish.clone(), until };
        self.acts.extend(wishes.iter().map(act));
    }

    /// Whether this is among what is to come.
    pub(super) fn covers(&self, asking: Asking, pid: u32, wish: &Wish) -> bool {
        self.acts.iter().any(|act| act.is(asking, wish))
            || wish.wanted == Capabilities::READ
                && self.starts.iter().any(|start| start.is_of(pid, &wish.path) && start.has_come())
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
    }
}

impl Start {
    /// That which is about to come. None where it could not be told later whether it has.
    fn of(pid: u32, path: &[u8]) -> Option<Self> {
        let (process, file) = (Process::of(pid)?, File::at(path)?);
        let arguments = process.arguments()?;
        Some(Self { process, path: path.to_owned(), file, arguments })
    }

    fn is_of(&self, pid: u32, path: &[u8]) -> bool {
        self.process.pid == pid && self.path == path
    }

    /// Whether the process has executed something since, and the file is that of the question: a start may fail, and
    /// another file may be put in the place of the first.
    fn has_come(&self) -> bool {
        let is_elsewhere = |arguments| arguments != self.arguments;
        self.process.is_there()
            && self.process.arguments().is_some_and(is_elsewhere)
            && File::at(&self.path).as_ref() == Some(&self.file)
    }
}

impl File {
    fn at(path: &[u8]) -> Option<Self> {
        let found = path_of(path).symlink_metadata().ok()?;
        Some(Self(found.dev(), found.ino()))
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

    /// Where in its memory its arguments begin: each start has them at another place, drawn by the kernel. None where
    /// that is withheld, or it has no memory any more.
    fn arguments(&self) -> Option<u64> {
        Self::field(self.pid, 48)?.parse().ok().filter(|place| *place != 0)
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
