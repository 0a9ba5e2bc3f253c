//! Starts a process in its own group and ends the whole group. Used by `session` and `process.run`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often to check whether a process has ended.
const TICK: Duration = Duration::from_millis(5);

/// A process that was started in a group of its own. The host does not collect it before the end, so that no other
/// process can get its number, which is also the group's. Dropping this kills the whole group.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    id: Pid,
    collected: bool,
}

impl Group {
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        Ok(Self { id: Pid::from_child(&child), child, collected: false })
    }

    /// The process, for taking its pipes.
    pub(crate) const fn process(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn has_exited(&self) -> io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.id), look)?.is_some())
    }

    /// Waits for the process to end, then asks it to end, then kills it. Calls `drain` meanwhile, so that full pipes
    /// block nothing.
    pub(crate) fn end(
        mut self,
        grace: Duration,
        drain: &mut dyn FnMut(),
    ) -> io::Result<ExitStatus> {
        if !self.ends_within(grace, drain)? {
            self.ask_to_end(grace, drain)?;
        }
        self.collect()
    }

    /// Asks the process to end, then kills it.
    pub(crate) fn terminate(mut self, grace: Duration) -> io::Result<ExitStatus> {
        self.ask_to_end(grace, &mut || {})?;
        self.collect()
    }

    fn ask_to_end(&self, grace: Duration, drain: &mut dyn FnMut()) -> io::Result<bool> {
        let _ = kill_process_group(self.id, Signal::TERM);
        self.ends_within(grace, drain)
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

    /// Kills the rest of the group and returns how the process ended.
    pub(crate) fn collect(&mut self) -> io::Result<ExitStatus> {
        // The group exists as long as its first process is not collected.
        let _ = kill_process_group(self.id, Signal::KILL);
        self.collected = true;
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.collected {
            let _ = self.collect();
        }
    }
}
