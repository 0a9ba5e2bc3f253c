//! Commands to a terminal in the form that a program gave them in (`ioctl_tty(2)`).

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::io::Errno;
use rustix::termios::{Action, tcflow};

use crate::sys::signals::Signals;

/// `TIOCGDEV`.
const DEVICE: libc::Ioctl = 0x8004_5432;

/// A command with a number.
///
/// # Errors
/// As `ioctl(2)`.
pub(crate) fn order(terminal: impl AsFd, command: u32, number: u64) -> Result<(), Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    // SAFETY: a number is passed, and no memory.
    let result = unsafe { libc::ioctl(terminal, command.into(), number) };
    if result < 0 { Err(super::last_error()) } else { Ok(()) }
}

/// A command that sets modes or a size, as the kernel's structure for it has them, which has to be that long.
///
/// # Errors
/// As `ioctl(2)`.
pub(crate) fn set(terminal: impl AsFd, command: u32, values: &[u8]) -> Result<(), Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    // SAFETY: the kernel reads as many bytes as the structure of this command has, which are there.
    let result = unsafe { libc::ioctl(terminal, command.into(), values.as_ptr()) };
    if result < 0 { Err(super::last_error()) } else { Ok(()) }
}

/// The number of the terminal's device, as `proc_pid_stat(5)` has it (`tty_nr`): of a master that of its slave, of
/// `/dev/tty` that of the terminal which that was opened as.
///
/// # Errors
/// As `ioctl(2)`: `ENOTTY` where this is no terminal, `EIO` where it was hung up.
pub(crate) fn device(terminal: impl AsFd) -> Result<u32, Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    let mut device = 0_u32;
    // SAFETY: the kernel writes one number of that size.
    let result = unsafe { libc::ioctl(terminal, DEVICE, &raw mut device) };
    if result < 0 { Err(super::last_error()) } else { Ok(device) }
}

/// Has a terminal go on with what it is to show, where a program has held that back (`TCOOFF`, `tcflow(3)`): nobody's
/// key would, and who writes would wait. What a person holds back (^S) stays so.
pub(crate) fn show_again(terminal: impl AsFd) {
    // In the background, too.
    let _held = Signals::of(&[libc::SIGTTOU]).hold();
    // What is no terminal holds nothing back.
    let _ = tcflow(terminal, Action::OOn);
}
