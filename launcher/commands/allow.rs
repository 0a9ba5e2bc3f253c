//! Implements `allow`: writes what denials of the last run need into the files where it counts. Shows the change first.

use serde::Serialize;

use crate::cli::{Options, Which};
use crate::commands::policy_edit;
use crate::config::edit::change::{self, Change};
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::output::Style;
use crate::report::why::record::{ExplainedDenial, Weight};
use crate::report::why::{self, Explained};
use crate::text::quote;
use crate::{compile, output};

/// The output of `allow --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    /// What the denials need.
    changes: Vec<Change>,
    /// Whether the files have it now.
    written: bool,
    /// What is left to do, as a person reads it.
    next: Vec<String>,
}

/// Runs `allow`: shows the changes that `which` denials need, and makes them after a yes, or at once with `--yes`. As
/// JSON, it asks nothing.
pub(crate) fn allow(
    context: &Context,
    options: &Options,
    which: Which,
    yes: bool,
    json: bool,
) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let run = why::recorded(context, &workspace)?.ok_or_else(|| {
        let advice = format!("run something first: {}", workspace.here.command("-- PROGRAM"));
        Failure::advised("no run is on record in this workspace", advice)
    })?;
    let numbers = numbers(&run, which, &workspace)?;
    let changes = chosen(&run, &numbers);
    let edits = policy_edit::edits(context, changes.clone())?;
    let next = next(&run, &numbers, &workspace);
    if json {
        if yes {
            policy_edit::write_all(&edits)?;
        }
        output::json(&Answer {
            changes,
            written: yes,
            next: next.lines().map(str::to_owned).collect(),
        })?;
        return Ok(0);
    }
    output::output(&policy_edit::diffs(&edits, Style::of_stdout()))?;
    if !yes && !policy_edit::is_confirmed(context, options)? {
        return Ok(1);
    }
    output::text(&policy_edit::write_all(&edits)?)?;
    output::text(&next)?;
    Ok(0)
}

/// The numbers of the denials that are meant.
fn numbers(run: &Explained, which: Which, workspace: &Workspace) -> Result<Vec<usize>, Failure> {
    let is_written = |number: &usize| !chosen(run, &[*number]).is_empty();
    let idle = |number: &usize| {
        let mut denials = run.denials.iter().filter(|one| one.number == *number).peekable();
        denials.peek().is_some() && denials.all(|one| one.weight == Weight::Idle)
    };
    let own = run.denials.iter().map(|one| one.number);
    let mut all: Vec<usize> =
        own.chain(run.head.withheld.iter().map(|one| one.number)).filter(|it| *it > 0).collect();
    all.sort_unstable();
    all.dedup();
    let why = workspace.here.command("why --last");
    match which {
        Which::Number(number) if !all.contains(&number) => {
            let message = format!("the last run has no denial {number}");
            return Err(Failure::advised(message, format!("for the numbers: {why}")));
        }
        Which::Number(number) if !is_written(&number) => {
            let denial = run.denials.iter().find(|one| one.number == number);
            let steps = denial.map(|one| one.steps(&workspace.root, Style::PLAIN));
            let message = format!("no file can allow denial {number}");
            return Err(Failure::advised(message, steps.unwrap_or_default().join("; ")));
        }
        Which::Number(number) => return Ok(vec![number]),
        Which::All | Which::Only => all.retain(|it| is_written(it) && !idle(it)),
    }
    match (which, all.len()) {
        (_, 0) => {
            let message = "nothing of the last run can be allowed by a file";
            Err(Failure::advised(message, format!("for the reasons: {why}")))
        }
        (Which::Only, 2..) => {
            let line = |number: &usize| named(run, *number, workspace);
            let lines: Vec<String> = all.iter().map(line).collect();
            let words = workspace.here.command("allow N, or allow --all");
            let message = format!("which of them? {words}\n{}", lines.join("\n"));
            Err(Failure::own(message))
        }
        _ => Ok(all),
    }
}

/// One line about a number.
fn named(run: &Explained, number: usize, workspace: &Workspace) -> String {
    if let Some(all) = run.head.together.iter().find(|one| one.number == number) {
        let directory = quote::shown(all.directory.as_bytes(), &workspace.root);
        return format!("  {number} all in {directory}");
    }
    let Some(denial) = run.denials.iter().find(|one| one.number == number) else {
        return format!("  {number} the variables that were withheld");
    };
    let path = quote::shown(denial.path.as_bytes(), &workspace.root);
    format!("  {number} {} {path}", denial.denied)
}

/// The changes that these denials need.
fn chosen(run: &Explained, numbers: &[usize]) -> Vec<Change> {
    let of = |number: &usize| {
        let all = run.head.together.iter().find(|one| one.number == *number);
        let all = all.map(|one| one.changes.clone()).filter(|changes| !changes.is_empty());
        let each = || {
            let own = run.denials.iter().filter(|one| one.number == *number);
            let own = own.flat_map(|one| one.changes.clone());
            let withheld = run.head.withheld.iter().filter(|one| one.number == *number);
            own.chain(withheld.flat_map(|one| one.changes.clone())).collect()
        };
        all.unwrap_or_else(each)
    };
    change::together(numbers.iter().flat_map(of))
}

/// What is left to do.
fn next(run: &Explained, numbers: &[usize], workspace: &Workspace) -> String {
    let is_meant = |one: &&ExplainedDenial| numbers.contains(&one.number);
    let mut steps: Vec<String> = Vec::new();
    for denial in run.denials.iter().filter(is_meant) {
        let words = denial.question.iter().chain(&denial.never);
        let words = words.map(|words| quote::within(words, &workspace.root));
        for step in words.chain(denial.approve.clone()).map(|step| format!("and: {step}\n")) {
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    let profile = run.denials.iter().filter(is_meant).flat_map(|one| &one.changes);
    let profile = profile.filter(|one| one.list.first().is_some_and(|key| key == "profiles"));
    let profile = profile.filter_map(|one| one.list.get(1)).next_back();
    let profile = profile.map(|name| format!("--profile {} ", quote::quoted(name.as_bytes())));
    let again = format!("{}-- {}", profile.unwrap_or_default(), run.head.command.join(" "));
    steps.concat() + &format!("then again: {}\n", workspace.here.command(&again))
}
