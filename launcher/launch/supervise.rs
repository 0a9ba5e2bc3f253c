//! The process that supervises: it starts the program, answers the system calls that the filter
//! passes on, and tells the front how the program fares.
//!
//! It stands in a process group of its own, in the terminal's session, so that no key press stops it
//! and nobody's group becomes an orphaned one. As the parent of the program and the reaper of its
//! descendants it may read their memory wherever the system lets parents do so (Yama's scope 1).

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
use crate::launch::spawn::Confined;
use crate::network::access::Judged;
use crate::prompt::during_run::{About, Consent};
use crate::record::usage::Recorder;
use crate::supervisor::call_counts::Count;
use crate::supervisor::waiting::STACK;
use crate::supervisor::{Proc, Supervisor};
use crate::sys::child::{self, Kernel, NotStarted};
use crate::sys::exit_status::End;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::mount_table::KernelMount;
use crate::sys::proc::descendants::{self, Descendant};
use crate::sys::proc::orphaned_group;
use crate::sys::signals::{Inherited, Signals};

/// What the front is told, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program runs.
    Started(Pid),
    /// It could not be started: the error number.
    Failed(i32),
    /// The supervisor cannot do its work: the error number.
    Unable(i32),
    /// This process was stopped by this signal: the program, or what it left running.
    Stopped(Pid, i32),
    /// It has ended so.
    Ended(End),
    /// It has ended, and this process runs on.
    Left(Descendant),
    /// So many denials had no room on record.
    Unrecorded(u64),
    /// The supervisor answered so many calls: call and program.
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
    /// Reads one line; `None` for what is no report.
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
    /// Where these let programs start.
    pub(crate) starts: Option<Vec<StartPlace>>,
    pub(crate) filter: &'a [libc::sock_filter],
    pub(crate) withholds: CapabilitySet,
    pub(crate) withholds_cores: bool,
    /// What the supervisor is made from: the policy, the record of denials, and the page by which
    /// processes tell each other of moved directories.
    pub(crate) image: &'a [u8],
    /// What connections are judged by, if they are.
    pub(crate) network: Option<Judged>,
    pub(crate) record: File,
    pub(crate) page: &'a OwnedFd,
    /// What a person may be asked about.
    pub(crate) about: About,
    /// Whether trapped calls are counted, to be told of at the end.
    pub(crate) counting: bool,
    /// The kernel's own file systems at unusual places.
    pub(crate) kernel_mounts: &'a [KernelMount],
    /// What there is of the machine.
    pub(crate) machine: Machine,
    /// Where it is recorded what the run uses, if that is wanted.
    pub(crate) learning: Option<Recorder>,
    /// Whether what the program leaves running is ended.
    pub(crate) kill_leftovers: bool,
}

impl Supervision<'_> {
    /// Splits this process: the copy supervises and never returns from here. Its pid, and where its
    /// reports are read.
    ///
    /// # Errors
    /// Where there can be no process.
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
            // It may be that the front is what is missing.
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
        // The program's own start may be among the calls to answer, so that this must be ready before.
        let answer = move || {
            let mut number = [0; 4];
            // Nothing arrives where the program was not started. Calls that nobody answers fail.
            announced.read_exact(&mut number)?;
            server.serve(child::adopt(i32::from_ne_bytes(number))?)
        };
        thread::Builder::new().name("answers".into()).stack_size(STACK).spawn(answer)?;
        let kernel = Kernel {
            bounds: self.bounds.map(OwnedFd::as_fd),
            filter: Some(self.filter),
            announce: Some(announce.as_fd()),
            withholds: self.withholds,
            withholds_cores: self.withholds_cores,
        };
        let mut stopped = |child, signal| {
            // Where the front is gone, so is soon what it started.
            let _ = front.tell(&Report::Stopped(child, signal));
        };
        match self.confined.start(inherited, &kernel, &mut stopped) {
            Ok(child) => {
                // First: should this process end, the front ends what runs.
                front.tell(&Report::Started(child))?;
                rustix::process::setpgid(None, None)?;
                stand_apart()?;
                let watched = watch(child, front, &consent, self.kill_leftovers);
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
        // What it waits for is signals.
        Ok(rustix::process::kill_process(self.pid, Signal::CHILD)?)
    }

    /// Whether that process is of the same job.
    fn shares_group(&self, pid: Pid) -> bool {
        let group = |pid| rustix::process::getpgid(Some(pid)).ok();
        group(pid).is_some_and(|its| group(self.pid) == Some(its))
    }
}

/// What the user limits the program to is not for who serves it, and what it holds is nobody else's:
/// no process of the user's may take the listener, or look into this one.
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
        // That takes a privilege, and descriptors end somewhere in any case.
        if setrlimit(resource, unlimited).is_err() {
            setrlimit(resource, Rlimit { current: limit.maximum, ..limit })?;
        }
    }
    // Not before the program runs: until then it shares this process's memory, and could not be read
    // either.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// By which the front says that the program was told to end and has ended: nobody is asked any more on behalf of what
/// it left running. No key sends it.
pub(crate) const WITHDRAW: Signal = Signal::USR1;

/// How often it is looked whether a stopped run has a shell still.
const LOOK: Duration = Duration::from_millis(500);

/// How the run fares.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The program has ended.
    has_ended: bool,
    /// The run is stopped, as a job of a shell's that may continue it.
    is_stopped: bool,
}

/// Waits until the program and all that it started have ended.
fn watch(child: Pid, front: &mut Front, consent: &Consent, kill_leftovers: bool) -> io::Result<()> {
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
            leftovers(front, kill_leftovers)?;
        }
        if state.is_stopped && arrival.is_none() && !orphaned_group::has_shell(front.pid) {
            orphaned_group::end(front.pid);
        }
    }
}

/// Collects whoever changed state, and tells of the run; whether anybody is left.
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
    /// As the program's `status` has it, which the front is told.
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

    /// The same where the program has ended: what it left in the front's group is the job, which the first of them
    /// stops that the terminal stops.
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

/// The signal that stopped whom `status` is of; none for who is stopped for a question, and continued after it.
fn stop_of(status: WaitStatus, consent: &Consent) -> Option<i32> {
    status.stopping_signal().filter(|_| !consent.is_asking() && !is_held(status))
}

/// Whether a terminal stops jobs with this signal.
fn is_of_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Whether this tells of a thread that is held for a question, and not of a stop (`ptrace(2)`: the event
/// stands above the signal).
fn is_held(status: WaitStatus) -> bool {
    status.as_raw() >> 16 != 0
}

/// What the program left running.
fn leftovers(front: &mut Front, kill: bool) -> io::Result<()> {
    for descendant in descendants::all() {
        front.tell(&Report::Left(descendant))?;
    }
    if kill {
        descendants::end();
    }
    Ok(())
}
