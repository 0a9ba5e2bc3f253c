//! Builds the block after a run with denials (spec §18). Used by `commands::run`.

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

#[cfg(test)]
mod tests;

use crate::record::denials::of_any_process;
use crate::text::quote::words;
use crate::text::wrap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use super::git_config::changes;
use crate::advice::Gathered;
use crate::advice::advisor::{Advice, Advisor, Written};
use crate::advice::rule_additions;
use crate::advice::rule_additions::RuleAddition;
use crate::advice::system_permissions::is_full;
use crate::advice::user_additions;
use crate::advice::user_additions::Addition;
use crate::output;
use crate::output::{NAME, Style};
use crate::record::command_line::CommandLine;
use crate::record::denial::{Denial, Layer, Reason};
use crate::record::denials::Denials;
use crate::report::why::record::ExplainedDenial;
use crate::text::quote::{printable, quoted, shown, within};
use crate::text::wrap::{WIDTH, width};

/// Limit on the lines of the block.
pub(crate) const LINES: usize = 20;

/// Lines for denials: the others are for the head, and for up to four further remarks.
const FOR_DENIALS: usize = LINES - 5;

/// At most this many programs are named beside the first.
const PROGRAMS: usize = 3;

/// At most this many names that looked absent are shown.
const ABSENT: usize = 2;

/// The contents of the block.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, named at the call")]
pub(crate) struct Circumstances<'a> {
    pub(crate) denials: &'a Denials,
    /// The program of the run, by the name that was typed.
    pub(crate) program: &'a OsStr,
    /// Variables that the program may have needed.
    pub(crate) missed: &'a [String],
    pub(crate) advisor: Advisor<'a>,
    pub(crate) verbose: bool,
    /// The program succeeded, and so did without the paths that it did not find.
    pub(crate) succeeded: bool,
    /// Whether `why --last` has a record of the run.
    pub(crate) kept: bool,
    /// Whether the denials are in an event log already.
    pub(crate) logged: bool,
}

/// Prints the block after a run.
pub(crate) fn print(about: &Circumstances<'_>) {
    output::told(&block(about, Style::of_stderr()));
}

/// The block for the end of a run: at most 20 lines. Empty if there were no denials.
pub(crate) fn block(about: &Circumstances<'_>, style: Style) -> String {
    let mut text = String::new();
    let denials = about.denials;
    let mut told = told(about);
    let absent = absent(about);
    let counted = told.iter().chain(&absent).map(|(_, count)| count);
    let total = counted.sum::<u64>() + denials.untold();
    let distinct = told.len() + absent.len();
    told.extend(absent.into_iter().take(ABSENT));
    if total > 0 {
        let noun = if total == 1 { "denial" } else { "denials" };
        let _ = writeln!(text, "{} {total} {noun}", style.name());
    }
    let shown = entries(&mut text, about, &told, style);
    let more = (distinct - shown) as u64 + denials.untold();
    let more = (more > 0).then(|| format!("and {more} more"));
    let kept = || {
        "all of them, and rules to paste: ".to_owned() + &about.advisor.here.command("why --last")
    };
    let rest = match (about.kept, about.logged) {
        _ if total == 0 => None,
        (true, _) => Some(kept()),
        (false, false) => Some("all of them, as they happen: --events FILE".to_owned()),
        (false, true) => None,
    };
    let tail: Vec<String> = more.into_iter().chain(rest).collect();
    if !tail.is_empty() {
        let _ = writeln!(text, "  {}", tail.join("; "));
    }
    if denials.total_hidden() > 0 && about.verbose {
        let count = denials.total_hidden();
        let names = if count == 1 { "name" } else { "names" };
        let _ = writeln!(
            text,
            "{} {count} {names} in the home directory looked absent (--show-denied shows which)",
            style.name(),
        );
    }
    if !about.missed.is_empty() {
        let _ = writeln!(text, "{} {}", style.name(), missed(about));
        if total == 0 && about.kept {
            let _ = writeln!(text, "  {}", kept());
        }
    }
    if let Some(gap) = denials.gap {
        let _ = writeln!(text, "{} {gap}", style.name());
    }
    text
}

/// The variables that were withheld, with the options that grant them, as many as fit into one line.
fn missed(about: &Circumstances<'_>) -> String {
    let count = about.missed.len();
    let noun = if count == 1 { "variable" } else { "variables" };
    let program = called(about.program.as_bytes());
    let mut line = format!("{count} {noun} withheld from {program}; allow:");
    for (place, name) in about.missed.iter().enumerate() {
        let option = format!(" --env {}", quoted(name.as_bytes()));
        let more = if place + 1 == count { "" } else { " …" };
        let length: usize = [NAME, " ", &line, &option, more].map(width).iter().sum();
        if place > 0 && length > WIDTH {
            line.push_str(more);
            break;
        }
        line.push_str(&option);
    }
    line
}

/// The denials that are worth reporting. The others are left to `why --last`: those that the system would have made
/// without jp-confine, and harmless ones if the program succeeded. Harmless is looking for something that does not
/// exist, and deleting a directory that is not empty. A program that was told to copy instead of moving did so if it
/// succeeded.
fn told<'a>(about: &Circumstances<'a>) -> Vec<&'a (Denial, u64)> {
    let is_idle = |denial: &Denial| {
        let advisor = about.advisor;
        let is_nothing = || denial.is_of_nothing() || denial.is_copied() || is_full(denial);
        let is_left = || about.succeeded && is_nothing() || advisor.is_denied_by_system(denial);
        !about.verbose && !advisor.is_spent() && is_left()
    };
    about.denials.open().iter().filter(|(denial, _)| !is_idle(denial)).collect()
}

/// The denials that made existing entries look absent, if the program failed: that may be the cause. They come last,
/// since programs look into a home for much that they do not need.
fn absent<'a>(about: &Circumstances<'a>) -> Vec<&'a (Denial, u64)> {
    let advisor = about.advisor;
    let is_there = |denial: &Denial| {
        !about.succeeded && !denial.is_of_nothing() && !advisor.is_denied_by_system(denial)
    };
    about.denials.hidden().iter().filter(|(denial, _)| is_there(denial)).collect()
}

/// Writes as many denials as fit, those in one directory together, and rules that allow them. Returns how many are
/// shown.
fn entries(
    text: &mut String,
    about: &Circumstances<'_>,
    told: &[&(Denial, u64)],
    style: Style,
) -> usize {
    let mut shown = 0;
    let mut room = FOR_DENIALS;
    let mut rules: Vec<RuleAddition<'_>> = Vec::new();
    let mut patterns: Vec<Addition> = Vec::new();
    let mut has_options = false;
    let all: Vec<&Denial> = told.iter().map(|(denial, _)| denial).collect();
    let gathered = about.advisor.gather(&all);
    let is_first = |place: &usize| {
        gathered
            .iter()
            .all(|one| one.members.first() == Some(place) || !one.members.contains(place))
    };
    let places: Vec<usize> = (0..all.len()).filter(is_first).take(FOR_DENIALS / 2).collect();
    let first: Vec<&Denial> = places.iter().map(|place| all[*place]).collect();
    let advice = about.advisor.advise_all(&first);
    for (at, (place, one)) in places.iter().zip(&advice).enumerate() {
        let (denial, count) = told[*place];
        let together = gathered.iter().find(|one| one.members.first() == Some(place));
        let is_new = !advice[..at].contains(one);
        let mut lines = describe(denial, *count, about.advisor, (one, is_new), style);
        let others = |one| others(one, &all, about.advisor, style);
        lines.extend(together.into_iter().flat_map(others));
        let Some(left) = room.checked_sub(lines.len()) else { break };
        room = left;
        shown += together.map_or(1, |one| one.members.len());
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
        let theirs = match (together, one) {
            (Some(one), _) => one.written.clone(),
            (
                None,
                Advice::Grant { options, written, .. } | Advice::Withheld { options, written, .. },
            ) => {
                has_options |= !options.is_empty();
                written.clone()
            }
            (None, Advice::Connection(way)) => {
                has_options = true;
                if let Some(addition) = about.advisor.host_addition(denial, way) {
                    rule_additions::add(&mut rules, addition);
                }
                Written::default()
            }
            _ => Written::default(),
        };
        has_options |= together.is_some();
        rule_additions::add(&mut rules, about.advisor.rule_addition(&theirs.rules));
        patterns.extend(user_additions::additions(about.advisor.own_lists, &theirs));
    }
    rules.retain(|addition| addition.text().is_some());
    let patterns = user_additions::together(patterns.iter());
    for line in pasted(&rules, &patterns, has_options, room) {
        let _ = writeln!(text, "{}", style.faint(&line));
    }
    shown
}

/// The additions to files, as far as there is `room`. They suffice only together, so a line says if some are left out.
fn pasted(
    rules: &[RuleAddition<'_>],
    own: &[Addition],
    has_options: bool,
    room: usize,
) -> Vec<String> {
    let before = |is_first| match (is_first, has_options) {
        (true, true) => "or add to",
        (true, false) => "allow: add to",
        (false, _) => "and add to",
    };
    let mut pasted: Vec<String> = Vec::new();
    let mut is_whole = true;
    for (at, addition) in rules.iter().enumerate() {
        let is_last = own.is_empty() && at + 1 == rules.len();
        let taken = pasted.len() + usize::from(!is_last || !is_whole);
        let lines = addition.lines(before(pasted.is_empty()), room.saturating_sub(taken));
        is_whole &= !lines.is_empty();
        pasted.extend(lines);
    }
    let own = user_additions::lines("  ", before(pasted.is_empty()), own);
    let fits = pasted.len() + own.len() + usize::from(!is_whole) <= room;
    is_whole &= fits;
    if fits {
        pasted.extend(own);
    }
    if !is_whole && !pasted.is_empty() {
        pasted.push("  and more to other lists".to_owned());
    }
    pasted
}

/// One denial, and below it the reason and the suggestion.
fn describe(
    denial: &Denial,
    count: u64,
    advisor: Advisor<'_>,
    (advice, is_new): (&Advice, bool),
    style: Style,
) -> Vec<String> {
    let program = called(&denial.program);
    let times = times(&denial.path, count);
    let path = shown(&advisor.named(&denial.path), advisor.workspace);
    let path =
        if denial.reason == Reason::Command { CommandLine::of(denial).shown(&path) } else { path };
    let what = style.bad(&format!("denied {}", asked(denial)));
    let layer = match denial.layer {
        Layer::Shim | Layer::Launcher => "",
        Layer::Supervisor => ", stopped by the supervisor",
    };
    let (via, beside) = (via(denial, advisor), beside(denial, advisor));
    let mut lines = vec![format!("  {what} {path}{via}{beside} by {program}{times}{layer}")];
    let why = rule(denial, advisor).unwrap_or_else(|| "no rule covers it".to_owned())
        + &changes(denial, advisor);
    let listed = match advice {
        Advice::Command { key, rule, instead } if is_new => {
            Some(advisor.program_addition(key, rule, instead.as_ref()))
        }
        _ => None,
    };
    let mut explained = ExplainedDenial::of(denial, count, advice.clone(), &advisor);
    explained.show_for(advisor.here);
    let mut parts = explained.steps(advisor.workspace);
    match advice {
        Advice::Never(_) if explained.rule.is_none() => {}
        _ => parts.insert(0, why),
    }
    match (advice, &listed) {
        (_, Some(RuleAddition { instead: Some(_), .. })) => parts.push("replace it by:".to_owned()),
        (_, Some(addition)) => parts.push(format!("allow: add to {}:", addition.place())),
        (Advice::Command { .. }, None) => parts.push("allow: as above".to_owned()),
        (Advice::Grant { options, .. }, _) if options.is_empty() => {
            parts.push("no option allows just that".to_owned());
        }
        _ => {}
    }
    parts.extend(explained.question.map(|words| within(&words, advisor.workspace)));
    lines.extend(wrap::fitted("    ", &parts, "; ").iter().map(|line| style.faint(line)));
    let rules = listed.iter().flat_map(RuleAddition::rules).collect::<String>();
    lines.extend(rules.lines().map(|line| format!("      {}", style.faint(line))));
    lines
}

/// The spelling that the program used, if it differs: rules on links and patterns may be about it.
fn via(denial: &Denial, advisor: Advisor<'_>) -> String {
    let [path, route] = [&denial.path, &denial.route].map(|path| advisor.named(path));
    let is_spelled = denial.reason.is_policy() && route != path;
    if !is_spelled {
        return String::new();
    }
    format!(" via {}", shown(&route, advisor.workspace))
}

/// The rights also denied at the other end of a move.
fn beside(denial: &Denial, advisor: Advisor<'_>) -> String {
    let missing = advisor.beside(denial);
    if missing.is_empty() {
        return String::new();
    }
    format!(" and {missing} {}", shown(&advisor.named(&denial.other), advisor.workspace))
}

/// The program at `path`, for people.
fn called(path: &[u8]) -> String {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if name.is_empty() { "?".to_owned() } else { printable(name) }
}

/// The other denials in a directory, and their programs: as many names as are easily read.
fn others(gathered: &Gathered, all: &[&Denial], advisor: Advisor<'_>, style: Style) -> Vec<String> {
    let directory = advisor.named(gathered.directory.as_os_str().as_bytes());
    let directory = shown(&directory, advisor.workspace);
    let mut programs: Vec<String> = Vec::new();
    for place in &gathered.members {
        let program = called(&all[*place].program);
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    let whose = match programs.as_slice() {
        [] | [_] => String::new(),
        [_, others @ ..] if others.len() <= PROGRAMS => format!(", some by {}", others.join(", ")),
        [_, others @ ..] => format!(", some by {} other programs", others.len()),
    };
    let parts = [
        format!("and {} more in {directory}{whose}", gathered.members.len() - 1),
        format!("allow all: jp-confine {}", words(&gathered.options)),
    ];
    wrap::fitted("  ", &parts, "; ").iter().map(|line| style.faint(line)).collect()
}

/// The rule or pattern that decided. Files of the workspace are named relative to it.
fn rule(denial: &Denial, advisor: Advisor<'_>) -> Option<String> {
    Some(within(&advisor.rule(denial)?, advisor.workspace))
}

/// The denied rights, or the call if no rule decided.
pub(crate) fn asked(denial: &Denial) -> String {
    match denial.reason {
        Reason::Command => "command".to_owned(),
        reason if reason.is_network() => "net".to_owned(),
        _ if denial.missing.is_empty() => printable(&denial.call),
        _ => denial.missing.to_string(),
    }
}
