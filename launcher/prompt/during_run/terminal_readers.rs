//! Those of the run who wait for keys when a question comes: they would take the answer, or have it take a countersign.
//!
//! Each such thread is held by itself (`sys::tracing`), since a signal that stops it would stop its process:
//! its shell would say so, and take the terminal. Whom somebody traces already cannot be held, and is stopped.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use rustix::fs::{FileType, major, minor, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgid, getsid, kill_process};

use crate::prompt::turns::own_terminal;
use crate::sys::proc::descendants;
use crate::sys::tracing;

/// How often, and after how long, it is looked again who reads.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// Calls that wait in a terminal for what they read, and which argument has its descriptor. `io_submit(2)` has it in
/// memory, and waits in nothing else.
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
    // What goes on after a hold, or after a stop.
    libc::SYS_restart_syscall,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// The device number of `/dev/tty`, which does not say whose terminal it was opened as.
const CONTROLLING: (u32, u32) = (5, 0);

/// Whom to take for one who reads the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Whose descriptor is of it.
    Surely,
    /// Who waits where such wait, too: a call reads on whatever becomes of its descriptor.
    Perhaps,
}

/// Where keys went until the question came.
#[derive(Clone, Copy, Debug)]
struct Keys {
    reading: Reading,
    /// The group in the foreground.
    foreground: Pid,
    /// The terminal's device number, if it is known.
    terminal: Option<u64>,
}

/// What a thread does with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Nothing,
    /// It runs, so that nothing can be known.
    Perhaps,
    /// It waits for them.
    Takes,
}

/// Those of the run who wait for keys, held until the thread ends that holds them.
#[derive(Debug)]
pub(super) struct Readers {
    /// The terminal's device number, if it is known.
    terminal: Option<u64>,
    /// Threads.
    held: HashSet<i32>,
    /// Processes that had to be stopped instead, as the terminal would stop them (`SIGTTIN`).
    stopped: HashSet<Pid>,
}

impl Readers {
    /// Nobody is held yet.
    pub(super) fn new() -> Self {
        Self { terminal: own_terminal(), held: HashSet::new(), stopped: HashSet::new() }
    }

    /// Holds who waits for keys. `foreground` is the group that they went to. Who is on a processor just now may be
    /// about to wait, past the point at which the terminal would stop it: such are looked at again for a moment.
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

    /// Holds the threads of a process that wait for keys. Whether it is known of all what they do.
    fn hold_of(&mut self, process: i32, keys: Keys) -> bool {
        let mut all_known = true;
        for (thread, what) in keys.threads(process) {
            all_known &= what != Use::Perhaps;
            // It may have ended meanwhile.
            if what == Use::Takes
                && self.held.insert(thread)
                && tracing::hold(thread) == Err(Errno::PERM)
            {
                self.stopped.extend(stop(process));
            }
        }
        all_known
    }

    /// Has those go on that were stopped.
    pub(super) fn go_on(&self) {
        for process in &self.stopped {
            // It may have ended.
            let _ = kill_process(*process, Signal::CONT);
        }
    }
}

fn stop(process: i32) -> Option<Pid> {
    let process = Pid::from_raw(process)?;
    kill_process(process, Signal::TTIN).is_ok().then_some(process)
}

impl Keys {
    /// What the threads of a process do with keys.
    fn threads(self, pid: i32) -> Vec<(i32, Use)> {
        let is_unstopped = self.is_unstopped(Pid::from_raw(pid));
        let number = |thread: &Path| thread.file_name().and_then(OsStr::to_str)?.parse().ok();
        entries(&Path::new("/proc").join(pid.to_string()).join("task"))
            .filter_map(|thread| Some((number(&thread)?, self.use_of(&thread, is_unstopped))))
            .collect()
    }

    /// Whether the terminal does not stop a process that comes from waiting to read: keys went to its group, or
    /// it is of another session, as a server is that was handed the terminal (tmux).
    fn is_unstopped(self, process: Option<Pid>) -> bool {
        is_of_another_session(process)
            || getpgid(process).is_ok_and(|group| group == self.foreground)
    }

    fn may_come_from(self, descriptor: &Path) -> bool {
        stat(descriptor).is_ok_and(|file| {
            let number = (major(file.st_rdev), minor(file.st_rdev));
            FileType::from_raw_mode(file.st_mode) == FileType::CharacterDevice
                && (Some(file.st_rdev) == self.terminal || number == CONTROLLING)
        })
    }

    /// Whether a thread has the terminal open: each may have descriptors of its own.
    fn are_open_in(self, thread: &Path) -> bool {
        entries(&thread.join("fd")).any(|one| self.may_come_from(&one))
    }

    /// What the call says that a thread is in (`proc_pid_syscall(5)`). Of a call that waits it is not known for what;
    /// who comes from it to read, unless it `is_unstopped`, is stopped by the terminal.
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

/// Whether a thread waits where the kernel has those wait who read a terminal (`/proc/PID/wchan`), or that is not told.
/// Those who read a connection wait there, too.
fn may_read(thread: &Path) -> bool {
    let place = fs::read_to_string(thread.join("wchan")).unwrap_or_default();
    matches!(place.as_str(), "" | "0" | "wait_woken" | "n_tty_read")
}

/// The descriptor that an argument names, of which the kernel looks at the lower half.
fn descriptor(argument: &str) -> Option<u64> {
    let argument = u64::from_str_radix(argument.strip_prefix("0x")?, 16).ok()?;
    Some(argument & u64::from(u32::MAX))
}

fn is_of_another_session(process: Option<Pid>) -> bool {
    getsid(process).ok() != getsid(None).ok()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
