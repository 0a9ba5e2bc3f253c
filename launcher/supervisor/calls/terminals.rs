//! Terminals: `/dev/tty` means the caller's terminal, not the supervisor's, which has none.

use std::os::fd::OwnedFd;

use rustix::fs::{
    FileType, Mode, OFlags, Stat, fcntl_getfl, fstat, major, makedev, minor, openat, readlinkat,
};
use rustix::io::Errno;

use super::{refused, terminal_changes};
use crate::plan::filter;
use crate::prompt::turns::own_terminal;
use crate::supervisor::caller::Caller;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::terminals::{device, set};

/// The device number of `/dev/tty` (`devices.txt` of the kernel).
const CONTROLLING: (u32, u32) = (5, 0);
/// `/dev/ptmx`.
const MULTIPLEXER: (u32, u32) = (5, 2);
/// `TIOCSPGRP`, which only a process of the session may use, and which has a lasting effect.
const FOREGROUND: u32 = 0x5410;
/// `TIOCSWINSZ`, and the size of its `struct winsize`.
const SIZE: u32 = 0x5414;
const SIZE_LENGTH: usize = 8;
/// `/dev/null` and its like.
const MEMORY: u32 = 1;
/// The first and last major number of pseudo terminals.
const PSEUDO: std::ops::RangeInclusive<u32> = 136..=143;

/// A trapped command:
/// * Typing for the user is denied.
/// * Another size is denied for the terminal that shows prompts.
/// * The supervisor changes modes, discards input, and holds back output, once no prompt is shown.
/// * A change of the foreground waits for prompts. Then the caller and the kernel handle it.
///
/// # Errors
/// `EPERM`, the errors of the command, or an interruption of the wait.
pub(crate) fn command(
    task: &Task<'_>,
    fd: i32,
    command: u32,
    argument: u64,
) -> Result<CallResult, Errno> {
    if filter::is_refused_of_terminals(command) {
        return refused::on(task, fd);
    }
    if command == SIZE {
        return resize(task, fd, argument);
    }
    if command != FOREGROUND {
        return terminal_changes::make(task, fd, command, argument);
    }
    let consent = &task.policy.consent;
    if consent.is_question_standing() && leads_to_asked(&task.caller, fd) {
        task.wait(|| consent.wait_for_terminal())?;
    }
    Ok(CallResult::Continue)
}

/// Gives a terminal another size, even from its background (`tiocswinsz` in the kernel's `tty_io.c`). The terminal that
/// shows prompts keeps the size that the person gave it, because that tells how many are visible.
///
/// # Errors
/// `EPERM`, and those of the command.
fn resize(task: &Task<'_>, fd: i32, argument: u64) -> Result<CallResult, Errno> {
    let terminal = task.caller.descriptor(fd)?;
    if own_terminal() == Some(device(&terminal)?.into()) {
        return refused::on(task, fd);
    }
    let size = task.caller.bytes(argument, SIZE_LENGTH)?;
    task.caller.confirm()?;
    set(&terminal, SIZE, &size)?;
    Ok(CallResult::Value(0))
}

/// Whether a descriptor refers to the terminal that shows prompts.
fn leads_to_asked(caller: &Caller<'_>, fd: i32) -> bool {
    let Ok(stat) = caller.object(fd).and_then(|file| fstat(&file)) else { return false };
    let device = if is_controlling(&stat) { device_of(caller) } else { Some(stat.st_rdev) };
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && device == own_terminal()
}

/// Whether a device is `/dev/tty`.
pub(crate) fn is_controlling(stat: &Stat) -> bool {
    number(stat.st_rdev) == CONTROLLING
}

/// Whether opening a character device never waits.
pub(crate) fn answer_at_once(stat: &Stat) -> bool {
    let (major, minor) = number(stat.st_rdev);
    major == MEMORY || PSEUDO.contains(&major) || (major, minor) == MULTIPLEXER
}

fn number(device: u64) -> (u32, u32) {
    (major(device), minor(device))
}

/// Pins the caller's controlling terminal.
///
/// # Errors
/// `ENXIO` if the caller has none, or it cannot be found.
pub(crate) fn controlling(caller: &Caller<'_>) -> Result<OwnedFd, Errno> {
    let device = device_of(caller).filter(|&device| device != 0).ok_or(Errno::NXIO)?;
    let name = name_of(device).ok_or(Errno::NXIO)?;
    let root = caller.root()?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held =
        openat(&root, format!("dev/{name}"), flags, Mode::empty()).map_err(|_| Errno::NXIO)?;
    let stat = fstat(&held)?;
    let is_it = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && stat.st_rdev == device;
    if is_it { Ok(held) } else { Err(Errno::NXIO) }
}

/// Duplicates one of the caller's standard descriptors, if it refers to the pinned terminal and is open for what
/// `flags` ask. `/dev/tty` can also open a terminal that belongs to another user.
pub(crate) fn shared(caller: &Caller<'_>, terminal: &OwnedFd, flags: OFlags) -> Option<OwnedFd> {
    let device = fstat(terminal).ok()?.st_rdev;
    (0..=2).find_map(|fd| {
        let file = caller.descriptor(fd).ok()?;
        let stat = fstat(&file).ok()?;
        let is_it = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            && stat.st_rdev == device;
        let access = fcntl_getfl(&file).ok()? & OFlags::ACCMODE;
        let suffices = access == OFlags::RDWR || access == flags & OFlags::ACCMODE;
        (is_it && suffices).then_some(file)
    })
}

/// The number of the controlling terminal: `tty_nr` of `proc_pid_stat(5)`.
fn device_of(caller: &Caller<'_>) -> Option<u64> {
    let packed = caller.proc().number(caller.tid(), 4)?;
    caller.confirm().ok()?;
    let packed = u32::try_from(packed & i64::from(u32::MAX)).ok()?;
    let (major, minor) = unpacked(packed);
    if packed == 0 { None } else { Some(makedev(major, minor)) }
}

/// The major and minor number in `tty_nr`, in the old encoding. The minor number is in bits 31 to 20 and 7 to 0, the
/// major one in 15 to 8.
const fn unpacked(device: u32) -> (u32, u32) {
    ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00))
}

/// Whether a terminal is a pseudo terminal, by its `tty_nr`.
pub(super) fn is_pseudo(device: u32) -> bool {
    PSEUDO.contains(&unpacked(device).0)
}

/// The name of a terminal below `/dev`.
fn name_of(device: u64) -> Option<String> {
    let (major, minor) = number(device);
    if PSEUDO.contains(&major) {
        return Some(format!("pts/{}", (major - PSEUDO.start()) * 256 + minor));
    }
    let link = format!("/sys/dev/char/{major}:{minor}");
    let target = readlinkat(crate::sys::proc::HERE, link, Vec::new()).ok()?;
    let target = String::from_utf8(target.into_bytes()).ok()?;
    target.rsplit_once('/').map(|(_, name)| name.to_owned())
}
