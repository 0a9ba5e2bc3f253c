//! Those of the run who wait for keys when a question comes: they would take the answer.
//!
//! Each such thread is held by itself (`sys::tracing`), since a signal that stops it would stop its process:
//! its shell would say so, and take the terminal. Whom somebody traces already cannot be held, and is stopped.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{major, minor, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgid, getsid, kill_process};

use crate::descendants;
use crate::sys::tracing;
use crate::turns::own_terminal;

/// How often, and after how long, it is looked again who reads.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// Calls that read from their first argument.
const READING: [libc::c_long; 2] = [libc::SYS_read, libc::SYS_readv];

/// Calls that wait until there is something to read.
const WAITING: &[libc::c_long] = &[
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_epoll_pwait2,
];

/// The device number of `/dev/tty`, which does not say whose terminal it was opened as.
const CONTROLLING: (u32, u32) = (5, 0);

/// Where keys went until the question came.
#[derive(Clone, Copy, Debug)]
struct Keys {
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

/// Holds who waits for keys, until the calling thread ends. `foreground` is the group that keys went to. Who is
/// on a processor just now may be about to wait, past the point at which the terminal would stop it: such are
/// looked at again for a moment. Processes that had to be stopped instead, as the terminal would stop them
/// (`SIGTTIN`), are returned: they are to be continued.
pub(super) fn hold(foreground: Pid) -> HashSet<Pid> {
    let keys = Keys { foreground, terminal: own_terminal() };
    let mut held = HashSet::new();
    let mut stopped = HashSet::new();
    for _ in 0..LOOKS {
        let mut all_known = true;
        for process in descendants::all() {
            for (thread, what) in keys.threads(process.pid) {
                all_known &= what != Use::Perhaps;
                // It may have ended meanwhile.
                if what == Use::Takes
                    && held.insert(thread)
                    && tracing::hold(thread) == Err(Errno::PERM)
                {
                    stopped.extend(stop(process.pid));
                }
            }
        }
        if all_known {
            break;
        }
        thread::sleep(LOOK);
    }
    stopped
}

fn stop(process: i32) -> Option<Pid> {
    let process = Pid::from_raw(process)?;
    kill_process(process, Signal::TTIN).is_ok().then_some(process)
}

impl Keys {
    /// The threads of a process that has a terminal open.
    fn threads(self, pid: i32) -> Vec<(i32, Use)> {
        let process = Path::new("/proc").join(pid.to_string());
        let descriptors = process.join("fd");
        let terminals: Vec<_> = entries(&descriptors).filter(|one| is_terminal(one)).collect();
        if terminals.is_empty() {
            return Vec::new();
        }
        let is_unstopped = self.is_unstopped(Pid::from_raw(pid), &terminals);
        let number = |thread: &Path| thread.file_name().and_then(OsStr::to_str)?.parse().ok();
        entries(&process.join("task"))
            .filter_map(|thread| Some((number(&thread)?, use_of(&thread, is_unstopped))))
            .collect()
    }

    /// Whether the terminal does not stop a process that comes from waiting to read: keys went to its group, or
    /// it is of another session, as a server is that was handed the terminal (tmux).
    fn is_unstopped(self, process: Option<Pid>, terminals: &[PathBuf]) -> bool {
        getpgid(process).is_ok_and(|group| group == self.foreground)
            || getsid(process).ok() != getsid(None).ok()
                && terminals.iter().any(|terminal| self.may_come_from(terminal))
    }

    fn may_come_from(self, descriptor: &Path) -> bool {
        stat(descriptor).is_ok_and(|file| {
            let number = (major(file.st_rdev), minor(file.st_rdev));
            Some(file.st_rdev) == self.terminal || number == CONTROLLING
        })
    }
}

/// What the call says that a thread is in (`proc_pid_syscall(5)`). Of a call that waits it is not known for what;
/// who comes from it to read, unless it `is_unstopped`, is stopped by the terminal.
fn use_of(thread: &Path, is_unstopped: bool) -> Use {
    let call = fs::read_to_string(thread.join("syscall")).unwrap_or_default();
    let mut words = call.split_whitespace();
    let number = words.next().unwrap_or_default();
    if number == "running" {
        return Use::Perhaps;
    }
    let Ok(number) = number.parse() else { return Use::Nothing };
    let takes = if READING.contains(&number) {
        let descriptor = words.next().and_then(|word| word.strip_prefix("0x"));
        let descriptor = descriptor.and_then(|word| u32::from_str_radix(word, 16).ok());
        descriptor.is_some_and(|number| is_terminal(&thread.join(format!("fd/{number}"))))
    } else {
        is_unstopped && WAITING.contains(&number)
    };
    if takes { Use::Takes } else { Use::Nothing }
}

fn is_terminal(descriptor: &Path) -> bool {
    let file = fs::read_link(descriptor).unwrap_or_default();
    file.starts_with("/dev/pts") || file.starts_with("/dev/tty")
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
