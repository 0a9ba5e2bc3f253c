//! Sends a program's commands to a terminal, in the form that the program gave them (`ioctl_tty(2)`).

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::io::Errno;
use rustix::termios::{Action, tcflow};

use crate::sys::signals::Signals;

/// `TIOCGDEV`.
const DEVICE: libc::Ioctl = request(0x8004_5432);

/// A command in the type that this libc's `ioctl` takes.
#[allow(
    clippy::cast_lossless,
    clippy::cast_possible_wrap,
    reason = "glibc's has 64 bits, and musl's 32 with a sign"
)]
const fn request(command: u32) -> libc::Ioctl {
    command as libc::Ioctl
}

/// Sends a command that takes a number.
///
/// # Errors
/// Those of `ioctl(2)`.
pub(crate) fn order(terminal: impl AsFd, command: u32, number: u64) -> Result<(), Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    // SAFETY: the call passes a number, and no memory.
    let result = unsafe { libc::ioctl(terminal, request(command), number) };
    if result < 0 { Err(super::last_error()) } else { Ok(()) }
}

/// Sends a command that sets modes or a size. `values` must be as long as the kernel's structure for the command.
///
/// # Errors
/// Those of `ioctl(2)`.
pub(crate) fn set(terminal: impl AsFd, command: u32, values: &[u8]) -> Result<(), Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    // SAFETY: the kernel reads the structure of this command, and the caller passes that many bytes.
    let result = unsafe { libc::ioctl(terminal, request(command), values.as_ptr()) };
    if result < 0 { Err(super::last_error()) } else { Ok(()) }
}

/// The number of the terminal's device, as in `proc_pid_stat(5)` (`tty_nr`). For a master it is that of its slave. For
/// `/dev/tty` it is that of the real terminal.
///
/// # Errors
/// Those of `ioctl(2)`: `ENOTTY` if it is not a terminal, `EIO` if it was hung up.
pub(crate) fn device(terminal: impl AsFd) -> Result<u32, Errno> {
    let terminal = terminal.as_fd().as_raw_fd();
    let mut device = 0_u32;
    // SAFETY: the kernel writes one number of that size.
    let result = unsafe { libc::ioctl(terminal, DEVICE, &raw mut device) };
    if result < 0 { Err(super::last_error()) } else { Ok(device) }
}

/// Resumes a terminal's output that a program has suspended (`TCOOFF`, `tcflow(3)`). No key would resume it, and every
/// writer would wait. Output that a person has suspended (^S) stays so.
pub(crate) fn show_again(terminal: impl AsFd) {
    // It works in the background, too, with the signal blocked.
    let _held = Signals::of(&[libc::SIGTTOU]).hold();
    // An error means that it is not a terminal, and nothing is suspended.
    let _ = tcflow(terminal, Action::OOn);
}
