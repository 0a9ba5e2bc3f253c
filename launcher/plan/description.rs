//! Describes the plan for people and programs, as `--dry-run` shows it.

use std::fmt::Write as _;

use serde::Serialize;

use super::Plan;
use crate::host::machine::LANDLOCK_GREW;
use crate::plan::filter::Traps;
use crate::plan::holder::Holder;
use crate::sys::child;
use crate::text::quote;
use crate::text::wrap;

/// Limits of every plan: no layer controls these.
const LIMITS: [&str; 2] = [
    "not held: descriptors already open, hard links that were in the workspace before",
    "metadata is free to look at (stat) outside hidden areas",
];

/// Calls that programs try and do without. Their denial is not reported.
const ABSENT: &str = "not reported: calls that look absent (io_uring, keys, Landlock, flags of files \
     by ioctl, other architectures, calls newer than this program)";

/// Calls that root inside the run lacks the capabilities for.
const WITHHELD: &str = "not reported: what the kernel refuses for want of the dropped capabilities \
     (namespaces by clone, sethostname, trusted. attributes)";

/// A plan for programs. The lines are for people.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DescribedPlan {
    /// The layers that hold each capability.
    held_by: [Holder; 5],
    /// The layer that judges connections, if any.
    network_held_by: Option<&'static str>,
    supervisor: Vec<String>,
    landlock: Vec<String>,
    notes: Vec<String>,
    limits: Vec<String>,
}

impl Plan {
    /// The layers that hold each capability, the trapped calls, and the notes.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for holder in &self.holders {
            let _ = writeln!(text, "  {:<8} {}", holder.capability.as_str(), holder.layers());
        }
        if let Some(network) = self.network {
            let _ = writeln!(text, "  {:<8} {network}", "net");
        }
        for (heading, lines) in self.sections() {
            section(&mut text, heading, &lines);
        }
        wrap::folded(&text)
    }

    /// The same for programs.
    pub(crate) fn described(&self) -> DescribedPlan {
        let [supervisor, landlock, notes, limits] = self.sections().map(|(_, lines)| lines);
        let (held_by, network_held_by) = (self.holders, self.network);
        DescribedPlan { held_by, network_held_by, supervisor, landlock, notes, limits }
    }

    /// The names of the layers that take part.
    pub(crate) fn layers(&self) -> Vec<&'static str> {
        let supervisor = self.traps.is_some() || self.network.is_some();
        let layers = [
            (self.loads_library, "library"),
            (supervisor, "supervisor"),
            (self.bounds.is_some(), "Landlock"),
        ];
        layers.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)).collect()
    }

    /// What is said of each part, in lines.
    fn sections(&self) -> [(&'static str, Vec<String>); 4] {
        let notes = self.weaker.iter().chain(&self.notes).map(|note| quote::path(note)).collect();
        let limits = self.limits().into_iter().map(str::to_owned).chain(self.outgrown()).collect();
        [
            ("supervisor", self.supervisor().collect()),
            ("landlock", self.landlock().collect()),
            ("notes", notes),
            ("limits", limits),
        ]
    }

    fn supervisor(&self) -> impl Iterator<Item = String> {
        let lines = self.traps.map(|traps| {
            let judged = judged(traps).join(", ");
            let asks = if self.holders.iter().any(|holder| holder.library) {
                "judges the calls that the library does not make"
            } else {
                "judges every call, the library's too"
            };
            [format!("{asks}: {judged}"), "about 20 µs for a call, 40 µs for an open".to_owned()]
        });
        let network = self.network.map(|_| {
            "looks up names, makes all connections, and sends all messages that have an address"
                .to_owned()
        });
        lines.into_iter().flatten().chain(network)
    }

    fn landlock(&self) -> impl Iterator<Item = String> {
        let bounds = self.bounds.as_ref();
        let rules = bounds
            .map(|bounds| format!("version {}, {} rules", bounds.version, bounds.rules.len()));
        let absent = (!self.absent.is_empty()).then(|| {
            let paths: Vec<String> =
                self.absent.iter().map(|path| quote::path(&path.to_string_lossy())).collect();
            format!("not there yet, so only through the layers before it: {}", paths.join(", "))
        });
        let withheld = self.withholds.contains(child::WITHHELD).then(|| {
            "CAP_SYS_RAWIO, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF, CAP_SYSLOG and CAP_SYS_TIME are dropped, \
             with which root reads the memory of all and the kernel's log, and sets the clock".to_owned()
        });
        let of_network = self.withholds.contains(child::NETWORK).then(|| {
            "CAP_NET_ADMIN and CAP_NET_RAW are dropped, with which root goes around rules about hosts"
                .to_owned()
        });
        rules.into_iter().chain(absent).chain(withheld).chain(of_network)
    }

    fn limits(&self) -> Vec<&'static str> {
        let mut limits = LIMITS.to_vec();
        limits.push(if self.static_programs_allowed() {
            "programs for another architecture are not started"
        } else {
            "not held, so not started: static programs and those for another architecture"
        });
        limits.extend(match (&self.traps, &self.bounds) {
            (Some(_), _) => None,
            (None, Some(_)) => Some("not held but by Landlock: calls that avoid the library"),
            (None, None) => Some("not held: calls that avoid the library, io_uring"),
        });
        if self.bounds.is_none() {
            limits.push("not held: signals to processes outside the run (Landlock 6 would)");
        }
        if self.bounds.is_some() {
            limits.push("not reported: what Landlock alone refuses, which nobody sees");
        }
        limits.extend(self.silent());
        limits
    }
}

impl Plan {
    /// The losses that later versions of Landlock would prevent.
    fn outgrown(&self) -> impl Iterator<Item = String> {
        let version = self.bounds.as_ref().map(|bounds| bounds.version as i32);
        let lacks = move |later: i32| version.is_some_and(|version| version < later);
        LANDLOCK_GREW
            .into_iter()
            .filter(move |(later, _)| lacks(*later))
            .map(|(later, loss)| format!("without Landlock {later}: {loss}"))
    }

    /// The denials that nobody reports: those by the filter, or for lack of a capability.
    fn silent(&self) -> impl Iterator<Item = &'static str> {
        let by_filter = match (self.traps.is_some(), self.bounds.is_some()) {
            (true, _) => Some(ABSENT),
            (false, true) => {
                Some("not reported: what the filter refuses (mounts, chroot, modules …)")
            }
            (false, false) => None,
        };
        let by_capability = self.withholds.contains(child::WITHHELD).then_some(WITHHELD);
        by_filter.into_iter().chain(by_capability)
    }
}

/// The kinds of calls that the supervisor judges.
fn judged(traps: Traps) -> Vec<&'static str> {
    let kinds = [
        (traps.reads, "every open"),
        (traps.listings && !traps.reads, "opens of directories"),
        (traps.writes && !traps.reads, "opens that write"),
        (traps.writes, "changes of entries"),
        (true, "starts of programs"),
        (true, "metadata, connections, watches"),
    ];
    kinds.into_iter().filter_map(|(judged, kind)| judged.then_some(kind)).collect()
}

/// A heading and its lines, if there are any.
fn section(text: &mut String, heading: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(text, "{heading}\n  {}", lines.join("\n  "));
    }
}
