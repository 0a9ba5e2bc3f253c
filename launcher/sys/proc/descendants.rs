//! Finds the descendants of this process in `/proc`, and ends them.
//!
//! This process is their reaper (`PR_SET_CHILD_SUBREAPER`), so none can escape: if a descendant's parent ends, it
//! becomes a child of this process.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, WaitOptions, getppid, pidfd_getfd, pidfd_open,
};

use crate::sys::groups::group_of;

/// Number of fields between the state of a process and the number of its threads (`proc_pid_stat(5)`).
const THREADS: usize = 16;

/// A process of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Descendant {
    pub(crate) pid: i32,
    /// Its own name for itself (`comm`).
    pub(crate) name: String,
}

/// All descendants of this process that have not ended.
pub(crate) fn all() -> Vec<Descendant> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    let mut children: HashMap<i32, Vec<Descendant>> = HashMap::new();
    for (parent, descendant) in running() {
        children.entry(parent).or_default().push(descendant);
    }
    let mut next = vec![own];
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            next.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// Every running process with its parent.
fn running() -> impl Iterator<Item = (i32, Descendant)> {
    processes().filter_map(|(pid, stat)| {
        let parent: i32 = fields(&stat)?.nth(1)?.parse().ok()?;
        let name = stat.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
        has_ended(&stat).is_some_and(|ended| !ended).then_some((parent, Descendant { pid, name }))
    })
}

/// Whether a process with this status has ended.
fn has_ended(stat: &str) -> Option<bool> {
    let mut fields = fields(stat)?;
    let state = fields.next()?;
    // Its first thread may have ended while others run.
    let threads: u32 = fields.nth(THREADS)?.parse().ok()?;
    Some(state == "X" || state == "Z" && threads <= 1)
}

/// Whether a process group has a process that has not ended.
pub(crate) fn is_anybody_in(group: Pid) -> bool {
    let group_of = |stat: &str| fields(stat)?.nth(2)?.parse::<i32>().ok();
    let number = group.as_raw_nonzero().get();
    processes().any(|(_, stat)| group_of(&stat) == Some(number) && has_ended(&stat) == Some(false))
}

/// Every process with its status.
pub(crate) fn processes() -> impl Iterator<Item = (i32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, status_of(&entry.path())?))
    })
}

/// The status of a process (`proc_pid_stat(5)`), read from its directory. A process chooses its name, which may hold
/// any byte.
pub(crate) fn status_of(process: &Path) -> Option<String> {
    // Room for all of it: without, it would take six reads.
    let mut status = Vec::with_capacity(1024);
    File::open(process.join("stat")).ok()?.read_to_end(&mut status).ok()?;
    Some(String::from_utf8_lossy(&status).into_owned())
}

/// The fields after the name in the status of a process (`proc_pid_stat(5)`). The name may contain any byte, even a
/// parenthesis.
pub(crate) fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace())
}

/// Whether `pid` is `ancestor` or descends from it, and so belongs to the run.
pub(crate) fn descends(pid: i32, ancestor: Pid) -> bool {
    let parent_of = |pid: i32| {
        let stat = status_of(&Path::new("/proc").join(pid.to_string()))?;
        fields(&stat)?.nth(1)?.parse::<i32>().ok()
    };
    std::iter::successors(Some(pid), |&pid| parent_of(pid).filter(|&parent| parent > 1))
        .any(|pid| pid == ancestor.as_raw_nonzero().get())
}

/// Duplicates all sockets of a process.
pub(crate) fn sockets_of(process: i32) -> Option<impl Iterator<Item = OwnedFd>> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.flatten();
    let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
    let numbers = descriptors.filter_map(|entry| {
        let object = fs::read_link(entry.path()).ok()?;
        let is_socket = object.to_str()?.starts_with("socket:");
        is_socket.then(|| entry.file_name().to_str()?.parse().ok())?
    });
    Some(numbers.filter_map(move |fd| pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok()))
}

/// Whether this process's parent or a descendant is in that process group.
pub(crate) fn have_in_group(group: i32) -> bool {
    let is_in = |pid| group_of(pid).is_some_and(|it| it.as_raw_pid() == group);
    getppid().is_some_and(is_in) || all().iter().filter_map(|it| Pid::from_raw(it.pid)).any(is_in)
}

/// Collects the children that have ended, and returns whether others are left.
pub(crate) fn are_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Ends and collects all descendants, including those started meanwhile: a killed process starts no more, and its
/// children become children of this process.
pub(crate) fn end() {
    let everybody = || all().iter().map(|it| it.pid).collect();
    let mut those: Vec<i32> = everybody();
    loop {
        for pid in those.into_iter().filter_map(Pid::from_raw) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No child is left.
            Err(_) => return,
        }
        if !are_left() {
            return;
        }
        those = children().unwrap_or_else(everybody);
    }
}

/// The children of this process, including those that have ended. This is quick: a search through all processes takes
/// longer than some processes live before they start the next one. `None` on a kernel without `CONFIG_PROC_CHILDREN`.
fn children() -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let listed = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        found.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(found)
}
