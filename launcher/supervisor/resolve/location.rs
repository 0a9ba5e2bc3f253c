//! Finds the path of a pinned object, as the policy names it.

use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, Stat, fstat, statat};
use rustix::io::Errno;

use crate::supervisor::caller::Caller;
use crate::sys::mount_table::elsewhere::Meaning;
use crate::sys::proc::is_of_this_run;
use crate::sys::proc::status::Status;

/// The location of a pinned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectLocation {
    /// At a canonical path, except that the caller's own process is spelled `/proc/self`.
    Named(Vec<u8>),
    /// Nowhere: a pipe, a socket, a file in memory.
    Anonymous,
    /// At a path in `/proc` that only a process and its tracers may see, of a process outside the run. Or on a kernel
    /// file system that appeared there after the run began. No Landlock domain confines the supervisor, so it must
    /// check this itself.
    OfOutsider(Vec<u8>),
}

/// The kernel's mark for a deleted file.
const REMOVED: &[u8] = b" (deleted)";

/// The files that `/proc` shows of every process to everybody.
const SHOWN_OF_ALL: [&[u8]; 18] = [
    b"",
    b"cgroup",
    b"cmdline",
    b"comm",
    b"cpuset",
    b"limits",
    b"loginuid",
    b"oom_adj",
    b"oom_score",
    b"oom_score_adj",
    b"sched",
    b"schedstat",
    b"sessionid",
    b"stat",
    b"statm",
    b"status",
    b"task",
    b"coredump_filter",
];

/// The location of a pinned object with this `stat`.
///
/// # Errors
/// `EACCES` if it is unknown, `ENAMETOOLONG` if it is longer than any path.
pub(crate) fn of(
    caller: &Caller<'_>,
    object: BorrowedFd<'_>,
    stat: &Stat,
) -> Result<ObjectLocation, Errno> {
    let mut path = caller.proc().place(object).map_err(|errno| match errno {
        Errno::NAMETOOLONG => Errno::NAMETOOLONG,
        _ => Errno::ACCESS,
    })?;
    if path.first() != Some(&b'/') || path.starts_with(b"/memfd:") {
        return Ok(ObjectLocation::Anonymous);
    }
    if path.ends_with(REMOVED) && stat.st_nlink == 0 {
        path.truncate(path.len().saturating_sub(REMOVED.len()));
    }
    as_seen_by(caller, path, object, stat.st_dev)
}

/// The location of the entry `name` in a pinned directory.
///
/// # Errors
/// As [`of`].
pub(crate) fn of_entry(
    caller: &Caller<'_>,
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<ObjectLocation, Errno> {
    let path = caller.proc().place(directory).map_err(|_| Errno::ACCESS)?;
    let device = fstat(directory)?.st_dev;
    as_seen_by(caller, [&path, &b"/"[..], name].concat(), directory, device)
}

/// The canonical path of `object`, or of an entry of it, as the caller's policy names it. `device` is that of the file
/// system. The caller's own process becomes `/proc/self`, wherever procfs is mounted.
fn as_seen_by(
    caller: &Caller<'_>,
    path: Vec<u8>,
    object: BorrowedFd<'_>,
    device: u64,
) -> Result<ObjectLocation, Errno> {
    let (place, alike) = match caller.proc().elsewhere.meaning(&path, object, device)? {
        Meaning::Ordinary => (None, true),
        Meaning::Process { path, alike } => (Some(path), alike),
        Meaning::Unknown => return Ok(ObjectLocation::OfOutsider(path)),
    };
    let usual = place.as_deref().unwrap_or(&path);
    let Some((pid, rest)) = process_of(usual) else { return Ok(ObjectLocation::Named(path)) };
    let is_own =
        || is_process_of(caller, pid) || (usual.ends_with(b"/mem") && is_tracee_of(caller, pid));
    if alike && is_own() {
        return Ok(ObjectLocation::Named([b"/proc/self", rest].concat()));
    }
    if is_shown_of_all(rest) || (alike && is_of_this_run(caller.proc(), pid)) {
        return Ok(ObjectLocation::Named(path));
    }
    Ok(ObjectLocation::OfOutsider(path))
}

/// Whether a canonical path shows data that only a process itself and its tracers may see. For a process outside the
/// run access is always denied, whatever is granted.
pub(crate) fn is_private(path: &[u8]) -> bool {
    process_of(path).is_some_and(|(_, rest)| !is_shown_of_all(rest))
}

/// The number in `/proc/NUMBER…`, and the rest.
fn process_of(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = path.strip_prefix(b"/proc/")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (pid, rest) = rest.split_at_checked(digits)?;
    (!pid.is_empty() && matches!(rest, [] | [b'/', ..])).then_some((pid, rest))
}

/// Whether the number is that of the caller's process, which has the caller as a thread.
fn is_process_of(caller: &Caller<'_>, pid: &[u8]) -> bool {
    let Ok(pid) = std::str::from_utf8(pid) else { return false };
    let thread = format!("{pid}/task/{}", caller.tid());
    statat(caller.proc().as_fd(), thread, AtFlags::empty()).is_ok()
}

/// Whether the caller's process traces that one, and so has its memory through `ptrace(2)` already.
fn is_tracee_of(caller: &Caller<'_>, pid: &[u8]) -> bool {
    let pid = std::str::from_utf8(pid).ok().and_then(|pid| pid.parse().ok());
    let tracer = pid.and_then(|pid| Status::read(caller.proc(), pid).ok()).map(|one| one.tracer);
    tracer.is_some_and(|tracer| is_process_of(caller, tracer.to_string().as_bytes()))
}

/// Whether the file at `rest` below a process's directory is no secret of the process.
fn is_shown_of_all(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let of_thread = rest.strip_prefix(b"task/").map(|thread| {
        let end = thread.iter().position(|&byte| byte == b'/').map_or(thread.len(), |end| end + 1);
        thread.get(end..).unwrap_or_default()
    });
    SHOWN_OF_ALL.contains(&of_thread.unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_processes_are_known() {
        for shown in ["", "/status", "/task", "/task/7", "/task/7/stat"] {
            assert!(is_shown_of_all(shown.as_bytes()), "{shown}");
        }
        for secret in
            ["/mem", "/fd/3", "/task/7/environ", "/task/7/task/stat", "/root/etc", "/ns/net"]
        {
            assert!(!is_shown_of_all(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn what_is_private_is_of_a_process() {
        assert!(is_private(b"/proc/1/environ") && !is_private(b"/proc/1/stat"));
        assert!(!is_private(b"/proc/kcore") && !is_private(b"/srv/1/environ"));
    }

    #[test]
    fn only_numbers_are_processes() {
        assert_eq!(process_of(b"/proc/12/fd/3"), Some((&b"12"[..], &b"/fd/3"[..])));
        assert_eq!(process_of(b"/proc/12"), Some((&b"12"[..], &b""[..])));
        for path in [&b"/proc/12a"[..], b"/proc/self/fd", b"/proc", b"/process/1"] {
            assert_eq!(process_of(path), None);
        }
    }
}
