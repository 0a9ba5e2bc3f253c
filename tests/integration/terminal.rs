//! Runs a program in a terminal of its own, which tests type at and read from. The terminal comes from `script`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustix::termios::{Winsize, tcsetwinsize};

use crate::run::{Mode, Run, wait};
use crate::schema;
use crate::scratch::Scratch;

/// What a program has written so far, and the news that there is more.
#[derive(Debug, Default)]
struct Screen {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

impl Screen {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("the screen")).into_owned()
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// The program and the screen it writes to.
#[derive(Debug)]
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Screen>,
    read_to: usize,
    line: Vec<String>,
    cwd: PathBuf,
}

/// The words that have a shell start this.
pub(crate) fn quoted(run: &Run<'_>) -> String {
    let line = run.command_line();
    let words = line.iter().map(|part| format!("'{}'", part.replace('\'', r"'\''")));
    words.collect::<Vec<_>>().join(" ")
}

impl Terminal {
    /// A shell with job control that waits for its first line.
    pub(crate) fn shell(scratch: &Scratch, mode: Mode) -> Self {
        let shell = Run::new(scratch, "bash", &["--norc", "--noprofile", "-i"]).env("PS1", "> ");
        let mut terminal = Self::start(&shell.mode(mode));
        terminal.see("> ");
        terminal
    }

    /// Starts what `run` describes in a terminal of 33 rows and 101 columns.
    pub(crate) fn start(run: &Run<'_>) -> Self {
        Self::start_sized(run, 33, 101)
    }

    /// The same in a terminal of that many rows and columns.
    pub(crate) fn start_sized(run: &Run<'_>, rows: u16, columns: u16) -> Self {
        let line = format!("stty rows {rows} cols {columns}; {}", quoted(run));
        let described = run.command();
        let mut command = std::process::Command::new("script");
        command
            .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
            .env_clear()
            .env("SHELL", "/bin/sh");
        command.envs(described.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let cwd = described.get_current_dir().expect("a folder to start in").to_owned();
        command.current_dir(&cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("script");
        let screen = Arc::new(Screen::default());
        let (mut output, shared) = (child.stdout.take().expect("piped"), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                shared.bytes.lock().expect("the screen").extend_from_slice(&bytes[..length]);
                shared.more.notify_all();
            }
        });
        let keys = child.stdin.take().expect("piped");
        Self { child, keys, screen, read_to: 0, line: run.command_line(), cwd }
    }

    /// Types these keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal to type at");
        self.keys.flush().expect("a terminal to type at");
    }

    /// Waits until `text` appears after the text that was seen before.
    pub(crate) fn see(&mut self, text: &str) {
        let from = self.read_to;
        let find = |screen: &[u8]| {
            let screen = String::from_utf8_lossy(screen);
            let at = screen[from.min(screen.len())..].find(text)?;
            Some(from + at + text.len())
        };
        let bytes = self.screen.bytes.lock().expect("the screen");
        let is_missing = |bytes: &mut Vec<u8>| find(bytes).is_none();
        let more = &self.screen.more;
        let (bytes, _) = more.wait_timeout_while(bytes, PATIENCE, is_missing).expect("the screen");
        let found = find(&bytes);
        drop(bytes);
        self.read_to =
            found.unwrap_or_else(|| panic!("no {text:?} on the screen:\n{}", self.screen()));
    }

    /// Changes the size as a person does who drags a window, and not as a program of the run.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let script = self.child.id();
        let children = fs::read_to_string(format!("/proc/{script}/task/{script}/children"));
        let children = children.expect("the children of `script`");
        let program = children.split_whitespace().next().expect("a program in the terminal");
        let terminal = File::open(format!("/proc/{program}/fd/0")).expect("a terminal");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("another size");
    }

    /// Everything that was on the screen.
    pub(crate) fn screen(&self) -> String {
        self.screen.text()
    }

    /// Waits for the end, and returns the exit status.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let status = wait(&mut self.child, PATIENCE, "the program in the terminal");
        schema::check_output(&self.line, &self.cwd, "");
        status.code()
    }
}

/// Takes the terminal away, which ends what is still running in it.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
