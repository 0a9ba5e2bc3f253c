//! Runs the supervising process: it starts the program, answers the system calls that the filter traps, and reports the
//! program's state to the front.
//!
//! It is in its own process group, in the terminal's session. So no key press stops it, and no other group becomes
//! orphaned. It is the parent of the program and the reaper of its descendants. So it may read their memory where the
//! system lets parents do so (Yama's scope 1).

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, thread};

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getrlimit,
    set_dumpable_behavior, setrlimit,
};
use rustix::thread::CapabilitySet;

use crate::host::machine::Machine;
use crate::launch::leftovers::Wait;
use crate::launch::spawn::Confined;
use crate::network::access::ConnectionRules;
use crate::prompt::during_run::{Consent, PromptContext};
use crate::record::usage::Recorder;
use crate::supervisor::call_counts::Count;
use crate::supervisor::waiting::STACK;
use crate::supervisor::{Proc, Supervisor};
use crate::sys::child::{self, KernelConfinement, NotStarted};
use crate::sys::exit_status::End;
use crate::sys::groups::group_of;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::mount_table::KernelMount;
use crate::sys::proc::descendants::{self, Descendant};
use crate::sys::proc::orphaned_group;
use crate::sys::signals::{Inherited, Signals};

/// The reports to the front, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program runs.
    Started(Pid),
    /// The program could not be started: the error number.
    Failed(i32),
    /// The supervisor cannot do its work: the error number.
    Unable(i32),
    /// This process was stopped by this signal: the program, or a leftover process.
    Stopped(Pid, i32),
    /// The program has ended in this way.
    Ended(End),
    /// The program has ended, and this process still runs.
    Left(Descendant),
    /// This many denials did not fit into the record.
    Unrecorded(u64),
    /// The supervisor answered this many calls: call and program.
    Answered(u64, String),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(pid) => write!(f, "started {pid}"),
            Self::Failed(error) => write!(f, "failed {error}"),
            Self::Unable(error) => write!(f, "unable {error}"),
            Self::Stopped(pid, signal) => write!(f, "stopped {pid} {signal}"),
            Self::Ended(End::Exited(status)) => write!(f, "ended {status}"),
            Self::Ended(End::Killed(signal)) => write!(f, "killed {signal}"),
            Self::Left(Descendant { pid, name }) => write!(f, "left {pid} {}", name.escape_debug()),
            Self::Unrecorded(count) => write!(f, "unrecorded {count}"),
            Self::Answered(times, what) => write!(f, "answered {times} {}", what.escape_debug()),
        }
    }
}

impl Report {
    /// Parses one line. `None` if it is no report.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "answered" => return Some(Self::Answered(number.parse().ok()?, name.to_owned())),
            "unrecorded" => return number.parse().ok().map(Self::Unrecorded),
            _ => {}
        }
        let number: i32 = number.parse().ok()?;
        match kind {
            "started" => Pid::from_raw(number).map(Self::Started),
            "failed" => Some(Self::Failed(number)),
            "unable" => Some(Self::Unable(number)),
            "stopped" => Some(Self::Stopped(Pid::from_raw(number)?, name.parse().ok()?)),
            "ended" => u8::try_from(number).ok().map(End::Exited).map(Self::Ended),
            "killed" => Some(Self::Ended(End::Killed(number))),
            "left" => Some(Self::Left(Descendant { pid: number, name: name.to_owned() })),
            _ => None,
        }
    }
}

/// A run that is to be supervised.
#[derive(Debug)]
pub(crate) struct Supervision<'a> {
    pub(crate) confined: Confined<'a>,
    pub(crate) bounds: Option<&'a OwnedFd>,
    /// The places where `bounds` let programs start.
    pub(crate) starts: Option<Vec<StartPlace>>,
    pub(crate) filter: &'a [libc::sock_filter],
    /// The value that marks the program's start as judged, if nobody has to judge it again.
    pub(crate) mark: Option<u64>,
    pub(crate) withholds: CapabilitySet,
    pub(crate) withholds_cores: bool,
    /// The supervisor is built from `image` (the policy), `record` (of denials) and `page` (by which processes tell
    /// each other of moved directories).
    pub(crate) image: &'a [u8],
    /// The rules that connections are judged by, if they are.
    pub(crate) network: Option<ConnectionRules>,
    pub(crate) record: File,
    pub(crate) page: &'a OwnedFd,
    /// The data for prompts.
    pub(crate) about: PromptContext,
    /// Whether trapped calls are counted, and reported at the end.
    pub(crate) counting: bool,
    /// The kernel's own file systems at unusual places.
    pub(crate) kernel_mounts: &'a [KernelMount],
    /// The machine's features.
    pub(crate) machine: Machine,
    /// The recorder of what the run uses, when learning.
    pub(crate) learning: Option<Recorder>,
    /// How long the run waits for leftover processes.
    pub(crate) leftovers: Wait,
}

impl Supervision<'_> {
    /// Splits this process: the copy supervises and never returns from here. Returns the copy's pid and the file with
    /// its reports.
    ///
    /// # Errors
    /// No process can be created.
    pub(crate) fn begin(self, inherited: Inherited) -> io::Result<(Pid, File)> {
        let front = rustix::process::getpid();
        let (reader, writer) = io::pipe()?;
        if let Some(pid) = child::split()? {
            return Ok((pid, OwnedFd::from(reader).into()));
        }
        drop(reader);
        let mut front = Front { pid: front, reports: OwnedFd::from(writer).into() };
        let outcome = self.run(&mut front, inherited);
        if let Err(error) = &outcome {
            // The front itself may be gone.
            let _ = front.tell(&Report::Unable(error.raw_os_error().unwrap_or(libc::EIO)));
        }
        child::leave(i32::from(outcome.is_err()))
    }

    fn run(self, front: &mut Front, inherited: Inherited) -> io::Result<()> {
        let everything: Vec<i32> = (1..=libc::SIGRTMAX()).collect();
        Signals::of(&everything).block();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(front.pid) {
            return Ok(());
        }
        let consent = Arc::new(Consent::new(self.about));
        let supervisor = Supervisor::new(
            self.image.to_owned(),
            self.record,
            self.page,
            Arc::clone(&consent),
            self.learning,
            (self.network, self.starts),
            Proc::open(self.machine.descriptors)?.knowing(self.kernel_mounts),
        )?;
        let supervisor = Arc::new(supervisor.counting(self.counting));
        let (mut announced, announce) = io::pipe()?;
        supervisor.serve_network()?;
        let server = Arc::clone(&supervisor);
        // The program's own start may trap calls, so the answering thread must be ready before.
        let answer = move || {
            let mut number = [0; 4];
            // If the program was not started, nothing arrives. Calls that nobody answers fail.
            announced.read_exact(&mut number)?;
            server.serve(child::adopt(i32::from_ne_bytes(number))?)
        };
        thread::Builder::new().name("answers".into()).stack_size(STACK).spawn(answer)?;
        let kernel = KernelConfinement {
            bounds: self.bounds.map(OwnedFd::as_fd),
            filter: Some(self.filter),
            mark: self.mark,
            announce: Some(announce.as_fd()),
            withholds: self.withholds,
            withholds_cores: self.withholds_cores,
        };
        let mut stopped = |child, signal| {
            // If the front is gone, its program soon is, too.
            let _ = front.tell(&Report::Stopped(child, signal));
        };
        match self.confined.start(inherited, &kernel, &mut stopped) {
            Ok(child) => {
                // First: if this process ends, the front ends the run.
                front.tell(&Report::Started(child))?;
                rustix::process::setpgid(None, None)?;
                stand_apart()?;
                let watched = watch(child, front, &consent, self.leftovers);
                consent.close();
                supervisor.conclude();
                watched?;
                front.tell(&Report::Unrecorded(supervisor.unrecorded()))?;
                for Count { times, call, program } in supervisor.counts() {
                    let what = format!("{call} by {}", String::from_utf8_lossy(&program));
                    front.tell(&Report::Answered(times, what))?;
                }
                Ok(())
            }
            Err(NotStarted::Library(why) | NotStarted::Process(why)) => {
                front.tell(&Report::Failed(why.raw_os_error()))
            }
        }
    }
}

/// The process that the user sees.
struct Front {
    pid: Pid,
    reports: File,
}

impl Front {
    fn tell(&mut self, report: &Report) -> io::Result<()> {
        self.reports.write_all(format!("{report}\n").as_bytes())?;
        // The front waits for signals only.
        Ok(rustix::process::kill_process(self.pid, Signal::CHILD)?)
    }

    /// Whether the process is in the front's job.
    fn shares_group(&self, pid: Pid) -> bool {
        group_of(pid).is_some_and(|its| group_of(self.pid) == Some(its))
    }
}

/// Lifts the user's limits, which are meant for the program, not for its supervisor. Then makes this process
/// undumpable, so that no process of the user can take the listener or read this process.
fn stand_apart() -> io::Result<()> {
    let own = [
        Resource::As,
        Resource::Cpu,
        Resource::Data,
        Resource::Fsize,
        Resource::Nofile,
        Resource::Nproc,
    ];
    let unlimited = Rlimit { current: None, maximum: None };
    for resource in own {
        let limit = getrlimit(resource);
        // Exceeding the maximum takes a privilege, and the number of descriptors is limited in any case.
        if setrlimit(resource, unlimited).is_err() {
            setrlimit(resource, Rlimit { current: limit.maximum, ..limit })?;
        }
    }
    // Not before the program runs: until then it shares this process's memory, and would be unreadable, too.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Sent by the front if the program was told to end and has ended: no prompts are shown for leftover processes. No key
/// sends this signal.
pub(crate) const WITHDRAW: Signal = Signal::USR1;

/// Interval at which the supervisor looks whether a stopped run still has a shell.
const LOOK: Duration = Duration::from_millis(500);

/// The state of the run.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The program has ended.
    has_ended: bool,
    /// The run is stopped, as a job of a shell that may continue it.
    is_stopped: bool,
}

/// Waits until the program and all its descendants have ended.
fn watch(child: Pid, front: &mut Front, consent: &Consent, wait: Wait) -> io::Result<()> {
    let awaited = Signals::of(&[libc::SIGCHLD, libc::SIGTERM, WITHDRAW.as_raw()]);
    let mut state = State::default();
    loop {
        let arrival = awaited.wait(state.is_stopped.then_some(LOOK))?;
        let has_come = |signal: Signal| arrival.is_some_and(|one| one.signal == signal.as_raw());
        if has_come(Signal::TERM) {
            // The front is gone, or somebody wants the run to end.
            descendants::end();
            return Ok(());
        }
        if has_come(WITHDRAW) {
            consent.withdraw();
        }
        let before = state;
        if !reap(child, front, consent, &mut state)? {
            return Ok(());
        }
        if state.has_ended && !before.has_ended {
            leftovers(front, wait)?;
        }
        if state.is_stopped && arrival.is_none() && !orphaned_group::has_shell(front.pid) {
            orphaned_group::end(front.pid);
        }
    }
}

/// Collects children that changed state, and reports on the run. Returns whether any child is left.
fn reap(child: Pid, front: &mut Front, consent: &Consent, state: &mut State) -> io::Result<bool> {
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    loop {
        match rustix::process::wait(options) {
            Ok(Some((pid, status))) if pid == child => {
                state.of_program(pid, status, front, consent)?;
            }
            Ok(Some((pid, status))) if state.has_ended && front.shares_group(pid) => {
                state.of_leftover(pid, status, front, consent)?;
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        }
    }
}

impl State {
    /// Updates the state from the program's `status`, and reports to the front.
    fn of_program(
        &mut self,
        pid: Pid,
        status: WaitStatus,
        front: &mut Front,
        consent: &Consent,
    ) -> io::Result<()> {
        if let Some(end) = End::of(status) {
            *self = Self { has_ended: true, is_stopped: false };
            front.tell(&Report::Ended(end))?;
            consent.withdraw_after(end);
        } else if let Some(signal) = stop_of(status, consent) {
            self.is_stopped = orphaned_group::has_shell(front.pid);
            front.tell(&Report::Stopped(pid, signal))?;
        } else if status.continued() {
            self.is_stopped = false;
        }
        Ok(())
    }

    /// The same for a leftover process, once the program has ended. The leftover processes in the front's group are the
    /// job. The first one that the terminal stops, stops the job.
    fn of_leftover(
        &mut self,
        pid: Pid,
        status: WaitStatus,
        front: &mut Front,
        consent: &Consent,
    ) -> io::Result<()> {
        if status.continued() {
            self.is_stopped = false;
        } else if let Some(signal) = stop_of(status, consent)
            && is_of_terminal(signal)
            && !self.is_stopped
            && orphaned_group::has_shell(front.pid)
        {
            self.is_stopped = true;
            front.tell(&Report::Stopped(pid, signal))?;
        }
        Ok(())
    }
}

/// The signal that stopped the process of `status`. `None` if it was stopped for a prompt, and is continued afterwards.
fn stop_of(status: WaitStatus, consent: &Consent) -> Option<i32> {
    status.stopping_signal().filter(|_| !consent.is_asking() && !is_held(status))
}

/// Whether a terminal stops jobs with this signal.
fn is_of_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Whether the status is of a thread that is held for a prompt, not of a stop (`ptrace(2)`: the event stands above the
/// signal).
fn is_held(status: WaitStatus) -> bool {
    status.as_raw() >> 16 != 0
}

/// Reports the leftover processes, and kills them if asked to.
fn leftovers(front: &mut Front, wait: Wait) -> io::Result<()> {
    for descendant in descendants::all() {
        front.tell(&Report::Left(descendant))?;
    }
    if wait == Wait::No {
        descendants::end();
    }
    Ok(())
}
