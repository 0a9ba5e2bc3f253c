//! Runs as the process that the shell waits for. It passes on signals, stops when the program stops, and ends as the
//! program ended.
//!
//! The program shares this process's group, so the terminal's ^C, ^\ and ^Z, and the shell's `fg` and `bg`, reach both.
//! The program gets a copy of each signal that only this process got. All signals are blocked and fetched one at a
//! time, on the only thread.

use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use rustix::process::{Pid, Resource, Signal, WaitId, WaitIdOptions, WaitOptions, getrlimit};

use crate::error::Failure;
use crate::host::machine::Need;
use crate::launch::host_process::HostProcess;
use crate::launch::job_control;
use crate::launch::leftovers::{Leftovers, Wait};
use crate::launch::spawn::Confined;
use crate::launch::start::StartObstacle;
use crate::launch::supervise::{Report, Supervision, WITHDRAW};
use crate::prompt::during_run::Before;
use crate::prompt::turns::PromptQueue;
use crate::sys::child::KernelConfinement;
use crate::sys::exit_status::End;
use crate::sys::proc::descendants::{self, Descendant};
use crate::sys::signals::{Arrival, ENDING, Inherited, Signals};

/// Signals that are passed on if a process outside the run sent them.
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

/// The longest wait while leftover processes are waited for.
const TICK: Duration = Duration::from_millis(50);

/// A front before its program runs. From now on signals are pending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    signals: Signals,
    inherited: Inherited,
    host: HostProcess,
}

/// A running program.
#[derive(Debug)]
pub(crate) struct Running {
    front: Pid,
    child: Pid,
    signals: Signals,
    supervisor: Option<Supervised>,
    /// The process that watched the program during its last stop, and may have continued this process.
    companion: Option<Pid>,
    /// This process leads the session, and the session's terminal is gone.
    hung_up: bool,
    /// The program was told from outside to end.
    told_to_end: bool,
    host: HostProcess,
}

/// The process that supervises the program, and its reports so far.
#[derive(Debug)]
struct Supervised {
    pid: Pid,
    /// The terminal state before any prompt of the supervisor.
    terminal: Option<Before>,
    /// The turns of prompts at that terminal.
    turns: PromptQueue,
    reports: File,
    unread: String,
    /// How the program ended. Since then the front waits for leftover processes.
    ended: Option<End>,
    left: Leftovers,
    answered: Vec<(u64, String)>,
    unrecorded: Option<u64>,
    /// The error number that keeps the supervisor from going on.
    unable: Option<i32>,
}

impl Ready {
    /// Blocks the signals that the front fetches one by one. The run ends with its `host`, if it has one.
    pub(crate) fn new(host: Option<i32>) -> Result<Self, Failure> {
        let mut awaited = PASSED_ON.to_vec();
        awaited.push(libc::SIGCHLD);
        let signals = Signals::of(&awaited);
        let inherited = signals.block();
        // If the terminal stops the program, the supervisor decides whether that stops the run.
        Signals::of(&[libc::SIGTTIN, libc::SIGTTOU]).block();
        // Descendants whose parents ended become children of this process, so they stay recognisable as part of the
        // run.
        Need::Reaper.require()?;
        Ok(Self { signals, inherited, host: HostProcess::attend(host)? })
    }

    /// Starts the program as a child of this process.
    pub(crate) fn start(
        &self,
        confined: &Confined<'_>,
        kernel: &KernelConfinement<'_>,
    ) -> Result<Running, Failure> {
        let mut stopped = |child, signal| {
            job_control::stop_with(child, signal);
            continue_process(child);
        };
        let child = confined
            .start(self.inherited, kernel, &mut stopped)
            .map_err(|why| confined.failed(why))?;
        let front = rustix::process::getpid();
        Ok(Running::new(front, child, self, None))
    }

    /// Starts a supervisor, which starts the program. Does what else there is to do `meanwhile`. It can ask whether the
    /// supervisor is still busy with that.
    pub(crate) fn supervise(
        &self,
        supervision: Supervision<'_>,
        meanwhile: impl FnOnce(&dyn Fn() -> bool),
    ) -> Result<Running, StartObstacle> {
        let confined = supervision.confined;
        let wait = supervision.leftovers;
        let terminal = Before::now();
        let turns = supervision.about.turns.clone();
        let (pid, reports) = supervision.begin(self.inherited).map_err(|error| unable(&error))?;
        let mut supervised = Supervised {
            pid,
            terminal,
            turns,
            reports,
            unread: String::new(),
            ended: None,
            left: Leftovers::new(wait, pid),
            answered: Vec::new(),
            unrecorded: None,
            unable: None,
        };
        meanwhile(&|| !supervised.has_news());
        match supervised.started()? {
            Some(Report::Started(child)) => {
                let front = rustix::process::getpid();
                Ok(Running::new(front, child, self, Some(supervised)))
            }
            Some(Report::Failed(libc::EBUSY)) => Err(StartObstacle::Busy),
            Some(Report::Failed(number)) => {
                Err(confined.failed(io::Error::from_raw_os_error(number).into()).into())
            }
            Some(Report::Unable(number)) => {
                Err(unable(&io::Error::from_raw_os_error(number)).into())
            }
            _ => {
                // The program may have begun before the supervisor could report it.
                descendants::end();
                let killed = "the supervisor was killed as it started the program";
                Err(Failure::own(format!("{killed}, and so what had begun was ended")).into())
            }
        }
    }
}

impl Supervised {
    /// The outcome of the start. The program may be stopped before it runs. Then this process stops, too.
    fn started(&mut self) -> io::Result<Option<Report>> {
        loop {
            match self.next()? {
                Some(Report::Stopped(pid, signal)) => job_control::stop_with(pid, signal),
                report => return Ok(report),
            };
            // A signal that continued only this process was meant for the program.
            for Descendant { pid, .. } in descendants::all() {
                Pid::from_raw(pid).into_iter().for_each(continue_process);
            }
        }
    }

    /// Waits for the next report. `None` if the supervisor has ended.
    fn next(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some((line, rest)) = self.unread.split_once('\n') {
                let report = Report::parse(line);
                self.unread = rest.to_owned();
                return Ok(report);
            }
            let mut bytes = [0; 1024];
            match self.reports.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    let text = bytes.get(..count).unwrap_or_default();
                    self.unread.push_str(&String::from_utf8_lossy(text));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a report can be read without waiting.
    fn has_news(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut reports = [PollFd::new(&self.reports, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.unread.contains('\n') || poll(&mut reports, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Reports the leftover processes, and ends them once they had their time.
    fn attend_leftovers(&mut self) {
        if self.left.attend(self.turns.is_taken()) {
            // The supervisor is not collected yet, so the number is still its own.
            let _ = rustix::process::kill_process(self.pid, Signal::TERM);
        }
    }
}

impl Running {
    const fn new(front: Pid, child: Pid, ready: &Ready, supervisor: Option<Supervised>) -> Self {
        Self {
            front,
            child,
            signals: ready.signals,
            host: ready.host,
            supervisor,
            companion: None,
            hung_up: false,
            told_to_end: false,
        }
    }

    /// Waits for the program to end, and returns how it did. Meanwhile calls `watch` at least once in each `interval`.
    ///
    /// # Errors
    /// The supervisor ended before the program; then the run was ended.
    pub(crate) fn wait(&mut self, interval: Duration, watch: &mut dyn FnMut()) -> io::Result<End> {
        loop {
            let pause = if self.waits_for_leftovers() { TICK.min(interval) } else { interval };
            let arrival = self.signals.wait(Some(pause))?;
            if self.host.is_gone() {
                // Nobody needs the run's result, and the program may ignore a request to end.
                descendants::end();
                return Err(io::Error::other("the process that it was for has ended"));
            }
            watch();
            match arrival {
                Some(Arrival { signal: libc::SIGCHLD, .. }) => {
                    if let Some(end) = self.reap()? {
                        return Ok(end);
                    }
                }
                Some(arrival) => {
                    // The program may have ended meanwhile, and another process may have its number.
                    self.read_reports()?;
                    if arrival.signal == libc::SIGHUP && arrival.sender.is_none() && leads_session()
                    {
                        self.hang_up();
                    } else {
                        self.pass_on(arrival);
                    }
                }
                None => {}
            }
            if let Some(supervised) = &mut self.supervisor {
                supervised.attend_leftovers();
            }
        }
    }

    /// Whether there is no report yet that the program has ended.
    pub(crate) fn goes_on(&self) -> bool {
        if let Some(supervised) = &self.supervisor {
            return !supervised.has_news();
        }
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(rustix::process::waitid(WaitId::Pid(self.child), look), Ok(None))
    }

    /// The counted calls: how often, and which call by which program.
    pub(crate) fn answered(&self) -> &[(u64, String)] {
        self.supervisor
            .as_ref()
            .map(|supervised| supervised.answered.as_slice())
            .unwrap_or_default()
    }

    /// Whether a supervisor records denials.
    pub(crate) fn is_supervised(&self) -> bool {
        self.supervisor.is_some()
    }

    /// The number of denials that did not fit into the record. `None` if nobody counted them.
    pub(crate) fn unrecorded(&self) -> Option<u64> {
        self.supervisor.as_ref()?.unrecorded
    }

    fn waits_for_leftovers(&self) -> bool {
        self.supervisor.as_ref().is_some_and(|supervised| supervised.left.need_time())
    }

    /// Collects children that changed state. Returns how the run ended, if it has.
    fn reap(&mut self) -> io::Result<Option<End>> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        while let Some((pid, status)) = rustix::process::wait(options)? {
            let supervised = self.supervisor.as_ref();
            // A supervised program becomes this process's child only once its supervisor is gone.
            if supervised.is_some_and(|supervised| pid == supervised.pid || pid == self.child) {
                if End::of(status).is_some() {
                    return self.conclude().map(Some);
                }
            } else if pid == self.child {
                if let Some(end) = End::of(status) {
                    return Ok(Some(end));
                }
                self.stop_with(pid, status.stopping_signal());
            }
        }
        self.read_reports()?;
        Ok(None)
    }

    fn read_reports(&mut self) -> io::Result<()> {
        while let Some(supervised) = self.supervisor.as_mut().filter(|one| one.has_news()) {
            match supervised.next()? {
                Some(Report::Stopped(pid, signal)) => self.stop_with(pid, Some(signal)),
                Some(Report::Ended(end)) => {
                    supervised.ended = Some(end);
                    supervised.left.begin();
                    if self.hung_up {
                        hang_up_rest(supervised.pid);
                    }
                    if self.told_to_end {
                        let _ = rustix::process::kill_process(supervised.pid, WITHDRAW);
                    }
                }
                Some(Report::Left(descendant)) => supervised.left.add(descendant),
                Some(Report::Unrecorded(count)) => supervised.unrecorded = Some(count),
                Some(Report::Answered(times, what)) => supervised.answered.push((times, what)),
                Some(Report::Unable(number)) => supervised.unable = Some(number),
                Some(Report::Started(_) | Report::Failed(_)) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Handles the end of the supervisor: the run has ended, or is ended now, because nobody answers its calls.
    fn conclude(&mut self) -> io::Result<End> {
        self.read_reports()?;
        if let Some(supervised) = &mut self.supervisor {
            // A supervisor that kills leftovers has no open prompt any more.
            if supervised.left.wait == Wait::No {
                supervised.left.name();
            }
            // Otherwise it was killed while it waited for leftover processes.
            if let Some(end) = supervised.ended
                && !descendants::are_left()
            {
                return Ok(end);
            }
        }
        descendants::end();
        self.restore_terminal();
        let unable = self.supervisor.as_ref().and_then(|supervised| supervised.unable);
        if let Some(number) = unable {
            let error = io::Error::from_raw_os_error(number);
            let message = format!("the supervisor cannot go on, and so the run was ended: {error}");
            return Err(io::Error::other(message));
        }
        // The supervisor lifts its own limit where the system allows that.
        let limited = getrlimit(Resource::Cpu).maximum.map_or_else(String::new, |seconds| {
            format!("; its processor time was limited to {seconds} s (`ulimit -t`)")
        });
        let killed = "the supervisor was killed, and so the run was ended";
        Err(io::Error::other(format!("{killed}{limited}")))
    }

    /// Restores the terminal, in case a prompt was open.
    fn restore_terminal(&self) {
        let Some(supervised) = &self.supervisor else { return };
        if let Some(terminal) = &supervised.terminal {
            // If the terminal is gone, there is nothing to restore.
            let _ = terminal.restore(supervised.pid);
        }
    }

    /// Gives the program the signals that only this process got.
    ///
    /// A key press needs no copy, since the kernel sends it to the whole group. Neither does a signal from inside the
    /// run, where `kill 0` reaches every process. A sender outside means the run, even if it shares the group, as a
    /// script without job control does. SIGCONT is passed on whoever sent it, since it ends the stop that began here.
    ///
    /// Once the program has ended, only leftover processes remain. A signal that ends processes then ends the run.
    fn pass_on(&mut self, arrival: Arrival) {
        if let Some(supervised) = self.supervisor.as_ref().filter(|one| one.ended.is_some()) {
            if ENDING.contains(&arrival.signal) {
                // The supervisor is not collected yet, so the number is still its own.
                let _ = rustix::process::kill_process(supervised.pid, Signal::TERM);
            }
            return;
        }
        let meant = match arrival.sender {
            Some(sender) => !descendants::descends(sender, self.front) || self.is_front(sender),
            None => arrival.signal == libc::SIGCONT,
        };
        if self.is_of_companion(arrival) || !meant && arrival.signal != libc::SIGCONT {
            return;
        }
        self.told_to_end |= ENDING.contains(&arrival.signal);
        if let Some(signal) = Signal::from_named_raw(arrival.signal) {
            // The program may have ended already. Then its status is on its way.
            let _ = rustix::process::kill_process(self.child, signal);
        }
    }

    /// Tells the program that the terminal is gone. The kernel tells only the session leader, here this process, and
    /// the foreground group once that has ended (`tty_jobctrl.c`). But this process waits for the program.
    fn hang_up(&mut self) {
        self.hung_up = true;
        match &self.supervisor {
            Some(supervised) if supervised.ended.is_some() => hang_up_rest(supervised.pid),
            _ => hang_up(self.child),
        }
    }

    /// Stops this process, so that the shell sees its job stop. A signal that continues either then continues both.
    fn stop_with(&mut self, stopped: Pid, signal: Option<i32>) {
        if let Some(signal) = signal {
            self.companion = job_control::stop_with(stopped, signal);
        }
    }

    /// Whether this signal only says that the program already goes on.
    fn is_of_companion(&self, arrival: Arrival) -> bool {
        let companion = self.companion.map(|pid| pid.as_raw_nonzero().get());
        arrival.signal == libc::SIGCONT && companion.is_some() && arrival.sender == companion
    }

    fn is_front(&self, pid: i32) -> bool {
        pid == self.front.as_raw_nonzero().get()
    }
}

fn leads_session() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpid())
}

/// Hangs up the leftover processes in the session, since their foreground group is unknown; but not the `supervisor`.
fn hang_up_rest(supervisor: Pid) {
    let session = rustix::process::getsid(None);
    let left = descendants::all().into_iter().filter_map(|one| Pid::from_raw(one.pid));
    left.filter(|pid| *pid != supervisor && rustix::process::getsid(Some(*pid)) == session)
        .for_each(hang_up);
}

/// Sends both signals that the kernel sends, so that a stopped process sees the first one.
fn hang_up(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::HUP);
    continue_process(process);
}

/// Why there is no supervisor.
fn unable(error: &io::Error) -> Failure {
    let message = format!("nothing was run: the supervisor cannot begin: {error}");
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Failure::advised(
            message,
            "it takes a process and a few threads: allow the user more (`ulimit -u`)",
        ),
        _ => Failure::own(message),
    }
}

/// Continues a stopped process. Does nothing if the process has ended.
fn continue_process(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::CONT);
}
