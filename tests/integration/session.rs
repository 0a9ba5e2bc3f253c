//! One run that makes many calls of the attack program. A row of many calls starts a confined shell once, and can look at
//! the tree between two calls.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::run::{Run, wait};
use crate::scratch::Scratch;

/// Time limit of one call, and of the end.
const LIMIT: Duration = Duration::from_secs(120);

/// The line after each answer.
const MARK: &str = "====\n";

/// A shell that waits for calls.
pub(crate) struct Session {
    child: Child,
    /// `None` once there are no more calls.
    calls: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Session {
    /// Starts the shell in the workspace of `scratch`, confined with these `flags`. Each call is made by the program at
    /// that path in the tree.
    pub(crate) fn start(scratch: &Scratch, program: &str, flags: &str) -> Self {
        let program = scratch.path(program);
        // The pipe keeps the program from the calls that follow. `/dev/null` may be denied.
        let script = format!(
            "set -f; while read -r call; do : | {} $call 2>&1; printf '{}'; done",
            program.display(),
            MARK.escape_default(),
        );
        let flags = scratch.expand(flags);
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let mut command = Run::sh(scratch, &script).flags(&flags).command();
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let answers = child.stdout.take().expect("piped");
        Self { calls: child.stdin.take(), answers, child }
    }

    /// Makes one call, and returns what the attack program printed.
    pub(crate) fn call(&mut self, scratch: &Scratch, line: &str) -> String {
        let calls = self.calls.as_mut().expect("open until the end");
        // A run that has ended gives no answer.
        let _ = writeln!(calls, "{}", scratch.expand(line));
        let mut said = Vec::new();
        while !said.ends_with(MARK.as_bytes()) {
            let mut bytes = [0; 4096];
            let limit: Timespec = LIMIT.try_into().expect("a time");
            let mut more = [PollFd::new(&self.answers, PollFlags::IN)];
            let ready = retry_on_intr(|| poll(&mut more, Some(&limit))).expect("a pipe");
            assert!(ready > 0, "no answer to {line} after {LIMIT:?}");
            match self.answers.read(&mut bytes).expect("a pipe") {
                0 => break,
                count => said.extend(&bytes[..count]),
            }
        }
        let said = String::from_utf8_lossy(&said);
        said.strip_suffix(MARK).unwrap_or(&said).trim_end().to_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.calls = None;
        if thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        } else {
            wait(&mut self.child, LIMIT, "a shell without calls");
        }
    }
}
