//! Says how the filter of a run handles each system call, from the table of calls and the run's plan.

use std::collections::BTreeMap;

use jp_confine_engine::calls::{CALLS, Call, LAST_KNOWN, Need, Trap, When};
use libc::c_int;

use super::{Sockets, Traps, trapped_flags};

/// How the filter handles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It fails with this errno, whoever makes it.
    Fails(c_int),
    /// As the table says.
    By(Trap),
}

const PASSES: Fate = Fate::By(Trap::Never);

/// The ranges of numbers that share a fate, each by its first number.
pub(super) fn ranges(traps: Option<Traps>, sockets: Sockets) -> Vec<(u32, Fate)> {
    let fates: BTreeMap<i64, Fate> = CALLS
        .iter()
        .filter_map(|call| Some((call.number()?, fate(call, traps, sockets))))
        .collect();
    let mut ranges: Vec<(u32, Fate)> = Vec::new();
    for (first, number) in (0..).zip(0..=LAST_KNOWN) {
        let fate = fates.get(&number).copied().unwrap_or(PASSES);
        if ranges.last().is_none_or(|(_, last)| *last != fate) {
            ranges.push((first, fate));
        }
    }
    ranges
}

/// How the filter of this run handles `call`.
pub(super) fn fate(call: &Call, traps: Option<Traps>, sockets: Sockets) -> Fate {
    match call.need {
        // If there is a supervisor, it denies the call, so that the denial is reported.
        Need::Refused if traps.is_none() => return Fate::Fails(libc::EPERM),
        Need::Absent => return Fate::Fails(libc::ENOSYS),
        // The same errno as from a kernel that was booted without Landlock.
        Need::TurnedOff if traps.is_some() => return Fate::Fails(libc::EOPNOTSUPP),
        _ => {}
    }
    let (when, trap) = match call.hosts {
        Some(trap) if sockets == Sockets::Judged => (When::Hosts, trap),
        _ => call.trap,
    };
    let passes = match trap {
        Trap::ByFlags(_) => traps.and_then(trapped_flags) == Some(0),
        Trap::BySocket => sockets == Sockets::All && !rustix::process::geteuid().is_root(),
        _ => false,
    };
    if passes || !applies(when, traps, sockets) { PASSES } else { Fate::By(trap) }
}

/// Whether the run is one of those.
fn applies(when: When, traps: Option<Traps>, sockets: Sockets) -> bool {
    let Some(traps) = traps else { return when == When::Filtered };
    match when {
        When::Filtered | When::Supervised => true,
        When::Writes => traps.writes,
        When::Contents => traps.contents,
        When::Processes => traps.processes,
        When::Namespaces => traps.namespaces,
        When::Hiding => traps.hiding,
        When::CoreFiles => traps.cores,
        When::Hosts => sockets == Sockets::Judged,
    }
}
