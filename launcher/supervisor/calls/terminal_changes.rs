//! Changes a terminal's modes, discards its input, or holds back its output. The supervisor makes these changes on the
//! terminal that it has pinned, while no prompt is shown. A caller that made the call itself could do so at any moment,
//! even in the middle of an answer (decision 0018).

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::termios::{QueueSelector, tcdrain, tcflush};
use rustix::thread::Timespec;

use super::terminals::is_pseudo;
use crate::prompt::during_run::nap;
use crate::prompt::turns::own_terminal;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::orphaned_group;
use crate::sys::signals::Signals;
use crate::sys::terminals;

/// How long a caller that is sent a signal has to be interrupted by it. Another thread may receive it instead.
const SIGNALLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// `TCXONC`, and its two arguments that send something to the other end.
const FLOW: u32 = 0x540a;
const TCIOFF: u64 = 2;
const TCION: u64 = 3;

/// A command that changes modes.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// The command that does it without waiting.
    at_once: u32,
    /// The size of the kernel's structure.
    length: usize,
    /// Waits until output is written.
    drains: bool,
    /// Discards input.
    discards: bool,
}

/// A change to make.
#[derive(Debug)]
enum Change {
    Modes(Setting, Vec<u8>),
    /// A command with a number.
    Order(u32, u64),
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Made,
    /// A prompt is shown.
    Asked,
    /// The caller is in the background, and was sent the signal for that.
    Behind,
}

impl Setting {
    /// Decodes a command. Each of the kernel's `struct termios`, `struct termio` and `struct termios2` has three. On a
    /// pseudo terminal no output waits, and the discarded input is what was typed at either end.
    fn of(command: u32, device: u32) -> Option<Self> {
        let (at_once, length) = match command {
            0x5402..=0x5404 => (0x5402, 36),
            0x5406..=0x5408 => (0x5406, 18),
            0x402c_542b..=0x402c_542d => (0x402c_542b, 44),
            _ => return None,
        };
        if is_pseudo(device) {
            return Some(Self { at_once: command, length, drains: false, discards: false });
        }
        let further = command - at_once;
        Some(Self { at_once, length, drains: further > 0, discards: further > 1 })
    }
}

/// Makes the change for `command` and its `argument`.
///
/// # Errors
/// As `ioctl_tty(2)`, and interruptions of the wait for the foreground, the terminal, or a prompt.
pub(super) fn make(
    task: &Task<'_>,
    fd: i32,
    command: u32,
    argument: u64,
) -> Result<CallResult, Errno> {
    let terminal = task.caller.descriptor(fd)?;
    let device = terminals::device(&terminal)?;
    let change = match Setting::of(command, device) {
        Some(setting) => Change::Modes(setting, task.caller.bytes(argument, setting.length)?),
        None => Change::Order(command, argument),
    };
    task.caller.confirm()?;
    if let Change::Modes(Setting { drains: true, .. }, _) = change {
        task.wait(|| from_any_group(|| tcdrain(&terminal)))?;
    }
    let consent = &task.policy.consent;
    let is_for_between = own_terminal() == Some(device.into()) && !change.may_wait();
    let attempt = || match stopped_group(task, device)? {
        None => from_any_group(|| change.make(&terminal)).map(|()| Turn::Made),
        Some(group) => stop(group).map(|()| Turn::Behind),
    };
    loop {
        let turn = if is_for_between {
            consent.between_questions(attempt).unwrap_or(Ok(Turn::Asked))
        } else {
            task.wait(attempt)
        };
        match turn? {
            Turn::Made => return Ok(CallResult::Value(0)),
            Turn::Asked => task.wait(|| consent.wait_for_terminal())?,
            Turn::Behind => task.wait(|| nap(&SIGNALLED))?,
        }
    }
}

impl Change {
    /// Whether it may wait for a process that writes to the terminal. `TCIOFF` and `TCION` write there, too, and lose
    /// nothing.
    fn may_wait(&self) -> bool {
        matches!(self, Self::Order(FLOW, TCIOFF | TCION))
    }

    fn make(&self, terminal: &OwnedFd) -> Result<(), Errno> {
        match self {
            Self::Modes(setting, modes) => {
                if setting.discards {
                    tcflush(terminal, QueueSelector::IFlush)?;
                }
                terminals::set(terminal, setting.at_once, modes)
            }
            Self::Order(command, number) => terminals::order(terminal, *command, *number),
        }
    }
}

/// Makes a call on a terminal that would stop a background process.
fn from_any_group<T>(call: impl FnOnce() -> T) -> T {
    let _held = Signals::of(&[libc::SIGTTOU]).hold();
    call()
}

/// The caller's group, if the terminal stops it for a change. That needs a terminal that controls the caller, which is
/// in the background and does not block or ignore the signal (`tty_check_change` in the kernel's `tty_jobctrl.c`).
///
/// # Errors
/// `EACCES` if that is unknown.
fn stopped_group(task: &Task<'_>, device: u32) -> Result<Option<Pid>, Errno> {
    let caller = task.caller;
    let field = |behind| caller.proc().number(caller.tid(), behind).ok_or(Errno::ACCESS);
    // `proc_pid_stat(5)`: `pgrp`, `tty_nr`, `tpgid`.
    let [group, controlling, foreground] = [field(2)?, field(4)?, field(5)?];
    let is_behind = controlling == i64::from(device) && foreground > 0 && group != foreground;
    if !is_behind || !caller.status()?.hears(Signal::TTOU) {
        return Ok(None);
    }
    Ok(i32::try_from(group).ok().and_then(Pid::from_raw))
}

/// Stops a background group as the terminal does.
///
/// # Errors
/// `EIO` if nobody would continue it.
fn stop(group: Pid) -> Result<(), Errno> {
    if orphaned_group::is(group.as_raw_nonzero().get()) {
        return Err(Errno::IO);
    }
    // The group may have ended meanwhile. Then it needs no signal.
    let _ = kill_process_group(group, Signal::TTOU);
    Ok(())
}
