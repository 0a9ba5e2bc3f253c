//! Starts runs that wait, and looks at the launcher's own processes. Used by the parts.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read as _, pipe};
use std::path::Path;
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

/// The resources of a process, as far as every user may see them. The launcher's user may not look into the supervisor.
#[derive(Debug)]
pub(crate) struct Holding {
    /// Memory in use, in megabytes.
    pub(crate) resident: f64,
    /// Of that, what is no part of a file: each process has its own.
    pub(crate) anonymous: f64,
    /// Open descriptors. 0 before Linux 6.2.
    pub(crate) descriptors: f64,
}

/// The resources of the launcher, and of the supervisor if there is one.
pub(crate) fn holdings(launcher: u32) -> Vec<Holding> {
    let children = fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children"));
    let children = children.unwrap_or_default();
    let is_own = |child: &u32| name(*child).is_some_and(|it| Some(it) == name(launcher));
    let children = children.split_whitespace().filter_map(|it| it.parse().ok()).filter(is_own);
    std::iter::once(launcher).chain(children).map(holding).collect()
}

fn name(process: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/comm")).ok()
}

fn holding(process: u32) -> Holding {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let megabytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a number");
        line.trim_end_matches("kB").trim().parse::<f64>().expect("a number") / 1e3
    };
    let descriptors = fs::metadata(format!("/proc/{process}/fd")).expect("a process").len();
    Holding {
        resident: megabytes("VmRSS:"),
        anonymous: megabytes("RssAnon:"),
        descriptors: u32::try_from(descriptors).map_or(f64::NAN, f64::from),
    }
}
