//! Builds the block after a run with denials (spec §18). Used by `commands::run_end`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::host::invocation::CommandHint;
use crate::output::{NAME, Style};
use crate::record::command_line;
use crate::record::denials::of_any_process;
use crate::record::event::LayerName;
use crate::report::why::Explained;
use crate::report::why::missing_variables::Missed;
use crate::report::why::record::{ExplainedDenial, Together, Weight};
use crate::text::quote::{printable, quoted, shown, within};
use crate::text::wrap::{self, WIDTH, width};

#[cfg(test)]
mod tests;

/// Limit on the lines of the block.
const LINES: usize = 20;

/// Lines for denials: the others are for the head, and for up to three further remarks.
const FOR_DENIALS: usize = LINES - 4;

/// At most this many groups of denials are named.
const GROUPS: usize = 5;

/// At most this many names that looked absent are among them.
const ABSENT: usize = 2;

/// At most this many programs are named beside the first.
const PROGRAMS: usize = 3;

/// The contents of the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) run: &'a Explained,
    /// The program of the run, by the name that was typed.
    pub(crate) program: &'a str,
    /// The number of names in the home that looked absent, whether they exist or not.
    pub(crate) hidden: u64,
    /// The number of denials that are not in the record one by one.
    pub(crate) untold: u64,
    pub(crate) here: &'a CommandHint,
    pub(crate) workspace: &'a Path,
    pub(crate) verbose: bool,
    /// Whether `why --last` has a record of the run.
    pub(crate) kept: bool,
    /// Whether the denials are in an event log already.
    pub(crate) logged: bool,
}

/// The denials that one number stands for.
type Group<'a> = Vec<&'a ExplainedDenial>;

/// The block for the end of a run: one line if the program succeeded, else at most 20. Empty if there were no denials.
pub(crate) fn block(about: &Circumstances<'_>, style: Style) -> String {
    let head = &about.run.head;
    let mut text = if head.status == 0 && !about.verbose {
        one_line(about, style)
    } else {
        groups(about, style)
    };
    if about.hidden > 0 && about.verbose {
        let names = if about.hidden == 1 { "name" } else { "names" };
        let _ = writeln!(
            text,
            "{} {} {names} in the home directory looked absent (--show-denied shows which)",
            style.name(),
            about.hidden,
        );
    }
    if let Some(gap) = &head.gap {
        let _ = writeln!(text, "{} {gap}", style.name());
    }
    text
}

/// What a program was denied that ended well.
fn one_line(about: &Circumstances<'_>, style: Style) -> String {
    let of = |weight| about.run.denials.iter().filter(move |one| one.weight == weight);
    let denials = of(Weight::Denied).map(|one| one.times).sum::<u64>() + about.untold;
    let absent: BTreeSet<&str> = of(Weight::LookedAbsent).map(|one| one.path.as_str()).collect();
    let mut parts = Vec::new();
    match denials {
        0 => {}
        1 => parts.push("1 denial did not matter".to_owned()),
        _ => parts.push(format!("{denials} denials did not matter")),
    }
    match (absent.first(), absent.len()) {
        (None, _) => {}
        (Some(path), 1) => {
            let path = shown(path.as_bytes(), about.workspace);
            parts.push(format!("{path} looked absent"));
        }
        (_, count) => parts.push(format!("{count} paths looked absent")),
    }
    if parts.is_empty() {
        return String::new();
    }
    let way =
        if about.kept { about.here.command("why --last") } else { "-v shows more".to_owned() };
    format!("{} {}: {}\n", style.name(), parts.join(", "), style.bright(&way))
}

/// What a program was denied that failed.
fn groups(about: &Circumstances<'_>, style: Style) -> String {
    let is_told = |one: &&ExplainedDenial| about.verbose || one.weight != Weight::Idle;
    let told: Vec<&ExplainedDenial> = about.run.denials.iter().filter(is_told).collect();
    let withheld = &about.run.head.withheld;
    let total = told.iter().map(|one| one.times).sum::<u64>() + about.untold;
    let mut text = String::new();
    if total == 0 && withheld.is_empty() {
        return text;
    }
    if total > 0 {
        let noun = if total == 1 { "denial" } else { "denials" };
        let _ = writeln!(text, "{} {total} {noun}", style.name());
    }
    let mut groups = together(told);
    let mut room = FOR_DENIALS - usize::from(!withheld.is_empty());
    let mut shown = 0;
    let mut absent = 0;
    groups.retain(|group| {
        let is_absent = group.iter().all(|one| one.weight == Weight::LookedAbsent);
        absent += usize::from(is_absent);
        !is_absent || absent <= ABSENT
    });
    for group in groups.iter().take(GROUPS) {
        let lines = describe(group, about, style);
        let Some(left) = room.checked_sub(lines.len()) else { break };
        room = left;
        shown += group.iter().map(|one| one.times).sum::<u64>();
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    if !withheld.is_empty() {
        let _ = writeln!(text, "{} {}", style.name(), missed(about));
    }
    if let Some(line) = tail(about, total - shown, style) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Puts all denials of one number together. The groups are in the order of their first denials.
fn together(denials: Vec<&ExplainedDenial>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for denial in denials {
        let is_its = |group: &&mut Group<'_>| group.iter().any(|one| one.number == denial.number);
        match groups.iter_mut().find(is_its) {
            Some(group) => group.push(denial),
            None => groups.push(vec![denial]),
        }
    }
    groups
}

/// How to allow denials for good, and where the rest is told.
fn tail(about: &Circumstances<'_>, more: u64, style: Style) -> Option<String> {
    let head = &about.run.head;
    let more = (more > 0).then(|| format!("and {more} more"));
    let can_be_written = about.run.denials.iter().any(|one| !one.changes.is_empty())
        || head.together.iter().any(|one| !one.changes.is_empty())
        || head.withheld.iter().any(Missed::is_written);
    let command = |words| style.bright(&about.here.command(words));
    let allow = || format!("to allow for good: {}", command("allow"));
    let allow = (about.kept && can_be_written).then(allow);
    let rest = match (about.kept, about.logged) {
        (true, _) => Some(format!("details: {}", command("why --last"))),
        (false, false) => Some("all of them, as they happen: --events FILE".to_owned()),
        (false, true) => None,
    };
    let parts: Vec<String> = more.into_iter().chain(allow).chain(rest).collect();
    (!parts.is_empty()).then(|| format!("  {}", parts.join("; ")))
}

/// The variables that were withheld, with the options that grant them, as many as fit into one line.
fn missed(about: &Circumstances<'_>) -> String {
    let withheld = &about.run.head.withheld;
    let noun = if withheld.len() == 1 { "variable" } else { "variables" };
    let program = called(about.program);
    let mut line = format!("{} {noun} withheld from {program}; allow:", withheld.len());
    for (place, one) in withheld.iter().enumerate() {
        let option = format!(" {}", one.option());
        let more = if place + 1 == withheld.len() { "" } else { " …" };
        let length: usize = [NAME, " ", &line, &option, more].map(width).iter().sum();
        if place > 0 && length > WIDTH {
            line.push_str(more);
            break;
        }
        line.push_str(&option);
    }
    line
}

/// A group: its first denial, the others, and below both the reason and the suggestion.
fn describe(group: &Group<'_>, about: &Circumstances<'_>, style: Style) -> Vec<String> {
    let [denial, others @ ..] = group.as_slice() else { return Vec::new() };
    let path = shown(denial.path.as_bytes(), about.workspace);
    let words = denial.arguments.iter().flatten().map(|word| quoted(word.as_bytes()));
    let what = command_line::shortened(&path, words);
    let layer =
        if denial.layer == LayerName::Supervisor { ", stopped by the supervisor" } else { "" };
    let mut lines = vec![format!(
        "  {} {} {what}{}{} by {}{}{layer}",
        denial.number,
        style.bad(&format!("denied {}", denial.denied)),
        via(denial, about),
        beside(denial, about),
        called(&denial.program),
        times(denial.path.as_bytes(), denial.times),
    )];
    let all = about.run.head.together.iter().find(|one| one.number == denial.number);
    let mut parts = match all {
        Some(all) => {
            let allow = if all.paths > 1 { "allow all" } else { "allow" };
            if all.paths > 1 {
                lines.push(format!("    {}", rest_of(all, denial, others, about)));
            }
            vec![format!("{allow}: {}", style.bright(&format!("jp-confine {}", all.options)))]
        }
        None => denial.steps(about.workspace, style),
    };
    if denial.rule.is_some() || denial.never.is_none() {
        parts.insert(0, denial.why(about.workspace));
    }
    if all.is_none() && denial.is_only_written() {
        let allow = about.here.command(&format!("allow {}", denial.number));
        parts.push(format!("allow: {}", style.bright(&allow)));
    }
    parts.extend(denial.question.as_ref().map(|words| within(words, about.workspace)));
    lines.extend(wrap::fitted("    ", &parts, "; "));
    lines
}

/// The other denials in a directory, and their programs: as many names as are easily read.
fn rest_of(
    all: &Together,
    first: &ExplainedDenial,
    others: &[&ExplainedDenial],
    about: &Circumstances<'_>,
) -> String {
    let mut programs: Vec<String> = vec![called(&first.program)];
    for program in others.iter().map(|one| called(&one.program)) {
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    let whose = match programs.as_slice() {
        [] | [_] => String::new(),
        [_, others @ ..] if others.len() <= PROGRAMS => format!(", some by {}", others.join(", ")),
        [_, others @ ..] => format!(", some by {} other programs", others.len()),
    };
    let directory = shown(all.directory.as_bytes(), about.workspace);
    format!("and {} more in {directory}{whose}", all.paths - 1)
}

/// The spelling that the program used, if it differs.
fn via(denial: &ExplainedDenial, about: &Circumstances<'_>) -> String {
    if denial.route == denial.path {
        return String::new();
    }
    format!(" via {}", shown(denial.route.as_bytes(), about.workspace))
}

/// The rights also denied at the other end of a move.
fn beside(denial: &ExplainedDenial, about: &Circumstances<'_>) -> String {
    match &denial.other {
        Some(other) if !denial.other_capability.is_empty() => {
            let missing = denial.other_capability.join(", ");
            format!(" and {missing} {}", shown(other.as_bytes(), about.workspace))
        }
        _ => String::new(),
    }
}

/// The program at `path`, for people.
fn called(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { "?".to_owned() } else { printable(name.as_bytes()) }
}

/// How often a denial at `path` occurred.
pub(crate) fn times(path: &[u8], count: u64) -> String {
    match count {
        0 | 1 => String::new(),
        _ if of_any_process(path).is_some() => {
            format!(" ({count}×, of other processes too)")
        }
        _ => format!(" ({count}×)"),
    }
}
