//! Running the program: start it, pass on what is meant for it, wait, and say how it ended.
//!
//! The program shares this process's group, so that the terminal's ^C, ^\ and ^Z, and the shell's
//! `fg` and `bg`, reach both alike. Of a signal that only this process got, the program gets a copy.
//! All signals are blocked and fetched one at a time, on the only thread there is.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::context::Context;
use crate::failure::{Failure, Refusal};
use crate::sys::child;
use crate::sys::signals::{Arrival, Inherited, Signals, stop_by};

/// Variables by which the loader or libc's start-up code, which no hook sees, would run code before
/// the preload library or write files (`ld.so(8)`).
const BYPASSES: [&str; 5] =
    ["LD_AUDIT", "LD_DEBUG_OUTPUT", "LD_PROFILE", "LD_PROFILE_OUTPUT", "GMON_OUT_PREFIX"];

/// Signals that are passed on, if a process sent them from outside of the run.
const PASSED_ON: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// How often a caller that watches the run is called.
const TICK: Duration = Duration::from_millis(50);

/// A program to run confined.
#[derive(Debug)]
pub(crate) struct Confined<'a> {
    /// Where it is.
    pub(crate) file: &'a Path,
    /// Its name as typed, and its arguments.
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    /// The preload library.
    pub(crate) shim: &'a Path,
    /// The sealed image and the shared page.
    pub(crate) handles: [&'a OwnedFd; 2],
    /// The value of `TMPDIR`.
    pub(crate) temp: &'a Path,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    front: Pid,
    child: Pid,
    signals: Signals,
}

impl Confined<'_> {
    /// Starts the program.
    pub(crate) fn start(&self, context: &Context) -> Result<Running, Failure> {
        let mut awaited = PASSED_ON.to_vec();
        awaited.push(libc::SIGCHLD);
        let signals = Signals::of(&awaited);
        let inherited = signals.block();
        // Descendants whose parents are gone stay ours, and so recognisable as part of the run.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| Failure::own(format!("prctl(PR_SET_CHILD_SUBREAPER): {error}")))?;
        let child = self.spawn(context, inherited).map_err(|error| self.failed(&error))?;
        Ok(Running { front: rustix::process::getpid(), child, signals })
    }

    fn spawn(&self, context: &Context, inherited: Inherited) -> io::Result<Pid> {
        let file = CString::new(self.file.as_os_str().as_bytes())?;
        let words =
            std::iter::once(self.name).chain(self.arguments.iter().map(OsString::as_os_str));
        let arguments: Vec<CString> =
            words.map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        child::Program {
            file: &file,
            arguments: &arguments,
            environment: &self.environment(context)?,
            handles: self.handles,
            inherited,
        }
        .start()
    }

    /// The environment of this process, and what a confined one needs.
    fn environment(&self, context: &Context) -> io::Result<Vec<CString>> {
        // Nothing stands before the library: libc there would hide its functions.
        let mut preload = self.shim.as_os_str().to_owned();
        if let Some(given) = context.variable(OsStr::new("LD_PRELOAD")) {
            preload.push(":");
            preload.push(given);
        }
        let own = [
            ("LD_PRELOAD", preload),
            ("JP_CONFINE", self.handles.map(|fd| fd.as_raw_fd().to_string()).join(":").into()),
            ("TMPDIR", self.temp.into()),
        ];
        let kept = |name: &OsStr| {
            own.iter().all(|(known, _)| name != *known)
                && BYPASSES.iter().all(|known| name != *known)
        };
        let given = context.environment.iter().map(|(name, value)| (name.as_os_str(), value));
        let own = own.iter().map(|(name, value)| (OsStr::new(*name), value));
        let variables = given.filter(|(name, _)| kept(name)).chain(own);
        let variables = variables
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
        Ok(variables.collect::<Result<_, _>>()?)
    }

    fn failed(&self, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::NotFound {
            return Failure::NotFound { program: self.name.into() };
        }
        let reason = Refusal::Unfit(error.to_string());
        Failure::NotExecutable { path: self.file.to_owned(), reason }
    }
}

impl Running {
    /// Waits for the program to end, and returns the exit status that says how: its own, or
    /// 128 + N if signal N ended it. `watch`, if any, is called now and then meanwhile.
    pub(crate) fn wait(&self, mut watch: Option<&mut dyn FnMut()>) -> io::Result<u8> {
        let tick = watch.is_some().then_some(TICK);
        loop {
            let arrival = self.signals.wait(tick)?;
            if let Some(watch) = &mut watch {
                watch();
            }
            match arrival {
                Some(Arrival { signal: libc::SIGCHLD, .. }) => {
                    if let Some(status) = self.reap()? {
                        return Ok(status);
                    }
                }
                Some(arrival) => self.pass_on(arrival),
                None => {}
            }
        }
    }

    /// Collects whoever changed state; the exit status if that was the program, and it ended.
    fn reap(&self) -> io::Result<Option<u8>> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        while let Some((pid, status)) = rustix::process::wait(options)? {
            if pid != self.child {
                continue;
            }
            if let Some(end) = exit_status(status) {
                return Ok(Some(end));
            }
            if let Some(signal) = status.stopping_signal() {
                // The shell must see its job stop; what wakes it then wakes the program.
                stop_by(signal);
            }
        }
        Ok(None)
    }

    /// Gives the program what only this process got.
    ///
    /// The kernel sends to the whole group: a key press needs no copy. Neither does what comes from
    /// inside the run, where `kill 0` reaches everyone. A sender outside, even one that shares the
    /// group as a script without job control does, means the run. To be continued is passed on
    /// whoever says so, since it ends the stop that began here.
    fn pass_on(&self, arrival: Arrival) {
        let meant = match arrival.sender {
            Some(sender) => !child::descends(sender, self.front) || self.is_front(sender),
            None => arrival.signal == libc::SIGCONT,
        };
        if !meant && arrival.signal != libc::SIGCONT {
            return;
        }
        if let Some(signal) = Signal::from_named_raw(arrival.signal) {
            // It may have ended already; then its status is on its way.
            let _ = rustix::process::kill_process(self.child, signal);
        }
    }

    fn is_front(&self, pid: i32) -> bool {
        pid == self.front.as_raw_nonzero().get()
    }
}

fn exit_status(status: WaitStatus) -> Option<u8> {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|n| 128 + n))?;
    u8::try_from(code).ok()
}
