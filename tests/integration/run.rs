//! Runs one program, confined or bare, and checks how it went. Used by all tests.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::layers::Holder;
use crate::schema;
use crate::scratch::{SECRET, Scratch};

/// The program under test.
pub(crate) const PRODUCT: &str = env!("CARGO_BIN_EXE_jp-confine");

/// Directories of ordinary programs. A version chooser in somebody's home is no part of these tests.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// With or without confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By `jp-confine`.
    Confined,
    /// Directly.
    Bare,
}

impl Mode {
    /// Confined, unless `JP_CONFINE_TEST_BARE` asks to see the tests fail.
    pub(crate) fn under_test() -> Self {
        match std::env::var_os("JP_CONFINE_TEST_BARE") {
            Some(value) if value == "1" => Self::Bare,
            _ => Self::Confined,
        }
    }
}

/// Whether tests of many similar steps take all of them. `make test` sets `JP_CONFINE_TEST_SAMPLE`: then they take a
/// sample.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("JP_CONFINE_TEST_SAMPLE").is_none_or(|value| value != "1")
}

/// A program to run in the workspace of a scratch tree.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    scratch: &'a Scratch,
    mode: Mode,
    holder: &'static [&'static str],
    flags: Vec<String>,
    line: Vec<String>,
    env: Vec<(String, String)>,
    input: Option<Vec<u8>>,
    cwd: PathBuf,
    inherit: Option<(u32, PathBuf)>,
    limit: Duration,
}

impl<'a> Run<'a> {
    /// `program` with `args`, confined unless the tests are told otherwise.
    pub(crate) fn new(scratch: &'a Scratch, program: &str, args: &[&str]) -> Self {
        let line = std::iter::once(&program).chain(args).map(|part| (*part).to_owned()).collect();
        Self {
            scratch,
            mode: Mode::under_test(),
            holder: Holder::options(),
            flags: Vec::new(),
            line,
            env: Vec::new(),
            input: None,
            cwd: scratch.ws(),
            inherit: None,
            limit: Duration::from_secs(120),
        }
    }

    /// `script`, run by `sh`.
    pub(crate) fn sh(scratch: &'a Scratch, script: &str) -> Self {
        Self::new(scratch, "sh", &["-c", script])
    }

    /// Runs in this mode.
    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Options of `jp-confine`. They have no effect on a bare run.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Adds to the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Standard input of the program, which is empty otherwise.
    pub(crate) fn input(mut self, bytes: &[u8]) -> Self {
        self.input = Some(bytes.to_owned());
        self
    }

    /// Starts in `cwd` instead of the workspace.
    pub(crate) fn cwd(mut self, cwd: &Path) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    /// Starts with `path` open for reading as descriptor `fd`.
    pub(crate) fn inherit(mut self, fd: u32, path: &Path) -> Self {
        self.inherit = Some((fd, path.to_owned()));
        self
    }

    /// Gives up after this long.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The whole command line: what is typed, with `jp-confine` in front when confined.
    pub(crate) fn command_line(&self) -> Vec<String> {
        let mut line = Vec::new();
        if self.mode == Mode::Confined {
            line.push(PRODUCT.to_owned());
            if !self.flags.iter().any(|flag| flag.starts_with("--enforce")) {
                line.extend(self.holder.iter().map(|&option| option.to_owned()));
            }
            line.extend(self.flags.iter().cloned());
            line.push("--".to_owned());
        }
        line.extend(self.line.iter().cloned());
        line
    }

    /// The command, ready to be spawned.
    pub(crate) fn command(&self) -> Command {
        let mut line = self.command_line();
        if let Some((fd, path)) = &self.inherit {
            let script = format!("exec {fd}<\"$0\"; exec \"$@\"");
            let path = path.to_str().expect("UTF-8").to_owned();
            line.splice(0..0, ["sh".to_owned(), "-c".to_owned(), script, path]);
        }
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command.env_clear().env("PATH", SYSTEM_PATH).env("LANG", "C.UTF-8").env("TERM", "xterm");
        command.env("HOME", self.scratch.home()).env("USER", "somebody");
        command.env("TMPDIR", self.scratch.path("tmp"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.cwd);
        if let Some(uid) = self.scratch.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// Runs it to the end.
    pub(crate) fn run(&self) -> Outcome {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut stdin = child.stdin.take().expect("piped");
        let input = self.input.clone().unwrap_or_default();
        // A program that does not want its input closes the pipe. The test does not fail for that.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = collect(child.stdout.take().expect("piped"));
        let stderr = collect(child.stderr.take().expect("piped"));
        let status = wait(&mut child, self.limit, &self.command_line().join(" "));
        writer.join().expect("the writer of stdin");
        let stdout = stdout.join().expect("the reader of stdout");
        schema::check_output(&self.command_line(), &self.cwd, &stdout);
        Outcome {
            line: self.command_line().join(" "),
            status,
            stdout,
            stderr: stderr.join().expect("the reader of stderr"),
        }
    }
}

/// Waits for `child`. If that takes longer than `limit`, ends it and fails the test.
pub(crate) fn wait(child: &mut Child, limit: Duration, what: &str) -> ExitStatus {
    if !ends(Pid::from_child(child), limit) {
        let _ = child.kill();
        panic!("still running after {limit:?}: {what}");
    }
    child.wait().expect("a child to wait for")
}

/// Waits until the process has ended, whoever collects it. Returns whether it has, in time.
pub(crate) fn ends(process: Pid, limit: Duration) -> bool {
    let process = match pidfd_open(process, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return true,
        opened => opened.expect("a descriptor of the process"),
    };
    let limit: Timespec = limit.try_into().expect("a time");
    let mut ends = [PollFd::new(&process, PollFlags::IN)];
    retry_on_intr(|| poll(&mut ends, Some(&limit))).expect("an end to wait for") > 0
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The command line.
    pub(crate) line: String,
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Standard output, bytes that are not UTF-8 replaced.
    pub(crate) stdout: String,
    /// Standard error, likewise.
    pub(crate) stderr: String,
}

impl Outcome {
    /// The exit status, 128+N for a signal.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Fails unless the status is `code`.
    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    /// Fails unless the program ended well.
    pub(crate) fn assert_ok(&self) -> &Self {
        self.assert_code(0)
    }

    /// Fails unless standard output holds `text`.
    pub(crate) fn assert_stdout(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "no {text:?} in the output: {self}");
        self
    }

    /// Fails unless standard error holds `text`.
    pub(crate) fn assert_stderr(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in the errors: {self}");
        self
    }

    /// Fails when the secret shows up anywhere.
    pub(crate) fn assert_no_secret(&self) -> &Self {
        assert!(!self.stdout.contains(SECRET), "the secret was read: {self}");
        assert!(!self.stderr.contains(SECRET), "the secret was read: {self}");
        self
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, status, stdout, stderr } = self;
        write!(f, "{line}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Whether `program` is on the path. If it is not, says that the test is skipped.
pub(crate) fn have(program: &str) -> bool {
    let found = SYSTEM_PATH.split(':').any(|dir| Path::new(dir).join(program).exists());
    if !found {
        skip(&format!("no {program}"));
    }
    found
}

/// The set-up of a test that needs these programs, or `None` without them.
pub(crate) fn given<T>(programs: &[&str], set_up: impl FnOnce() -> T) -> Option<T> {
    programs.iter().all(|program| have(program)).then(set_up)
}

/// Says that the test is skipped, and lists it for `make test`. Where tests are meant to fail, a test that cannot run
/// fails.
pub(crate) fn skip(why: &str) {
    assert_eq!(Mode::under_test(), Mode::Confined, "skipped: {why}");
    note(&format!("skipped: {why}"));
    let is_by_nature = Holder::current() == Holder::Library;
    if let Some(list) = std::env::var_os("JP_CONFINE_TEST_SKIPS").filter(|_| !is_by_nature) {
        let test = thread::current().name().unwrap_or_default().to_owned();
        let mut list = OpenOptions::new().append(true).create(true).open(list).expect("a list");
        list.write_all(format!("{why}\t{test}\n").as_bytes()).expect("a list");
    }
}

/// Prints a note about the running test, whatever the test runner does with other output.
pub(crate) fn note(text: &str) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    // Writes to the descriptor itself, because the test runner captures the output of `eprintln!`.
    let _ = writeln!(std::io::stderr().lock(), "{name} ... {text}");
}
