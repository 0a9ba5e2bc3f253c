//! The plan of a run: which layer holds what. Landlock holds what it can say exactly; the rest goes
//! to the supervisor, call by call, within the closest bounds that Landlock can say.

mod description;
mod draft;
pub(crate) mod filter;
mod held_rights;
pub(crate) mod holder;
mod landlock_rules;
mod opened;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
pub(crate) mod unsupervised;

use std::path::{Path, PathBuf};

use jp_confine_policy::build::{Grant, Origin};
use jp_confine_policy::image::Image;
use jp_confine_policy::tiers::Tiers;
use jp_confine_policy::{Capabilities, Capability};
use rustix::process::Uid;
use rustix::thread::CapabilitySet;

use self::draft::Draft;
use self::holder::Holder;
use self::landlock_rules::PROCESSES;
use crate::cli::Enforce;
use crate::error::Failure;
use crate::host::machine::Machine;
use crate::plan::filter::Traps;
use crate::sys::landlock_bounds::{Bounds, Rule};
use crate::sys::mount_table::KernelMount;

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    /// The policy, and the image of it, by which it is asked.
    pub(crate) grants: &'a [Grant],
    pub(crate) image: &'a Image<'a>,
    /// The tier layer of it.
    pub(crate) tiers: &'a Tiers,
    /// The workspace, which routes are relative to.
    pub(crate) workspace: &'a Path,
    /// What the product itself needs inside the run.
    pub(crate) own: &'a [Rule],
    /// Who runs the program.
    pub(crate) user: Uid,
    pub(crate) machine: Machine,
    pub(crate) enforce: Enforce,
    /// Whether there are rules about hosts.
    pub(crate) judges_network: bool,
    /// Whether only listed programs may be started: Landlock knows no arguments.
    pub(crate) lists_programs: bool,
    /// Whether there are nodes of devices in granted directories, of which Landlock knows nothing.
    pub(crate) has_devices: bool,
    /// The kernel's own file systems at unusual places.
    pub(crate) kernel_mounts: &'a [KernelMount],
}

impl Order<'_> {
    /// Whether entries come and go with the processes at `path`, so that naming them would hold nothing: in `/proc`,
    /// and wherever else that is mounted.
    pub(crate) fn is_in_proc(&self, path: &Path) -> bool {
        let elsewhere = |mount: &KernelMount| mount.has_processes && path.starts_with(&mount.at);
        path.starts_with(PROCESSES) || self.kernel_mounts.iter().any(elsewhere)
    }

    /// Whether a person lets something be read and not executed. Elsewhere nobody gains by a loader: what may be read is
    /// the system's, or may be executed.
    fn keeps_from_executing(&self) -> bool {
        let only_reads = |grant: &Grant| {
            let by_person = match grant.origin {
                Origin::Rule { .. } | Origin::Flag { .. } => true,
                Origin::Profile { named, .. } => named,
                _ => false,
            };
            let caps = grant.caps;
            by_person && caps.contains(Capabilities::READ) && !caps.contains(Capabilities::EXECUTE)
        };
        self.grants.iter().any(only_reads)
    }
}

/// Which layer holds what.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Plan {
    /// What Landlock allows; `None` where it does not take part.
    pub(crate) bounds: Option<Bounds>,
    /// What the supervisor judges; `None` where there is none.
    pub(crate) traps: Option<Traps>,
    /// Who holds each capability, in the order of [`Capability::ALL`].
    pub(crate) holders: [Holder; 5],
    /// Whether the library leaves opens of files that only read to Landlock, which holds them exactly, and asks
    /// nobody.
    pub(crate) leaves_reads: bool,
    /// The same of directories that are listed.
    pub(crate) leaves_listings: bool,
    /// Anchors that do not exist: what is granted there comes by way of the library and the
    /// supervisor only, because Landlock's rules stand on what exists.
    pub(crate) absent: Vec<PathBuf>,
    /// Capabilities that the program must do without if its user is root: those by which root reads memory
    /// of the kernel and of processes outside, and goes around rules about hosts.
    pub(crate) withholds: CapabilitySet,
    /// Whether no files are made of the memory of what crashes: the kernel asks nobody where it writes them.
    pub(crate) withholds_cores: bool,
    /// Who judges connections, if anybody does.
    pub(crate) network: Option<&'static str>,
    /// What is missing and what that means, in one line; it is to be said at the start.
    pub(crate) weaker: Option<String>,
    /// Whether programs load the library.
    pub(crate) loads_library: bool,
    /// What was chosen where there was a choice, and what it costs.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// The plan for `order`.
    ///
    /// # Errors
    /// Where `strict` is ordered and a layer is missing.
    pub(crate) fn of(order: &Order<'_>) -> Result<Self, Failure> {
        if order.enforce == Enforce::Strict {
            require_all(order.machine)?;
        }
        if order.enforce == Enforce::Cooperative {
            return Ok(Self::cooperative(order.machine));
        }
        Ok(Draft::of(order).plan(order))
    }

    /// The library alone.
    fn cooperative(machine: Machine) -> Self {
        Self {
            bounds: None,
            traps: None,
            holders: Capability::ALL.map(Holder::library),
            leaves_reads: false,
            leaves_listings: false,
            absent: Vec::new(),
            withholds: CapabilitySet::empty(),
            withholds_cores: machine.writes_cores,
            network: None,
            weaker: None,
            loads_library: true,
            notes: Vec::new(),
        }
    }

    /// Has programs run without the library, `why` being a clause.
    pub(crate) fn leave_out_library(&mut self, why: &str) {
        self.loads_library = false;
        for holder in &mut self.holders {
            holder.library = false;
        }
        let line = format!("the library is not loaded, as {why}: the kernel's layers hold alone");
        let lines: Vec<String> = self.weaker.take().into_iter().chain([line]).collect();
        self.weaker = Some(lines.join("; "));
    }

    /// Whether programs may run that the library is not loaded into: somebody else judges their calls. Landlock
    /// alone never suffices, whatever the policy: it has no right for metadata, extended attributes and
    /// connecting to sockets (`docs/decisions/0026`).
    pub(crate) fn static_programs_allowed(&self) -> bool {
        self.traps.is_some()
    }
}

fn require_all(machine: Machine) -> Result<(), Failure> {
    let Some(feature) = machine.missing().next() else { return Ok(()) };
    Err(Failure::advised(
        format!("--enforce strict needs {}, which is not to be had here", feature.name()),
        format!("{}; `jp-confine doctor` says more", feature.remedy()),
    ))
}
