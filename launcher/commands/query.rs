//! Implements the questions about the policy: `check`, `explain`, `compile` and `--dry-run`. They run nothing and
//! change no files, except that a dry run has temporary files of its own.

pub(crate) mod answer;
pub(crate) mod common;
pub(crate) mod dry_run;
pub(crate) mod environment;
pub(crate) mod hosts;
pub(crate) mod plan;
pub(crate) mod programs;
pub(crate) mod resources;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::batch::Judge;
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::check::{self, CheckVerdict};
use jp_confine_engine::explain::{self, Candidate, Explanation, Judgement, Matched};
use jp_confine_engine::lexical::LexicalError;
use jp_confine_engine::rule_name::RuleName;
use jp_confine_engine::views;
use serde::Serialize;

use crate::cli::Options;
use crate::commands::query::common::{lines, plan, prepared, status, word};
use crate::compile::image;
use crate::compile::prepared::Prepared;
use crate::error::Failure;
use crate::host::context::Context;
use crate::output;
use crate::plan::holder::Holder;
use crate::text::quote;

/// Runs `compile`: prints the compiled policy.
pub(crate) fn compile(context: &Context, options: &Options) -> Result<u8, Failure> {
    let prepared = prepared(context, options, None)?;
    output::json(&prepared.compiled())?;
    Ok(0)
}

/// Runs `check`: prints one verdict for each path, workspace-relative or absolute. Returns 0 if all are allowed, 1 if
/// some are denied, else 2 for prompts.
pub(crate) fn check(
    context: &Context,
    options: &Options,
    capability: Capability,
    paths: &[OsString],
    json: bool,
) -> Result<u8, Failure> {
    let prepared = prepared(context, options, None)?;
    let judge = judge(&prepared, options);
    let result = |path: &OsString| {
        let result = judge.check(path.as_bytes(), capability);
        if json { in_utf8(result, options) } else { result }
    };
    let results: Vec<check::CheckResult> = paths.iter().map(result).collect();
    let line = |(path, result): (&OsString, &check::CheckResult)| {
        let path = quote::printable(path.as_bytes());
        let verdict = word(result.verdict);
        let message = quote::path(&result.message());
        let why = if message.is_empty() { message } else { format!(": {message}") };
        format!("{verdict} {capability} {path}{why}\n")
    };
    output::result(json, &results, |results| paths.iter().zip(results).map(line).collect())?;
    Ok(status(&results.iter().map(|result| result.verdict).collect::<Vec<_>>()))
}

/// The evaluator for the paths of a tool, or without one those of programs.
pub(crate) fn judge<'p>(prepared: &'p Prepared, options: &Options) -> Judge<'p> {
    let policy = check::Context::new(&prepared.root, &prepared.grants, &prepared.image);
    // A tool's input is workspace-relative. A program may name any path.
    Judge::new(policy.naming(&prepared.tiers), options.tool.is_none())
}

/// The part of the result that fits into JSON, which has no field for the reason why it is less.
fn in_utf8(result: check::CheckResult, options: &Options) -> check::CheckResult {
    let verdict = result.verdict;
    let result = result.in_utf8();
    if result.verdict != verdict && !options.quiet {
        output::warning(&result.message());
    }
    result
}

/// Runs `explain`: prints the rules that decide about a path, and how it was resolved.
pub(crate) fn explain(
    context: &Context,
    options: &Options,
    path: &OsStr,
    json: bool,
) -> Result<u8, Failure> {
    let prepared = prepared(context, options, None)?;
    let plan = plan(context, options, &prepared)?;
    let explained = explained(&prepared, &context.cwd, path, &plan.holders)?;
    output::result(json, &explained, words)?;
    Ok(0)
}

/// The explanation of a path, which is absolute or relative to `base`.
pub(crate) fn explained<'a>(
    prepared: &Prepared,
    base: &Path,
    path: &OsStr,
    held_by: &'a [Holder],
) -> Result<Explained<'a>, Failure> {
    if path.is_empty() {
        let advice = "the directory you are in is written `.`";
        return Err(Failure::advised(LexicalError::Empty.to_string(), advice));
    }
    let policy = check::Context::new(&prepared.root, &prepared.grants, &prepared.image);
    let explanation = explain::explain(&policy, &prepared.tiers, base, Path::new(path));
    let image = image::parse_image(&prepared.image)?;
    let file = canonical::resolve(base, Path::new(path), Op::Content)
        .and_then(|found| views::lead(&image, found, Op::Content));
    let command_refused_by =
        file.ok().and_then(|file| resources::refused_alone(prepared, path, &file.path));
    Ok(Explained { explanation, command_refused_by, held_by })
}

/// An explanation, with remarks that are not about rules on files.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Explained<'a> {
    #[serde(flatten)]
    explanation: Explanation,
    /// Why the file is not started as a program, even if rules on files allow executing it.
    command_refused_by: Option<RuleName>,
    /// The layers that hold each capability.
    held_by: &'a [Holder],
}

fn words(explained: &Explained<'_>) -> String {
    let Explained { explanation, command_refused_by, held_by: holders } = explained;
    let mut text = String::new();
    let _ = writeln!(text, "{}", quote::path(&explanation.path));
    for step in &explanation.steps {
        let (link, to) = (quote::path(&step.link), quote::path(&step.text));
        let _ = writeln!(text, "  link {link} -> {to}");
    }
    if let Some(resolved) = &explanation.resolved {
        let missing = if explanation.exists { "" } else { " (does not exist)" };
        let place = explanation.place.as_ref();
        let place = place.map(|place| format!("{}, seen from ", quote::path(place)));
        let place = place.unwrap_or_default();
        let _ = writeln!(text, "  resolved {place}{}{missing}", quote::path(resolved));
    }
    if let Some(error) = &explanation.error {
        let _ = writeln!(text, "  cannot be resolved: {error}");
    }
    for judgement in &explanation.capabilities {
        lines(&mut text, "  ", &[verdict_on(judgement), rule_of(judgement)], "  ");
    }
    if let Some(rule) = command_refused_by {
        lines(&mut text, "  ", &[verdict_line("command", "deny"), quote::path(rule)], "  ");
    }
    if !explanation.kept_by.is_empty() {
        let stays = "what is below has to stay in its place, so that it is not moved:".to_owned();
        let by = quote::path(&explanation.kept_by.join(", "));
        lines(&mut text, "  ", &[stays, by], " ");
    }
    for (layers, held) in by_layers(holders) {
        lines(&mut text, "  ", &[format!("held by {layers}:"), held.join(", ")], " ");
    }
    let alone = asked_by_the_library(explanation, holders);
    if !alone.is_empty() {
        let whose = ["asked about by the library alone, which static programs avoid:".to_owned()];
        lines(&mut text, "  ", &[&whose[..], &[alone.join(", ")]].concat(), " ");
    }
    ways(&mut text, &explanation.patterns, &explanation.candidates);
    if let Some(entry) = &explanation.entry {
        let link = quote::path(&entry.path);
        lines(&mut text, "  ", &["delete is of the link itself:".to_owned(), link], " ");
        ways(&mut text, &entry.patterns, &entry.candidates);
    }
    text
}

/// Writes the patterns that match a place, and the rules that grant something there.
fn ways(text: &mut String, patterns: &[Matched], candidates: &[Candidate]) {
    for matched in patterns {
        let line = matched.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = matched.file.as_ref().map(|file| format!("({file}{line})"));
        let place = matched.obeyed.as_ref().map(|who| format!("({who})")).or(place);
        let list = match matched.list {
            _ if matched.obeyed.is_some() => "auto-run files",
            "allow_autorun" => "--allow-autorun",
            list => list,
        };
        let words = format!("`{}` of {list} matches", matched.pattern);
        let parts: Vec<String> =
            [Some(words), place].iter().flatten().map(|part| quote::path(part)).collect();
        lines(text, "  ", &parts, " ");
    }
    for candidate in candidates {
        let mark = if candidate.wins { "*" } else { " " };
        let grants: Vec<&str> =
            candidate.grants.iter().map(|capability| capability.as_str()).collect();
        let grants = if grants.is_empty() { "nothing".to_owned() } else { grants.join(", ") };
        let anchor = quote::path(&candidate.anchor);
        let mut parts = vec![
            format!("{mark} {anchor}: {grants}"),
            format!("({})", quote::path(&candidate.rule)),
        ];
        if !candidate.except.is_empty() {
            parts.push(format!("except {}", quote::path(&candidate.except.join(", "))));
        }
        lines(text, "  ", &parts, " ");
    }
}

/// The capabilities of a sensitive file for which only the library prompts: a list of sensitive files traps no calls
/// (`docs/decisions/0018`).
fn asked_by_the_library(explanation: &Explanation, holders: &[Holder]) -> Vec<&'static str> {
    let is_sensitive = explanation.patterns.iter().any(|one| one.list == "sensitive_paths");
    let asked = explanation.capabilities.iter().filter(|one| one.verdict == CheckVerdict::Prompt);
    let alone = asked.map(|one| one.capability).filter(|capability| {
        let mut of = holders.iter().filter(|holder| holder.capability == *capability);
        is_sensitive && of.all(|holder| !holder.supervisor)
    });
    alone.map(Capability::as_str).collect()
}

fn verdict_on(judgement: &Judgement) -> String {
    let verdict = match judgement.verdict {
        CheckVerdict::Allow => "allow",
        CheckVerdict::Prompt => "ask",
        CheckVerdict::Deny if judgement.hidden => "deny, looks absent",
        CheckVerdict::Deny => "deny",
    };
    verdict_line(judgement.capability.as_str(), verdict)
}

fn verdict_line(capability: &str, verdict: &str) -> String {
    format!("{capability:<8} {verdict:<5}")
}

fn rule_of(judgement: &Judgement) -> String {
    let without =
        if judgement.on.is_some() { "no rule covers it" } else { "it cannot be resolved" };
    quote::path(judgement.rule.as_deref().unwrap_or(without))
}

/// The capabilities by the layers that hold them, each set of layers once.
fn by_layers(holders: &[Holder]) -> Vec<(String, Vec<&'static str>)> {
    let mut groups: Vec<(String, Vec<&'static str>)> = Vec::new();
    for holder in holders {
        let (layers, capability) = (holder.layers(), holder.capability.as_str());
        match groups.iter_mut().find(|(known, _)| *known == layers) {
            Some((_, held)) => held.push(capability),
            None => groups.push((layers, vec![capability])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unresolvable path is denied for that reason, not for lack of a rule (spec §4.1).
    #[test]
    fn what_cannot_be_resolved_says_so() {
        let judged = |on: Option<&str>| {
            let (capability, verdict) = (Capability::Read, CheckVerdict::Deny);
            let on = on.map(str::to_owned);
            rule_of(&Judgement { capability, on, verdict, hidden: false, rule: None })
        };
        assert_eq!(judged(None), "it cannot be resolved");
        assert_eq!(judged(Some("/srv/a")), "no rule covers it");
    }
}
