//! The terminal for as long as a question stands: nobody else reads from it meanwhile, and afterwards it
//! is as it was.
//!
//! The asking process stands in a group of its own, which takes the foreground (`tcsetpgrp(3)`). Who
//! begins to read now is stopped by the terminal, and who waits for a key already is stopped here, else
//! it would take the answer; both are continued at the end.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, kill_process_group};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcsetattr, tcsetpgrp,
};

use crate::descendants::{self, Descendant};
use crate::reply::Reply;
use crate::sys::stopping;

/// How often it is looked whether somebody still waits.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How often, and after how long, it is looked again who reads.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// The terminal, taken.
#[derive(Debug)]
pub(super) struct Foreground {
    terminal: File,
    before: Termios,
    group: Pid,
}

/// What a key does to an answer that is being typed.
enum Typed {
    /// It goes on.
    More,
    /// It is this.
    Done(Reply),
}

impl Foreground {
    /// Takes the controlling terminal; `None` where another job than the run's has it, to which keys
    /// are meant.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn take() -> io::Result<Option<Self>> {
        let terminal = controlling_terminal()?;
        let group = tcgetpgrp(&terminal)?;
        if !is_of_run(group) {
            return Ok(None);
        }
        let before = tcgetattr(&terminal)?;
        let taken = Self { terminal, before, group };
        tcsetpgrp(&taken.terminal, getpgrp())?;
        // From here on the terminal stops whoever begins to read.
        stop_readers();
        let mut plain = taken.before.clone();
        plain.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        plain.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        plain.special_codes[SpecialCodeIndex::VMIN] = 1;
        plain.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before was not typed in answer to this.
        tcsetattr(&taken.terminal, OptionalActions::Flush, &plain)?;
        Ok(Some(taken))
    }

    /// Asks, and waits for a line. `None` where nobody wants to know any more.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(super) fn ask(
        &mut self,
        words: &str,
        offer: &str,
        gone: &dyn Fn() -> bool,
    ) -> io::Result<Option<Reply>> {
        self.say(&format!("\r\n{words}{offer}"))?;
        let mut line = String::new();
        while let Some(key) = self.key(gone)? {
            if let Typed::Done(answer) = self.typed(key, &mut line)? {
                return Ok(Some(answer));
            }
        }
        self.say("\n  (nobody waits for this any more)\n")?;
        Ok(None)
    }

    fn typed(&mut self, key: u8, line: &mut String) -> io::Result<Typed> {
        match key {
            b'\r' | b'\n' => {
                self.say("\n")?;
                return Ok(Typed::Done(Reply::of(line)));
            }
            // ^C and ^\ are meant for the program, and for this question they are a no.
            3 | 28 => {
                self.say("\n")?;
                let signal = if key == 3 { Signal::INT } else { Signal::QUIT };
                let _ = kill_process_group(self.group, signal);
                return Ok(Typed::Done(Reply::No));
            }
            4 | 27 => {
                self.say("\n")?;
                return Ok(Typed::Done(Reply::No));
            }
            8 | 127 if line.pop().is_some() => self.say("\u{8} \u{8}")?,
            b' '..=b'~' if line.len() < 16 => {
                line.push(char::from(key));
                self.say(&char::from(key).to_string())?;
            }
            _ => {}
        }
        Ok(Typed::More)
    }

    /// The next key; `None` where nobody wants to know any more.
    fn key(&mut self, gone: &dyn Fn() -> bool) -> io::Result<Option<u8>> {
        loop {
            let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
            if poll(&mut ready, Some(&TICK))? > 0 {
                let mut key = [0];
                return match rustix::io::read(&self.terminal, &mut key)? {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok(Some(key[0])),
                };
            }
            if gone() {
                return Ok(None);
            }
        }
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.terminal.write_all(text.as_bytes())
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        // Whatever fails here, the rest is worth trying.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
        let _ = tcsetpgrp(&self.terminal, self.group);
        let _ = kill_process_group(self.group, Signal::CONT);
        if !self.before.local_modes.contains(LocalModes::ICANON) {
            // Who draws on the whole screen draws it again.
            let _ = kill_process_group(self.group, Signal::WINCH);
        }
    }
}

/// Says that a question waits for the terminal.
///
/// # Errors
/// Where there is none.
pub(super) fn announce() -> io::Result<()> {
    let text = "\r\njp-confine: a question waits until this job is in the foreground (fg)\r\n";
    controlling_terminal()?.write_all(text.as_bytes())
}

fn controlling_terminal() -> io::Result<File> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")
}

/// Whether a group is that of the process that was started first, or of some process of the run.
fn is_of_run(group: Pid) -> bool {
    let is_in_group = |process: Option<Pid>| {
        process.is_some() && getpgid(process).is_ok_and(|its_group| its_group == group)
    };
    is_in_group(getppid())
        || descendants::all().iter().any(|process| is_in_group(Pid::from_raw(process.pid)))
}

/// Stops those of the run who wait for keys. Who is on a processor just now may be about to wait, past the
/// point at which the terminal would stop it: such are looked at again for a moment.
fn stop_readers() {
    let mut stopped = Vec::new();
    for _ in 0..LOOKS {
        let mut all_known = true;
        for Descendant { pid, .. } in descendants::all() {
            match reader(pid) {
                Reader::Nobody => {}
                Reader::Perhaps => all_known = false,
                Reader::Waits(_) if stopped.contains(&pid) => {}
                Reader::Waits(thread) => {
                    stopping::stop(pid, thread);
                    stopped.push(pid);
                }
            }
        }
        if all_known {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Who of a process takes keys.
enum Reader {
    Nobody,
    /// A thread that runs, of which nothing can be known.
    Perhaps,
    /// This thread.
    Waits(i32),
}

/// The thread of a process that is in a call that reads, or waits for something to read, if the process
/// has a terminal open (`proc_pid_syscall(5)`).
fn reader(pid: i32) -> Reader {
    const WAITING: [libc::c_long; 7] = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_pwait,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select,
        #[cfg(not(target_arch = "x86_64"))]
        libc::SYS_epoll_pwait2,
        #[cfg(not(target_arch = "x86_64"))]
        libc::SYS_preadv,
    ];
    let process = Path::new("/proc").join(pid.to_string());
    let call = |thread: &Path| fs::read_to_string(thread.join("syscall")).unwrap_or_default();
    let waits = |call: &str| {
        let number = call.split(' ').next().and_then(|word| word.parse().ok());
        number.is_some_and(|number| WAITING.contains(&number))
    };
    let is_terminal = |descriptor: &Path| {
        let file = fs::read_link(descriptor).unwrap_or_default();
        file.starts_with("/dev/pts") || file.starts_with("/dev/tty")
    };
    if !entries(&process.join("fd")).any(|descriptor| is_terminal(&descriptor)) {
        return Reader::Nobody;
    }
    let mut reader = Reader::Nobody;
    for thread in entries(&process.join("task")) {
        let call = call(&thread);
        if waits(&call) {
            let number = thread.file_name().and_then(OsStr::to_str).and_then(|it| it.parse().ok());
            return number.map_or(Reader::Nobody, Reader::Waits);
        }
        if call.starts_with("running") {
            reader = Reader::Perhaps;
        }
    }
    reader
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
