//! The block after a run that was refused something (spec §18).

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{Style, printable, quoted, shown};
use crate::advice::{Advice, Advisor};
use crate::command_line::CommandLine;
use crate::denials::Denials;
use crate::events::{Denial, Layer, Reason};
use crate::rule_text;

/// The longest block.
pub(super) const LINES: usize = 20;

/// What the block may use for denials: one line is for the head, and up to three for what else is to say.
const FOR_DENIALS: usize = LINES - 4;

/// What the block is about.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, named at the call")]
pub(crate) struct Circumstances<'a> {
    pub(crate) denials: &'a Denials,
    pub(crate) advisor: Advisor<'a>,
    pub(crate) verbose: bool,
    /// The record of denials was damaged.
    pub(crate) damaged: bool,
    /// Whether `why --last` knows more.
    pub(crate) kept: bool,
    /// Whether the denials are in an event log already.
    pub(crate) logged: bool,
}

/// The block for the end of a run: at most 20 lines, none when nothing was refused.
pub(crate) fn block(about: Circumstances<'_>, style: Style) -> String {
    let mut text = String::new();
    let denials = about.denials;
    if denials.total() > 0 {
        let noun = if denials.total() == 1 { "denial" } else { "denials" };
        let _ = writeln!(text, "{} {} {noun}", style.name(), denials.total());
    }
    let mut shown = 0;
    let mut room = FOR_DENIALS;
    for (denial, count) in denials.open() {
        let lines = describe(denial, *count, about.advisor, style);
        let Some(left) = room.checked_sub(lines.len()) else { break };
        room = left;
        shown += 1;
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    let more = (denials.open().len() - shown) as u64 + denials.untold();
    let more = (more > 0).then(|| format!("and {more} more"));
    let rest = match (about.kept, about.logged) {
        _ if denials.total() == 0 => None,
        (true, _) => Some("all of them, and rules to paste: jp-confine why --last".to_owned()),
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
    if about.damaged {
        let _ = writeln!(text, "{} the record of denials is damaged; some are lost", style.name());
    }
    text
}

/// One denial: what, and below it why and the way out.
fn describe(denial: &Denial, count: u64, advisor: Advisor<'_>, style: Style) -> Vec<String> {
    let program = denial.program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let program = if program.is_empty() { "?".to_owned() } else { printable(program) };
    let times = if count > 1 { format!(" ({count}×)") } else { String::new() };
    let path = shown(&denial.path, advisor.workspace);
    let path =
        if denial.reason == Reason::Command { CommandLine::of(denial).shown(&path) } else { path };
    let what = style.bad(&format!("denied {}", asked(denial)));
    let layer = match denial.layer {
        Layer::Shim => "",
        Layer::Supervisor => ", stopped by the supervisor",
    };
    let mut lines = vec![format!("  {what} {path} by {program}{times}{layer}")];
    let why = advisor.rule(denial).unwrap_or_else(|| "no rule covers it".to_owned());
    match advisor.advise(denial) {
        Advice::Never(reason) => {
            lines.push(format!("    {}", style.faint(&reason)));
        }
        Advice::Connection(way) => {
            let why = format!("{why}; allow: jp-confine --net {}", quoted(way.typed.as_bytes()));
            lines.push(format!("    {}", style.faint(&why)));
        }
        Advice::Command { key, rule, instead } => {
            let place = if instead.is_some() { "replace it by" } else { "allow it in a policy" };
            lines.push(format!("    {}", style.faint(&format!("{why}; {place}:"))));
            let text = rule_text::command(None, &key, &rule);
            lines.extend(text.lines().map(|line| format!("      {}", style.faint(line))));
        }
        Advice::Grant { options, rules } => {
            let why = format!("{why}; allow: jp-confine {}", words(&options));
            lines.push(format!("    {}", style.faint(&why)));
            let keys = |(path, caps): &(String, _)| rule_text::keys(path, *caps).join(", ");
            let rules = rules.iter().map(|rule| format!("    or: [[access.fs]] {}", keys(rule)));
            lines.extend(rules.map(|rule| style.faint(&rule)));
        }
    }
    lines
}

/// What was asked for: capabilities, or the call where no rule decided.
pub(crate) fn asked(denial: &Denial) -> String {
    match denial.reason {
        Reason::Command => "command".to_owned(),
        reason if reason.is_network() => "net".to_owned(),
        _ if denial.missing.is_empty() => printable(&denial.call),
        _ => denial.missing.to_string(),
    }
}

/// Options as words for a shell.
pub(crate) fn words(options: &[(&'static str, PathBuf)]) -> String {
    let word =
        |(flag, path): &(&str, PathBuf)| format!("{flag} {}", quoted(path.as_os_str().as_bytes()));
    options.iter().map(word).collect::<Vec<_>>().join(" ")
}
