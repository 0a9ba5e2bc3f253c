//! Collects Landlock's rules while going through the anchors of a policy, and notes where they allow too much or too
//! little. Used by `plan`.

use std::path::{Path, PathBuf};

use jp_confine_engine::tier::Tier;
use jp_confine_engine::{Capabilities, Capability, canonical, decide, views};
use landlock::{ABI, AccessFs};
use rustix::thread::CapabilitySet;

use super::held_rights::{self, Standing};
use super::holder::{Holder, LandlockPart};
use super::landlock_rules::{Cover, CoverObstacle, Excess, PROCESSES};
use super::opened::Opening;
use super::{Plan, PlanInput};
use crate::cli::Enforce;
use crate::host::machine::{Feature, LOST_BY_HOLDING, Machine};
use crate::plan::filter::Traps;
use crate::sys::child;
use crate::sys::landlock_bounds::{self, Bounds, LandlockRule};

/// Exclusions of the baseline in `/proc` that other layers hold. Landlock keeps programs from looking into processes
/// outside the run. The program has no capability for the kernel's memory.
const HELD_IN_PROC: [&str; 6] =
    ["*/mem", "*/environ", "*/task/*/mem", "*/task/*/environ", "kcore", "kmsg"];

/// The plan in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    bounds: Option<Bounds>,
    /// Capabilities for which Landlock is wider or narrower than the policy.
    inexact: Capabilities,
    /// Whether the list of sensitive paths may cause a prompt.
    asks: bool,
    /// Whether Landlock forbids listings that the policy allows.
    unlisted: bool,
    /// Paths that the run may create and read, but that Landlock does not allow to read.
    unread: Vec<PathBuf>,
    absent: Vec<PathBuf>,
    notes: Vec<String>,
}

impl Draft {
    /// The draft for the grants of `order`.
    pub(super) fn of(order: &PlanInput<'_>) -> Self {
        let Some(version) = landlock_bounds::version(order.machine.landlock) else {
            return Self { inexact: Capabilities::ALL, ..Self::default() };
        };
        let standings = held_rights::of(
            order.grants,
            order.image,
            order.workspace,
            order.enforce == Enforce::Strict,
        );
        let mut draft = Self::default();
        for standing in &standings {
            draft.inexact = draft.inexact.union(inexact_at(order, standing));
            draft.asks |= standing.asked;
        }
        if standings.iter().any(|standing| standing.restrained) {
            draft
                .notes
                .push("patterns of tiers are judged by call, wherever one may match".to_owned());
        }
        if order.has_devices {
            let opens = Capabilities::READ.union(Capabilities::UPDATE);
            draft.inexact = draft.inexact.union(opens);
            draft
                .notes
                .push("opens are judged by call, as there are devices among files".to_owned());
        }
        if order.image.ignores_case() {
            draft.inexact = Capabilities::ALL;
            draft.notes.push("names are judged by call, as a file system ignores case".to_owned());
        }
        draft.look_into_proc(order);
        draft.cover(order, version, &standings);
        draft
    }

    /// Marks exclusions in `/proc` that neither Landlock nor a dropped capability holds.
    fn look_into_proc(&mut self, order: &PlanInput<'_>) {
        for grant in order.grants.iter().filter(|grant| order.is_in_proc(&grant.anchor)) {
            let held = held_in_proc(order, &grant.anchor);
            if !grant.carve_outs.iter().all(|pattern| held.contains(pattern)) {
                self.inexact = self.inexact.union(grant.caps);
            }
        }
    }

    /// Builds Landlock's rules.
    fn cover(&mut self, order: &PlanInput<'_>, version: ABI, standings: &[Standing<'_>]) {
        let mut cover = Cover::new(order, version, standings);
        for standing in standings {
            cover.deny(standing);
        }
        let takers = held_rights::takers_of_programs(standings);
        for standing in standings {
            let caps = sayable(order, standing);
            let passed_on = if cover.is_split_above(standing.path) {
                Capabilities::NONE
            } else {
                standing.above
            };
            if passed_on.contains(caps) {
                continue;
            }
            let unread = !passed_on.contains(Capabilities::READ);
            // A program covered only by a rule above could not start any more after it is moved away. So its own rule
            // repeats the right to execute.
            let caps = caps.difference(passed_on.intersection(Capabilities::EXECUTE));
            let is_cache = order.own_caches.is_some_and(|all| standing.path.starts_with(all));
            let is_absent = !is_cache && canonical::look(standing.path).is_err();
            if unread && standing.may_be_made(is_absent) && order.machine.supervises() {
                self.unread.push(standing.path.to_owned());
            }
            if is_absent {
                self.absent.push(standing.path.to_owned());
                if standing.may_have_programs() {
                    let why = "is not there yet";
                    cover.rules.extend(self.await_programs(order, standing.path, why, version));
                }
                continue;
            }
            if let Err(excess) = cover.add(standing.path, caps) {
                self.exceed(&excess, order.machine.supervises());
            }
            let leads_away = |there: &&&Standing<'_>| standing.may_carry_programs_to(there);
            if caps.contains(Capabilities::EXECUTE)
                && let Some(there) = takers.iter().find(leads_away)
            {
                self.carry_programs(standing.path, there.path, order.machine.supervises());
            }
            if standing.may_be_replaced() && standing.may_have_programs() {
                let why = "may be made anew";
                cover.rules.extend(self.await_programs(order, standing.path, why, version));
            }
        }
        for (anchor, rules) in &cover.split {
            let to =
                if order.machine.supervises() { " to calls that avoid the library" } else { "" };
            self.notes.push(format!(
                "{}: something in it is denied, so {rules} rules name the rest one by one, and what \
                 appears there later is denied{to}",
                anchor.display()
            ));
        }
        self.unlisted = cover.unlisted;
        let mut rules = cover.rules;
        rules.extend(self.opened(order, version));
        let writing = AccessFs::WriteFile;
        if order.own.iter().any(|rule| rule.rights.contains(writing)) {
            self.inexact = self.inexact.union(Capabilities::UPDATE);
        }
        rules.extend(order.own.iter().cloned());
        rules.retain(|rule| !rule.rights.is_empty());
        self.bounds = Some(Bounds { version, rules, judges_network: order.judges_network });
    }

    /// The rule for programs that the run may create and start at a path that is missing or may be replaced. Landlock
    /// rules need an existing path, so the rule names the closest directory that stays. The supervisor judges by call
    /// which of its programs may start.
    fn await_programs(
        &mut self,
        order: &PlanInput<'_>,
        path: &Path,
        why: &str,
        version: ABI,
    ) -> Option<LandlockRule> {
        if !order.machine.supervises() {
            return None;
        }
        let strict = order.enforce == Enforce::Strict;
        let there = held_rights::around_programs(path, order.image, order.workspace, strict);
        let Some(there) = there else {
            self.notes.push(format!(
                "{}: programs that the run makes there start in the next run, because it {why}, and what is around \
                 it may not be read",
                path.display()
            ));
            self.inexact = self.inexact.union(Capabilities::EXECUTE);
            return None;
        };
        let rights = landlock_bounds::rights(Capabilities::EXECUTE, version);
        let implied = landlock_bounds::implied(Capabilities::EXECUTE);
        let granted = held_rights::grants_all(order.image, there, implied, strict);
        self.inexact = self.inexact.union(Capabilities::EXECUTE).with_if(!granted, implied);
        self.notes.push(format!(
            "{}: the supervisor judges execute by call, because {} {why}",
            there.display(),
            path.display()
        ));
        Some(LandlockRule { path: there.to_owned(), rights })
    }

    /// Notes that programs may be moved away together with Landlock's right to start them.
    fn carry_programs(&mut self, from: &Path, to: &Path, supervised: bool) {
        self.inexact = self.inexact.union(Capabilities::EXECUTE);
        self.notes.push(format!(
            "{}: {} judges execute by call, because programs may be moved from there to {}",
            from.display(),
            judge(supervised),
            to.display()
        ));
    }

    /// Rules for paths that tiers open without a grant.
    fn opened(&mut self, order: &PlanInput<'_>, version: ABI) -> Vec<LandlockRule> {
        let mut rules = Vec::new();
        for opening in Opening::of(order.tiers).filter(|opening| opening.counts(order.image)) {
            let caps = match opening.tier {
                Tier::Prompt => Capabilities::ALL,
                tier => tier.capabilities(),
            };
            self.inexact = self.inexact.union(caps);
            rules.extend(opening.rules(order.image, version));
            let stem = opening.stem.as_path();
            if opening.tier == Tier::Prompt
                || stem.exists()
                || self.absent.iter().any(|it| it == stem)
            {
                continue;
            }
            if opening.is_plain() && caps.contains(Capabilities::CREATE) {
                rules.extend(self.await_programs(order, stem, "is not there yet", version));
            }
            self.absent.push(opening.stem);
        }
        rules
    }

    /// Notes a directory that could not be split into its entries.
    fn exceed(&mut self, excess: &Excess, supervised: bool) {
        self.inexact = self.inexact.union(excess.caps);
        let why = match excess.obstacle {
            CoverObstacle::Creates => "names that are denied may appear in it",
            CoverObstacle::Large => "it has too many entries to name those that are not denied",
            CoverObstacle::Unlisted => "its entries cannot be listed",
            CoverObstacle::ByRoute => "two links lead there with a rule for each",
            CoverObstacle::Unsupervised => "without a supervisor nobody could list it otherwise",
        };
        let (at, caps) = (excess.at.display(), excess.caps);
        self.notes
            .push(format!("{at}: {} judges {caps} by call, because {why}", judge(supervised)));
    }

    /// The finished plan.
    pub(super) fn plan(mut self, order: &PlanInput<'_>) -> Plan {
        let supervised = order.machine.supervises();
        if order.lists_programs {
            self.inexact = self.inexact.union(Capabilities::EXECUTE);
        }
        if !supervised {
            // Landlock does not cover metadata and sockets.
            self.inexact = self.inexact.union(Capabilities::UPDATE);
        }
        let bounded = self.bounds.is_some();
        let withholds = withheld(order, bounded);
        let inexact = self.inexact.with_if(!self.unread.is_empty(), Capabilities::READ);
        let traps = Traps {
            reads: inexact.intersects(Capabilities::READ),
            listings: self.unlisted,
            contents: false,
            // Only the supervisor leads a name through a view for a program without the library.
            writes: self.inexact.intersects(Capabilities::WRITE) || views::exist(order.image),
            executes: self.inexact.intersects(Capabilities::EXECUTE),
            processes: self.bounds.is_none(),
            namespaces: withholds.contains(CapabilitySet::SYS_ADMIN),
            hiding: !order.machine.traces_all,
            cores: order.machine.writes_cores,
        };
        let traps = supervised.then_some(traps);
        self.notes.extend(unread(&self.unread));
        if let Some(traps) = traps {
            self.notes.extend(costs(traps));
        }
        let holders = Capability::ALL.map(|capability| Holder {
            capability,
            library: order.enforce != Enforce::Strict,
            landlock: match (bounded, inexact.contains(capability.into())) {
                (false, _) => LandlockPart::Absent,
                (true, true) => LandlockPart::Bound,
                (true, false) => LandlockPart::Exact,
            },
            supervisor: traps.is_some_and(|traps| is_trapped(traps, capability)),
        });
        let leaves_reads = bounded
            && !self.asks
            && !order.lists_programs
            && !self.inexact.intersects(Capabilities::READ);
        Plan {
            withholds,
            withholds_cores: order.machine.writes_cores,
            network: order.judges_network.then(|| network_holder(order.machine)),
            weaker: weaker(order.machine),
            loads_library: true,
            leaves_reads,
            leaves_listings: leaves_reads && !self.unlisted,
            bounds: self.bounds,
            traps,
            holders,
            absent: self.absent,
            notes: self.notes,
        }
    }
}

/// The layer that judges by call if Landlock cannot express a rule.
const fn judge(supervised: bool) -> &'static str {
    if supervised { "the supervisor" } else { "only the library" }
}

fn withheld(order: &PlanInput<'_>, bounded: bool) -> CapabilitySet {
    let of_memory = if bounded { child::WITHHELD } else { CapabilitySet::empty() };
    let of_network = if order.judges_network { child::NETWORK } else { CapabilitySet::empty() };
    if order.user.is_root() { of_memory | of_network } else { CapabilitySet::empty() }
}

/// Landlock allows the program itself no connection. The supervisor connects for it.
fn network_holder(machine: Machine) -> &'static str {
    if machine.landlock >= landlock_bounds::NETWORK {
        "supervisor, within landlock's bounds"
    } else {
        "supervisor"
    }
}

/// The exclusions that other layers hold, for a grant on `anchor` in `/proc` or another mount of it.
fn held_in_proc(order: &PlanInput<'_>, anchor: &Path) -> Vec<String> {
    let elsewhere = order.kernel_mounts.iter().find(|mount| mount.at == anchor);
    let usual = elsewhere.map_or(anchor, |mount| &mount.usual);
    let Some(way) = canonical::below(Path::new(PROCESSES), usual) else { return Vec::new() };
    // Deeper grants in `/proc` itself are not affected.
    if elsewhere.is_none() && !bytes(way).is_empty() {
        return Vec::new();
    }
    let behind = |pattern: &&str| decide::exclusion_behind(pattern, bytes(way));
    HELD_IN_PROC.iter().filter_map(behind).collect()
}

/// The rights that Landlock can express here. It leaves out those that a tier denies everywhere below. In `/proc` it
/// grants no changes, because the same name is another object for each process.
fn sayable(order: &PlanInput<'_>, standing: &Standing<'_>) -> Capabilities {
    let caps = standing.caps.difference(standing.denied);
    if order.is_in_proc(standing.path) {
        return caps.difference(Capabilities::WRITE);
    }
    caps
}

/// The capabilities for which Landlock's rule at this anchor allows more or less than the policy. Leaves out read and
/// execute denials below other anchors: see [`cover`].
fn inexact_at(order: &PlanInput<'_>, standing: &Standing<'_>) -> Capabilities {
    let Standing { path, caps, restrained, autorun, by_route, above, .. } = *standing;
    let in_proc = order.is_in_proc(path);
    // A directory's own rights decide whether its entries can be created and deleted.
    let entry = caps.intersection(Capabilities::CREATE.union(Capabilities::DELETE));
    by_route
        .union(standing.lost().intersection(Capabilities::WRITE))
        .union(landlock_bounds::implied(caps).difference(caps))
        .union(entry.difference(above))
        .with_if(restrained, caps)
        .with_if(autorun, caps.intersection(Capabilities::WRITE))
        .with_if(standing.excludes_below, caps.intersection(Capabilities::WRITE))
        .with_if(standing.may_be_replaced(), Capabilities::EXECUTE)
        .with_if(in_proc, standing.lost().union(caps.intersection(Capabilities::WRITE)))
}

const fn is_trapped(traps: Traps, capability: Capability) -> bool {
    match capability {
        Capability::Read => traps.reads,
        Capability::Create | Capability::Update | Capability::Delete => traps.writes,
        Capability::Execute => traps.executes,
    }
}

/// The note on why reads are judged by call.
fn unread(paths: &[PathBuf]) -> Option<String> {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    (!paths.is_empty()).then(|| {
        format!(
            "{}: Landlock's rules do not stand on what the run makes there, so the supervisor judges reads that \
             avoid the library",
            paths.join(", ")
        )
    })
}

/// The costs of the traps, for people.
fn costs(traps: Traps) -> impl Iterator<Item = String> {
    let costs = [
        (
            traps.reads,
            "reads: the loader's, 5 to 10 a program, and libc's own cost 15 to 50 µs each",
        ),
        (traps.listings, "listings: opens of directories that avoid the library cost 15 to 50 µs"),
        (traps.executes, "executions: each start of a program costs about 50 µs more"),
    ];
    costs.into_iter().filter(|(trapped, _)| *trapped).map(|(_, cost)| cost.to_owned())
}

/// The line that says what is missing here, and what is weaker because of it.
fn weaker(machine: Machine) -> Option<String> {
    let missing: Vec<&str> = machine.missing().map(Feature::name).collect();
    let held = match (machine.landlock > 0, machine.supervises()) {
        (true, true) if missing.is_empty() => return None,
        (true, true) => "programs without the library cannot connect, bind or fchmod",
        (true, false) => "held by the library within Landlock's bounds, without a supervisor",
        (false, true) => "held by library and supervisor, without Landlock's bounds",
        (false, false) => "held by the library alone, which a program can evade",
    };
    let lost = if machine.own_descriptors { String::new() } else { format!("; {LOST_BY_HOLDING}") };
    Some(format!("no {} here: {held}{lost}; see `jp-confine doctor`", missing.join(", no ")))
}

fn bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}
