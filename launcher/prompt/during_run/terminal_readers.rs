//! Holds the run's threads that wait for keys when a prompt comes. They would take the answer, or force a confirmation
//! word.
//!
//! Each such thread is held alone (`sys::tracing`). A signal would stop its whole process: the shell would report that,
//! and take the terminal. A process that is already traced cannot be held, and is stopped.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use rustix::fs::{FileType, major, minor, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::prompt::turns::own_terminal;
use crate::sys::groups::{group_of, share_session};
use crate::sys::proc::descendants;
use crate::sys::tracing;

/// How many times to look again for readers, and how long to wait between the looks.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// Calls that wait for terminal input, and which argument is the descriptor. `io_submit(2)` has it in memory, and waits
/// in nothing but a read.
const READING: [(libc::c_long, Option<usize>); 7] = [
    (libc::SYS_read, Some(0)),
    (libc::SYS_readv, Some(0)),
    (libc::SYS_preadv, Some(0)),
    (libc::SYS_preadv2, Some(0)),
    (libc::SYS_splice, Some(0)),
    (libc::SYS_sendfile, Some(1)),
    (libc::SYS_io_submit, None),
];

/// Calls that wait until there is something to read.
const WAITING: &[libc::c_long] = &[
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_getevents,
    // Resumes an interrupted wait after a hold or a stop.
    libc::SYS_restart_syscall,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// The device number of `/dev/tty`, which does not tell whose terminal it was opened as.
const CONTROLLING: (u32, u32) = (5, 0);

/// Which threads count as readers of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Those whose descriptor refers to it.
    Surely,
    /// Also those that wait where such readers wait. A read goes on even after its descriptor is closed.
    Perhaps,
}

/// The receiver of the keys until the prompt came.
#[derive(Clone, Copy, Debug)]
struct Keys {
    reading: Reading,
    /// The group in the foreground.
    foreground: Pid,
    /// The terminal's device number, if it is known.
    terminal: Option<u64>,
}

/// How a thread uses the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Nothing,
    /// It runs, so its use is unknown.
    Perhaps,
    /// It waits for them.
    Takes,
}

/// The run's threads that wait for keys. They are held until the thread that holds them ends.
#[derive(Debug)]
pub(super) struct Readers {
    /// The terminal's device number, if it is known.
    terminal: Option<u64>,
    /// The held threads.
    held: HashSet<i32>,
    /// Processes that had to be stopped instead, by the signal that the terminal uses (`SIGTTIN`).
    stopped: HashSet<Pid>,
}

impl Readers {
    /// Holds nothing yet.
    pub(super) fn new() -> Self {
        Self { terminal: own_terminal(), held: HashSet::new(), stopped: HashSet::new() }
    }

    /// Holds all threads that wait for keys. `foreground` is the group that received them. A running thread may be past
    /// the point where the terminal would stop it, and about to wait. Such threads are looked at again for a moment.
    pub(super) fn hold(&mut self, foreground: Pid, reading: Reading) {
        let keys = Keys { reading, foreground, terminal: self.terminal };
        for _ in 0..LOOKS {
            let mut all_known = true;
            for process in descendants::all() {
                all_known &= self.hold_of(process.pid, keys);
            }
            if all_known {
                break;
            }
            thread::sleep(LOOK);
        }
    }

    /// Holds the threads of a process that wait for keys. Returns whether the state of all threads is known.
    fn hold_of(&mut self, process: i32, keys: Keys) -> bool {
        let mut all_known = true;
        for (thread, what) in keys.threads(process) {
            all_known &= what != Use::Perhaps;
            // The thread may have ended meanwhile.
            if what == Use::Takes
                && self.held.insert(thread)
                && tracing::hold(thread) == Err(Errno::PERM)
            {
                self.stopped.extend(stop(process));
            }
        }
        all_known
    }

    /// Continues the stopped processes.
    pub(super) fn go_on(&self) {
        for process in &self.stopped {
            // The process may have ended.
            let _ = kill_process(*process, Signal::CONT);
        }
    }
}

fn stop(process: i32) -> Option<Pid> {
    let process = Pid::from_raw(process)?;
    kill_process(process, Signal::TTIN).is_ok().then_some(process)
}

impl Keys {
    /// How each thread of a process uses the keys.
    fn threads(self, pid: i32) -> Vec<(i32, Use)> {
        let is_unstopped = self.is_unstopped(Pid::from_raw(pid));
        let number = |thread: &Path| thread.file_name().and_then(OsStr::to_str)?.parse().ok();
        entries(&Path::new("/proc").join(pid.to_string()).join("task"))
            .filter_map(|thread| Some((number(&thread)?, self.use_of(&thread, is_unstopped))))
            .collect()
    }

    /// Whether the terminal does not stop a process that ends a wait and reads. That is so for the group that received
    /// the keys. It is also so for another session, such as a server that was handed the terminal (tmux).
    fn is_unstopped(self, process: Option<Pid>) -> bool {
        process.is_none_or(|process| {
            !share_session(process, getpid()) || group_of(process) == Some(self.foreground)
        })
    }

    fn may_come_from(self, descriptor: &Path) -> bool {
        stat(descriptor).is_ok_and(|file| {
            let number = (major(file.st_rdev), minor(file.st_rdev));
            FileType::from_raw_mode(file.st_mode) == FileType::CharacterDevice
                && (Some(file.st_rdev) == self.terminal || number == CONTROLLING)
        })
    }

    /// Whether a thread has the terminal open. Each thread may have its own descriptors.
    fn are_open_in(self, thread: &Path) -> bool {
        entries(&thread.join("fd")).any(|one| self.may_come_from(&one))
    }

    /// Judges a thread by the call it is in (`proc_pid_syscall(5)`). A call that waits does not tell for which file. If
    /// a thread reads after such a call, the terminal stops it unless it `is_unstopped`.
    fn use_of(self, thread: &Path, is_unstopped: bool) -> Use {
        let call = fs::read_to_string(thread.join("syscall")).unwrap_or_default();
        let mut words = call.split_whitespace();
        let number = words.next().unwrap_or_default();
        if number == "running" {
            return if self.are_open_in(thread) { Use::Perhaps } else { Use::Nothing };
        }
        let Ok(number) = number.parse() else { return Use::Nothing };
        let takes = match READING.iter().find(|(call, _)| *call == number) {
            Some((_, None)) => true,
            Some((_, Some(argument))) => {
                let descriptor = words.nth(*argument).and_then(descriptor);
                let file = descriptor.map(|number| thread.join(format!("fd/{number}")));
                let is_of_it = file.is_some_and(|file| self.may_come_from(&file));
                is_of_it || self.reading == Reading::Perhaps && may_read(thread)
            }
            None => is_unstopped && WAITING.contains(&number) && self.are_open_in(thread),
        };
        if takes { Use::Takes } else { Use::Nothing }
    }
}

/// Whether a thread waits where the kernel places readers of a terminal (`/proc/PID/wchan`), or the place is unknown.
/// Readers of a connection wait there, too.
fn may_read(thread: &Path) -> bool {
    let place = fs::read_to_string(thread.join("wchan")).unwrap_or_default();
    matches!(place.as_str(), "" | "0" | "wait_woken" | "n_tty_read")
}

/// The descriptor in an argument. The kernel uses the lower half.
fn descriptor(argument: &str) -> Option<u64> {
    let argument = u64::from_str_radix(argument.strip_prefix("0x")?, 16).ok()?;
    Some(argument & u64::from(u32::MAX))
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
