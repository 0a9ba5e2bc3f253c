//! Starts runs that wait, and looks at the launcher's own processes. Used by the parts.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read as _, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// What a process holds.
#[derive(Debug)]
pub(crate) struct Holding {
    /// Memory in use, in kilobytes.
    pub(crate) resident: u32,
    /// Of that, its share: pages that several processes map count in part.
    pub(crate) share: u32,
    /// Open descriptors.
    pub(crate) descriptors: usize,
}

/// What the launcher holds, and the supervisor if there is one.
pub(crate) fn holdings(launcher: u32) -> Vec<Holding> {
    let children = format!("/proc/{launcher}/task/{launcher}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let is_own = |child: &u32| program(*child).is_some_and(|it| Some(it) == program(launcher));
    let children = children.split_whitespace().filter_map(|it| it.parse().ok()).filter(is_own);
    std::iter::once(launcher).chain(children).map(holding).collect()
}

fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn holding(process: u32) -> Holding {
    let memory = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("a process");
    let kilobytes = |name: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)).expect("a number");
        line.trim_end_matches("kB").trim().parse().expect("a number")
    };
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).expect("a process").count();
    Holding { resident: kilobytes("Rss:"), share: kilobytes("Pss:"), descriptors }
}
