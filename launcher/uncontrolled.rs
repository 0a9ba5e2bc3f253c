//! Programs that the terminal's job control does not hold: at a question they may take or discard what is typed,
//! all of it or a part, and nobody sees that (decision 0018).

use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use rustix::fs::{FileType, Stat, major, minor, stat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, geteuid, pidfd_getfd, pidfd_open};

use crate::descendants::{self, Descendant};
use crate::sys::terminals;
use crate::turns::own_terminal;

/// The device number of `/dev/tty`, which does not say whose terminal it was opened as.
const CONTROLLING: (u32, u32) = (5, 0);
/// What the kernel calls this product's processes, unless they were started by another name.
const NAME: &str = "jp-confine";

/// A process as `proc_pid_stat(5)` has it.
#[derive(Debug)]
struct Process {
    name: String,
    parent: i32,
    /// The terminal that controls it; 0 where none does.
    terminal: u64,
}

/// A program of this process's run, or one of another run that has the terminal open, which the terminal does not
/// stop when it reads in the background.
pub(crate) fn find() -> Option<Descendant> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let terminal = own_terminal()?;
    let processes: HashMap<i32, Process> = descendants::processes()
        .filter_map(|(pid, stat)| Some((pid, Process::of(&stat)?)))
        .collect();
    let is_one = |pid: i32, process: &Process| {
        let descends = |from: &dyn Fn(i32) -> bool| ancestors(&processes, pid).any(from);
        process.terminal != terminal
            && (descends(&|ancestor| ancestor == own)
                || descends(&|ancestor| is_run(&processes, ancestor)) && may_read(pid, terminal))
    };
    let found = processes.iter().find(|(pid, process)| is_one(**pid, process));
    found.map(|(pid, process)| Descendant { pid: *pid, name: process.name.clone() })
}

/// Whom a process descends from, the nearest first.
fn ancestors(processes: &HashMap<i32, Process>, pid: i32) -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| processes.get(pid).map(|process| process.parent);
    std::iter::successors(parent(&pid), parent)
}

/// Whether a process is a run's own: whoever calls itself so otherwise only has more asked for.
fn is_run(processes: &HashMap<i32, Process>, pid: i32) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let is_same = || program(&pid.to_string()).is_some_and(|one| Some(one) == program("self"));
    processes.get(&pid).is_some_and(|process| process.name == NAME) || is_same()
}

/// Whether a process is confined, and some thread of it has the terminal open: as far as that can be seen, since who
/// hides it from its own user may have.
fn may_read(pid: i32, terminal: u64) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let first = |field: &str| {
        status.lines().find_map(|line| line.strip_prefix(field)?.split_whitespace().next())
    };
    if first("NoNewPrivs:") != Some("1") {
        return false;
    }
    let is_own = || first("Uid:") == Some(&geteuid().as_raw().to_string());
    let tasks = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let mut tables = tasks.map(|task| fs::read_dir(task.path().join("fd")));
    tables.any(|table| match table {
        Ok(table) => table.flatten().any(|entry| is_of(pid, &entry.path(), terminal)),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied && is_own(),
    })
}

/// Whether a process's descriptor is of a terminal. Of which one `/dev/tty` was opened as only the descriptor tells,
/// which not everybody gets (`pidfd_getfd(2)`).
fn is_of(pid: i32, descriptor: &Path, terminal: u64) -> bool {
    let is_it = stat(descriptor).is_ok_and(|file| may_be(&file, terminal));
    let device = || {
        let number = descriptor.file_name()?.to_str()?.parse().ok()?;
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        let file = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?;
        Some(terminals::device(file))
    };
    // Of one that is gone another may have the number by now.
    let is_known = |device: Result<u64, Errno>| {
        device.map_or_else(|error| error != Errno::IO, |device| device == terminal)
    };
    is_it && device().is_none_or(is_known)
}

/// Whether a file may be a terminal, which was opened as whatever.
pub(crate) fn may_be(file: &Stat, terminal: u64) -> bool {
    FileType::from_raw_mode(file.st_mode) == FileType::CharacterDevice
        && (file.st_rdev == terminal || (major(file.st_rdev), minor(file.st_rdev)) == CONTROLLING)
}

impl Process {
    /// What has not ended.
    fn of(stat: &str) -> Option<Self> {
        let name = stat.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
        let mut fields = descendants::fields(stat)?;
        let is_over = fields.next()? == "X";
        let parent = fields.next()?.parse().ok()?;
        let number: i32 = fields.nth(2)?.parse().ok()?;
        let terminal = u64::from(number.cast_unsigned());
        (!is_over).then_some(Self { name, parent, terminal })
    }
}
