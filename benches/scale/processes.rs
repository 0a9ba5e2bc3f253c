//! Starts runs that wait, and looks at the launcher's own processes. Used by the parts.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read as _, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The launcher's own processes, in the order of `holdings`.
pub(crate) const MEMORY: [&str; 2] = ["memory of the launcher", "memory of the supervisor"];

/// A program that prints a byte, and waits for the end of its input.
pub(crate) fn program() -> Vec<String> {
    ["sh", "-c", "echo; read x || :"].map(str::to_owned).to_vec()
}

/// Runs that began and wait for their end.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The launchers, or the bare programs.
    pub(crate) children: Vec<Child>,
    output: PipeReader,
    input: PipeWriter,
}

impl Waiting {
    /// Starts a command line some times at once. All have one input and one output.
    pub(crate) fn start(line: &[String], folder: &Path, count: u32) -> Self {
        let (stdin, input) = pipe().expect("a pipe");
        let (output, stdout) = pipe().expect("a pipe");
        let start = |_| {
            let mut command = Command::new(&line[0]);
            command.args(&line[1..]).current_dir(folder);
            command.stdin(stdin.try_clone().expect("a descriptor"));
            command.stdout(stdout.try_clone().expect("a descriptor")).stderr(Stdio::inherit());
            command.spawn().expect("a program")
        };
        Self { children: (0..count).map(start).collect(), output, input }
    }

    /// Waits until the programs have written that many bytes.
    pub(crate) fn await_bytes(&mut self, count: u32) {
        for _ in 0..count {
            self.output.read_exact(&mut [0]).expect("a program that lives");
        }
    }

    /// Lets all programs end.
    pub(crate) fn end(self) {
        drop(self.input);
        for mut child in self.children {
            assert!(child.wait().expect("a child").success(), "a program failed");
        }
    }
}

/// The resources of a process.
#[derive(Debug)]
pub(crate) struct Holding {
    /// Memory in use, in megabytes.
    pub(crate) resident: f64,
    /// Of that, its share: pages that several processes map count in part.
    pub(crate) share: f64,
    /// Open descriptors.
    pub(crate) descriptors: u32,
}

/// The resources of the launcher, and of the supervisor if there is one.
pub(crate) fn holdings(launcher: u32) -> Vec<Holding> {
    let children = format!("/proc/{launcher}/task/{launcher}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let is_own =
        |child: &u32| executable(*child).is_some_and(|it| Some(it) == executable(launcher));
    let children = children.split_whitespace().filter_map(|it| it.parse().ok()).filter(is_own);
    std::iter::once(launcher).chain(children).map(holding).collect()
}

fn executable(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn holding(process: u32) -> Holding {
    let memory = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("a process");
    let megabytes = |name: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)).expect("a number");
        line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") / 1e3
    };
    let descriptors =
        fs::read_dir(format!("/proc/{process}/fd")).expect("a process").fold(0, |sum, _| sum + 1);
    Holding { resident: megabytes("Rss:"), share: megabytes("Pss:"), descriptors }
}
