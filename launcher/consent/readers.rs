//! Those of the run who wait for keys when a question comes: they would take the answer.
//!
//! Each such thread is held by itself (`sys::tracing`), since a signal that stops it would stop its process:
//! its shell would say so, and take the terminal. Whom somebody traces already cannot be held.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, getpgid};

use crate::descendants;
use crate::sys::tracing;

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
/// looked at again for a moment.
pub(super) fn hold(foreground: Pid) {
    let mut held = HashSet::new();
    for _ in 0..LOOKS {
        let mut all_known = true;
        for process in descendants::all() {
            for (thread, what) in threads(process.pid, foreground) {
                all_known &= what != Use::Perhaps;
                if what == Use::Takes && held.insert(thread) {
                    // It may have ended meanwhile.
                    let _ = tracing::hold(thread);
                }
            }
        }
        if all_known {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// The threads of a process that has a terminal open.
fn threads(pid: i32, foreground: Pid) -> Vec<(i32, Use)> {
    let process = Path::new("/proc").join(pid.to_string());
    if !entries(&process.join("fd")).any(|descriptor| is_terminal(&descriptor)) {
        return Vec::new();
    }
    let in_foreground = getpgid(Pid::from_raw(pid)).is_ok_and(|group| group == foreground);
    let number = |thread: &Path| thread.file_name().and_then(OsStr::to_str)?.parse().ok();
    entries(&process.join("task"))
        .filter_map(|thread| Some((number(&thread)?, use_of(&thread, in_foreground))))
        .collect()
}

/// What the call says that a thread is in (`proc_pid_syscall(5)`). Of a call that waits it is not known for what;
/// who comes from it to read, and is of another group, is stopped by the terminal.
fn use_of(thread: &Path, in_foreground: bool) -> Use {
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
        in_foreground && WAITING.contains(&number)
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
