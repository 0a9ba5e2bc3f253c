//! Starts a program under a policy: plans the layers, prepares the kernel's part, and starts it. Used by `commands`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use jp_confine_engine::build;
use jp_confine_engine::canonical::Memory;
use jp_confine_engine::image::Behind;

use crate::cli::{Enforce, Options};
use crate::compile::external_rules::Made;
use crate::compile::image;
use crate::compile::prepared::Prepared;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::machine::Machine;
use crate::launch::executable_check::{self, Judge};
use crate::launch::front::{Ready, Running};
use crate::launch::leftovers::Wait;
use crate::launch::outer_run::{self, Outer};
use crate::launch::preload_library;
use crate::launch::run_resources::RunResources;
use crate::launch::spawn::Confined;
use crate::launch::supervise::Supervision;
use crate::network::access::ConnectionRules;
use crate::plan::Plan;
use crate::plan::filter::{self, Sockets, Traps};
use crate::plan::unsupervised::Unsupervised;
use crate::prompt::during_run::PromptContext;
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;
use crate::record::usage::Recorder;
use crate::sys::child::KernelConfinement;
use crate::sys::landlock_bounds::{Bounds, LandlockRule};
use crate::sys::{landlock, memfd};

/// A program, and everything that its run needs apart from the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) context: &'a Context,
    pub(crate) options: &'a Options,
    /// The program's name as typed, and its arguments.
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    pub(crate) premises: &'a RunResources,
    /// The file that records what the run uses, when learning.
    pub(crate) lesson: Option<&'a File>,
}

impl Start<'_> {
    /// Starts the program under `prepared`, after a call of `announce` with the plan. If that plan turns out to be
    /// impossible, there is a second call and attempt. The `memory` of the disk ends before the program begins. Calls
    /// `meanwhile` as the program begins, with the question whether nobody waits for it yet.
    ///
    /// # Errors
    /// Nothing runs, for whatever reason.
    pub(crate) fn run(
        &self,
        prepared: &mut Prepared,
        memory: Memory,
        mut announce: impl FnMut(&Prepared, &Plan),
        mut meanwhile: impl FnMut(&Prepared, &dyn Fn() -> bool),
    ) -> Result<Running, Failure> {
        let ready = Ready::new(self.options.host)?;
        let mut made = prepared.made.take();
        let machine = self.machine();
        let plan = self.plan(prepared, machine)?;
        drop(memory);
        announce(prepared, &plan);
        match self.attempt(&ready, prepared, (&plan, machine), &mut made, &mut meanwhile) {
            // Another supervisor already answers the calls of this process, and would answer those of the program.
            Err(StartObstacle::Busy) => {
                let machine = machine.without_listener();
                let plan = self.plan(prepared, machine)?;
                announce(prepared, &plan);
                self.attempt(&ready, prepared, (&plan, machine), &mut made, &mut meanwhile)
            }
            outcome => outcome,
        }
        .map_err(|obstacle| match obstacle {
            StartObstacle::Busy => {
                Failure::own("nothing was run: its system calls cannot be filtered")
            }
            StartObstacle::Other(failure) => failure,
        })
    }

    /// The machine's features for this run.
    pub(crate) fn machine(&self) -> Machine {
        outer_run::machine(self.context, self.premises.outer.as_ref())
    }

    /// Plans which layer enforces what, and writes the layers behind the library into its image.
    ///
    /// # Errors
    /// Nothing would run.
    pub(crate) fn plan(&self, prepared: &mut Prepared, machine: Machine) -> Result<Plan, Failure> {
        if let Some(outer) = &self.premises.outer {
            outer.require(self.enforce())?;
        }
        prepared.network.require(self.options, machine)?;
        let mut own = vec![LandlockRule::reading(&self.premises.shim)];
        if !machine.supervises() {
            // With a supervisor the library reports denials to it, and needs no file.
            own.push(LandlockRule::writing(self.premises.scratch.denials()));
        }
        own.extend(self.premises.outer.iter().flat_map(Outer::needs));
        let mut plan = prepared.plan(self.context, machine, self.enforce(), &own)?;
        if let Some(outer) = &self.premises.outer {
            plan.weaker = Some(outer.holding(&plan));
        }
        let place = prepared.unusual.exceeds();
        if let Some(place) = place.filter(|_| plan.traps.is_some()) {
            plan.notes.push(format!(
                "{}: the kernel shows itself there, so the supervisor judges the library's calls, too",
                place.display()
            ));
        }
        // The supervisor reports its own denials. The library must not see them and report them again.
        let leaves = self.lesson.is_none();
        let behind = Behind {
            supervisor: plan.traps.is_some(),
            other_programs: plan.static_programs_allowed(),
            scoped: plan.bounds.as_ref().is_some_and(Bounds::scopes),
            reads: plan.leaves_reads && leaves,
            listings: plan.leaves_listings && leaves,
            learns: self.lesson.is_some(),
            devices: prepared.unusual.device.is_some(),
            bounds: plan.bounds.is_some(),
            offline: prepared.network.without().is_some(),
            rejudges: plan.traps.is_some() && !self.counts_cookie(prepared),
        };
        build::set_behind(&mut prepared.image, behind)
            .map_err(|error| Failure::own(format!("the image is unusable: {error:?}")))?;
        // Without a supervisor a program that cannot load the library does not start, and says why.
        if let Some(traps) = plan.traps {
            let judges_reads = traps.reads || self.lesson.is_some();
            let image = image::parse_image(&prepared.image)?;
            let judge = judges_reads.then_some(&image);
            // A call from the library does not tell which of the links it used, and its word is not trusted here.
            let hides_links = || !self.believes_library(prepared) && image.is_tied();
            let why = preload_library::obstacle(&self.premises.shim, judge).or_else(|| {
                hides_links().then(|| "two links lead to one place with a rule for each".to_owned())
            });
            if let Some(why) = why {
                plan.leave_out_library(&why);
            }
        }
        Ok(plan)
    }

    /// Why there is no supervisor, if there is none.
    pub(crate) fn unsupervised(&self) -> Unsupervised {
        Unsupervised::of(self.options.enforce, self.premises.outer.is_some())
    }

    fn enforce(&self) -> Enforce {
        self.options.enforce.unwrap_or_default()
    }

    /// Whether the supervisor trusts calls that bear the library's mark. If the kernel's own files appear in a granted
    /// directory, Landlock cannot exclude them. Then nothing else would stop a program that finds the mark.
    fn believes_library(&self, prepared: &Prepared) -> bool {
        self.enforce() != Enforce::Strict && prepared.unusual.exceeds().is_none()
    }

    /// Whether the cookie marks calls as judged by the library. When learning, the supervisor has to see all calls.
    fn counts_cookie(&self, prepared: &Prepared) -> bool {
        self.believes_library(prepared) && self.lesson.is_none()
    }

    fn attempt(
        &self,
        ready: &Ready,
        prepared: &Prepared,
        (plan, machine): (&Plan, Machine),
        made: &mut Option<Made>,
        meanwhile: &mut impl FnMut(&Prepared, &dyn Fn() -> bool),
    ) -> Result<Running, StartObstacle> {
        let image = image::parse_image(&prepared.image)?;
        let turns = PromptQueue::of_run(self.context, self.options);
        let judge = Judge {
            outer_views: &self.context.outer_views,
            image: &image,
            arguments: self.arguments,
            // Nobody typed the programs that a tool starts.
            typed_by_person: !self.options.service
                && plan.traps.is_some_and(|traps| traps.executes)
                && Terminal::is_there(&turns, self.options.non_interactive),
            unsupervised: self.unsupervised(),
        };
        let found = executable_check::find(self.context, self.name, judge)?;
        let sealed = memfd::seal(&prepared.image)?;
        let judged = prepared.network.judged()?;
        let confined = Confined {
            file: &found.file,
            name: self.name,
            arguments: self.arguments,
            shim: &self.premises.shim,
            preloads: plan.loads_library,
            handles: if self.premises.outer.is_some() {
                &[&sealed]
            } else {
                &[&sealed, &self.premises.page.file]
            },
            outer: self.premises.outer.as_ref(),
            temp: &self.premises.temp,
            context: self.context,
            proxy: judged.as_ref().and_then(ConnectionRules::proxy),
            variables: &prepared.environment,
            cache_variables: &prepared.caches.variables,
        };
        let bounds = plan.bounds.as_ref().map(landlock::ruleset).transpose()?;
        if self.lesson.is_some() && plan.traps.is_none() {
            return Err(StartObstacle::Other(unobserved(self.premises.outer.is_some())));
        }
        let sockets = prepared.network.sockets();
        let Some(traps) = plan.traps else {
            refuse_borrowed_identity()?;
            let filtered = bounds.is_some() || sockets == Sockets::Local;
            let refusals = filtered.then(|| filter::refusals(sockets));
            let kernel = KernelConfinement {
                bounds: bounds.as_ref().map(OwnedFd::as_fd),
                filter: refusals.as_deref(),
                mark: None,
                announce: None,
                withholds: plan.withholds,
                withholds_cores: plan.withholds_cores,
            };
            made.take().map_or(Ok(()), Made::keep)?;
            let running = ready.start(&confined, &kernel)?;
            meanwhile(prepared, &|| running.goes_on());
            return Ok(running);
        };
        let cookie = self.counts_cookie(prepared).then(|| image.session());
        let Traps { processes, namespaces, hiding, cores, .. } = traps;
        let everything =
            Traps { contents: true, processes, namespaces, hiding, cores, ..Traps::ALL };
        let traps = if self.lesson.is_some() { everything } else { traps };
        made.take().map_or(Ok(()), Made::keep)?;
        let supervision = Supervision {
            confined,
            bounds: bounds.as_ref(),
            starts: plan.bounds.as_ref().filter(|_| traps.executes).map(Bounds::starts),
            filter: &filter::assemble(traps, cookie, sockets),
            // Landlock holds the file again as it starts. If it cannot, the supervisor judges the start.
            mark: cookie.filter(|_| !traps.executes),
            withholds: plan.withholds,
            withholds_cores: plan.withholds_cores,
            image: &prepared.image,
            network: judged,
            record: self.premises.scratch.open_record()?,
            page: &self.premises.page.file,
            about: PromptContext {
                interactive: !self.options.non_interactive,
                workspace: prepared.root.as_path().to_owned(),
                tiers: prepared.tiers.clone(),
                typed: Some(found.canonical).filter(|_| judge.typed_by_person),
                turns,
            },
            counting: self.options.verbose,
            kernel_mounts: &prepared.unusual.mounts,
            machine,
            learning: self.lesson.map(recorder).transpose()?,
            leftovers: Wait::of(self.options),
        };
        ready.supervise(supervision, |is_early| meanwhile(prepared, is_early))
    }
}

/// The recorder that writes to `file`.
fn recorder(file: &File) -> Result<Recorder, Failure> {
    let nothing = image::image_over(&[], None, &[], Path::new("/"))?;
    Ok(Recorder::new(file.try_clone()?, nothing)?)
}

/// Refuses to start without a supervisor if real and effective user or group differ. In that case loaders ignore paths
/// in `LD_PRELOAD` (`ld.so(8)`, secure execution).
fn refuse_borrowed_identity() -> Result<(), Failure> {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    if getuid() == geteuid() && getgid() == getegid() {
        return Ok(());
    }
    Err(Failure::advised(
        "nothing was run: real and effective user or group differ, and so the preload library is not loaded",
        "start it as one user and group, as `setpriv --reuid USER --regid GROUP` does",
    ))
}

/// Why nothing can be learned.
fn unobserved(inside: bool) -> Failure {
    if inside {
        return Failure::advised(
            "learn cannot be had inside another run, which has no supervisor of its own",
            "learn outside of it",
        );
    }
    Failure::advised(
        "learn needs a supervisor, which cannot be had here: nothing was run",
        "`jp-confine doctor` says what is missing; `--enforce cooperative` has no supervisor",
    )
}

/// Why a program was not started.
#[derive(Debug)]
pub(crate) enum StartObstacle {
    /// Another process already answers system calls (`EBUSY`, `seccomp(2)`).
    Busy,
    /// Anything else.
    Other(Failure),
}

impl From<io::Error> for StartObstacle {
    fn from(error: io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<Failure> for StartObstacle {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}
