//! The process of a tool, and its group.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often it is looked whether a process has ended.
const TICK: Duration = Duration::from_millis(5);

/// The three standard streams of a tool.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// A tool that was started. Its process is not collected before the end, so that its number, which is
/// that of its group, stays its own. Dropped, the whole group is killed.
#[derive(Debug)]
pub(super) struct Tool {
    child: Child,
    group: Pid,
    collected: bool,
}

impl Tool {
    pub(super) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let tool = Self { child, group, collected: false };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok((tool, Pipes { stdin, stdout, stderr }))
            }
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn has_exited(&self) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.group), look)?.is_some())
    }

    /// Waits for the tool to end, and then asks it to, and then makes it; `drain` is called meanwhile,
    /// so that full pipes hold up nothing.
    pub(super) fn end(
        mut self,
        grace: Duration,
        drain: &mut dyn FnMut(),
    ) -> io::Result<ExitStatus> {
        if !self.ends_within(grace, drain)? {
            let _ = kill_process_group(self.group, Signal::TERM);
            self.ends_within(grace, drain)?;
        }
        self.collect()
    }

    fn ends_within(&self, grace: Duration, drain: &mut dyn FnMut()) -> io::Result<bool> {
        let until = Instant::now() + grace;
        loop {
            let exited = self.has_exited()?;
            drain();
            if exited || Instant::now() > until {
                return Ok(exited);
            }
            std::thread::sleep(TICK);
        }
    }

    fn collect(&mut self) -> io::Result<ExitStatus> {
        // What is left of the group; the group is there as long as the tool is not collected.
        let _ = kill_process_group(self.group, Signal::KILL);
        self.collected = true;
        self.child.wait()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        if !self.collected {
            let _ = self.collect();
        }
    }
}
