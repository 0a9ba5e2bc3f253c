//! Decides which layer holds which part of the policy in a run. Landlock holds the rules that it can express exactly.
//! The supervisor judges the rest by call, within the closest bounds that Landlock can express.

pub(crate) mod description;
mod draft;
pub(crate) mod filter;
mod held_rights;
pub(crate) mod holder;
mod landlock_rules;
pub(crate) mod landlock_text;
mod opened;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
pub(crate) mod unsupervised;

use std::path::{Path, PathBuf};

use jp_confine_engine::Capability;
use jp_confine_engine::build::Grant;
use jp_confine_engine::image::Image;
use jp_confine_engine::tiers::Tiers;
use rustix::process::Uid;
use rustix::thread::CapabilitySet;

use self::draft::Draft;
use self::holder::Holder;
use self::landlock_rules::PROCESSES;
use crate::cli::Enforce;
use crate::error::Failure;
use crate::host::machine::Machine;
use crate::plan::filter::Traps;
use crate::sys::landlock_bounds::{Bounds, LandlockRule};
use crate::sys::mount_table::KernelMount;

/// The input for a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanInput<'a> {
    /// The policy, and its compiled image, which answers lookups.
    pub(crate) grants: &'a [Grant],
    pub(crate) image: &'a Image<'a>,
    /// The policy's tier layer.
    pub(crate) tiers: &'a Tiers,
    /// The workspace, the base of relative routes.
    pub(crate) workspace: &'a Path,
    /// The rules that the product itself needs inside the run.
    pub(crate) own: &'a [LandlockRule],
    /// The user who runs the program.
    pub(crate) user: Uid,
    pub(crate) machine: Machine,
    pub(crate) enforce: Enforce,
    /// Whether there are rules about hosts.
    pub(crate) judges_network: bool,
    /// Whether only listed programs may start. Landlock knows nothing of arguments.
    pub(crate) lists_programs: bool,
    /// Whether granted directories contain device nodes, of which Landlock knows nothing.
    pub(crate) has_devices: bool,
    /// The kernel's own file systems mounted at unusual places.
    pub(crate) kernel_mounts: &'a [KernelMount],
    /// The directory of the workspace's own caches. They exist before a program starts.
    pub(crate) own_caches: Option<&'a Path>,
}

impl PlanInput<'_> {
    /// Whether entries at `path` come and go with processes, so that naming them would hold nothing. That is so in
    /// `/proc`, and wherever else it is mounted.
    pub(crate) fn is_in_proc(&self, path: &Path) -> bool {
        let elsewhere = |mount: &KernelMount| mount.has_processes && path.starts_with(&mount.at);
        path.starts_with(PROCESSES) || self.kernel_mounts.iter().any(elsewhere)
    }
}

/// The plan of a run.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Plan {
    /// The rights that Landlock allows. `None` if it takes no part.
    pub(crate) bounds: Option<Bounds>,
    /// The calls that the supervisor judges. `None` without a supervisor.
    pub(crate) traps: Option<Traps>,
    /// The layers that hold each capability, in the order of [`Capability::ALL`].
    pub(crate) holders: [Holder; 5],
    /// Whether the library passes opens for reading without judging them. Landlock holds those exactly, and no prompt
    /// is possible.
    pub(crate) leaves_reads: bool,
    /// Whether the library passes listings without judging them.
    pub(crate) leaves_listings: bool,
    /// Anchors that do not exist. Landlock's rules need existing paths, so only the library and the supervisor grant
    /// access there.
    pub(crate) absent: Vec<PathBuf>,
    /// Capabilities that the program must lack if its user is root. With them root could read the memory of the kernel
    /// and of processes outside, or bypass rules about hosts.
    pub(crate) withholds: CapabilitySet,
    /// Whether crashes write no core files. The kernel asks nobody where it writes them.
    pub(crate) withholds_cores: bool,
    /// The layer that judges connections, if any.
    pub(crate) network: Option<&'static str>,
    /// One line on what is missing and what that means, for the start of a run. `None` if nothing is missing.
    pub(crate) weaker: Option<String>,
    /// Whether programs load the library.
    pub(crate) loads_library: bool,
    /// The choices that were made, and their costs.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// The plan for `order`.
    ///
    /// # Errors
    /// Fails if `strict` is ordered and a layer is missing.
    pub(crate) fn of(order: &PlanInput<'_>) -> Result<Self, Failure> {
        if order.enforce == Enforce::Strict {
            require_all(order.machine)?;
        }
        if order.enforce == Enforce::Cooperative {
            return Ok(Self::cooperative(order.machine));
        }
        Ok(Draft::of(order).plan(order))
    }

    /// A plan with the library alone.
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

    /// Makes programs run without the library. `why` is a clause.
    pub(crate) fn leave_out_library(&mut self, why: &str) {
        self.loads_library = false;
        for holder in &mut self.holders {
            holder.library = false;
        }
        let line = format!("the library is not loaded, as {why}: the kernel's layers hold alone");
        let lines: Vec<String> = self.weaker.take().into_iter().chain([line]).collect();
        self.weaker = Some(lines.join("; "));
    }

    /// Whether programs may run that cannot load the library. Then the supervisor must judge their calls. Landlock
    /// alone never suffices: it has no right for metadata, extended attributes and connecting to sockets
    /// (`docs/decisions/0026`).
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
