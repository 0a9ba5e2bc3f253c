//! Implements `mounts`: lists external rules, patterns that lead outside, approvals, and their state (spec §18).

pub(crate) mod changes;

use std::fmt::Write as _;

use camino::Utf8PathBuf;
use jp_confine_engine::approvals::Approval;
use jp_confine_engine::canonical::Root;
use jp_confine_engine::external::External;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::{Capabilities, Capability};
use serde::Serialize;

use crate::cli::Options;
use crate::config::layers::Layers;
use crate::config::outside_pattern::OutsidePattern;
use crate::config::scope::{self, Scope};
use crate::error::Failure;
use crate::external::approvals::store::{ApprovalKind, Binding, Store};
use crate::external::mounts::names;
use crate::host::context::Context;
use crate::text::quote;
use crate::{compile, output};

/// The state of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It leads to the approved target.
    Ok,
    /// It leads to nothing.
    Dangling,
    /// It leads to another target than the approved one.
    Retargeted,
    /// Nobody approved its target.
    Unapproved,
    /// Its target cannot be found out.
    Unknown,
    /// It stays inside the workspace, where no external rule is valid.
    Inside,
    /// It is approved, but no workspace file has such a pattern, or none that counts.
    Unused,
}

/// The origin of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MadeBy {
    /// A rule of a file.
    Rule,
    /// Only an approval: the rule that it was given for is gone, as that of `--mount` is after one run (spec §8.3).
    Approval,
    /// A pattern of a workspace file (spec §18 "Layers"). It is no mount, and `--no-mount` does not affect it.
    Pattern,
}

/// One line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Line {
    /// The path of the rule, or the pattern.
    #[cfg_attr(test, schemars(with = "String"))]
    name: Utf8PathBuf,
    state: State,
    made_by: MadeBy,
    /// The current target.
    target: Option<String>,
    /// Why the target cannot be found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    approved_target: Option<String>,
    approved_at: Option<String>,
    grants: Vec<Held>,
}

/// The rights that the rules or patterns of one scope grant there.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Held {
    tool: Option<String>,
    capabilities: Vec<&'static str>,
    #[serde(skip)]
    words: String,
}

/// Prints all of them, for the run and for every tool.
pub(crate) fn mounts(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let root = workspace.opened()?;
    let store = Store::open(context, &workspace);
    if !options.quiet {
        store.warning.iter().for_each(|warning| output::warning(warning));
    }
    let layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let places = Places::of(&context.homes, &root);
    let (scopes, wide) = (layers.scopes(), layers.wide(places, &workspace.here)?);
    let lines = lines(&root, &scopes, &wide, &store);
    if json {
        output::json(&lines)?;
    } else {
        if lines.is_empty() && !options.quiet {
            output::note("no rule, pattern or approval of this workspace leads outside of it");
        }
        output::text(&lines.iter().map(words).collect::<String>())?;
    }
    Ok(0)
}

/// Mounts, patterns, and then approvals that belong to neither.
fn lines(root: &Root, scopes: &[Scope], wide: &[OutsidePattern], store: &Store) -> Vec<Line> {
    let names = names(scopes, store).into_iter();
    let mut lines: Vec<Line> = names.map(|name| line(name, root, scopes, store)).collect();
    lines.extend(wide.iter().map(|wide| pattern(wide, store)));
    let is_used = |entry: &&Binding| wide.iter().any(|wide| wide.name() == entry.rule_path);
    let left = store.entries(ApprovalKind::Pattern).iter().filter(|entry| !is_used(entry));
    lines.extend(left.map(unused));
    lines
}

fn line(name: Utf8PathBuf, root: &Root, scopes: &[Scope], store: &Store) -> Line {
    let (state, target) = match External::look(root, &name, store) {
        External::Approved { target } => (State::Ok, Ok(target)),
        External::Retargeted { target, .. } => (State::Retargeted, Ok(target)),
        External::Unapproved { target } => (State::Unapproved, Ok(target)),
        External::Inside { target } => (State::Inside, Ok(target)),
        External::Missing { .. } => (State::Dangling, Err(None)),
        External::Unresolvable(error) => (State::Unknown, Err(Some(error.to_string()))),
    };
    let grants = scope::grants_on(scopes, &name).into_iter();
    let grants: Vec<Held> =
        grants.map(|(scope, caps)| Held::of(scope.tool.as_deref(), caps)).collect();
    let made_by = if grants.is_empty() { MadeBy::Approval } else { MadeBy::Rule };
    let approved = store.get(ApprovalKind::Mount, name.as_str());
    Line {
        state,
        made_by,
        target: target.as_ref().ok().map(|target| target.to_string_lossy().into_owned()),
        problem: target.err().flatten(),
        approved_target: approved.map(|entry| entry.canonical_target.to_string()),
        approved_at: approved.map(|entry| entry.approved_at.clone()),
        grants,
        name,
    }
}

/// A pattern of a workspace file that leads outside.
fn pattern(wide: &OutsidePattern, store: &Store) -> Line {
    let name = wide.name();
    let approved = store.get(ApprovalKind::Pattern, name.as_str());
    Line {
        state: match store.look(ApprovalKind::Pattern, name.as_str(), &wide.stem) {
            Approval::Approved => State::Ok,
            Approval::Retargeted { .. } => State::Retargeted,
            Approval::Unknown => State::Unapproved,
        },
        made_by: MadeBy::Pattern,
        target: Some(wide.stem.to_string_lossy().into_owned()),
        problem: None,
        approved_target: approved.map(|entry| entry.canonical_target.to_string()),
        approved_at: approved.map(|entry| entry.approved_at.clone()),
        grants: wide.holders().map(|tool| Held::of(tool, wide.tier.capabilities())).collect(),
        name,
    }
}

/// An approval of a pattern that no file has.
fn unused(entry: &Binding) -> Line {
    let target = Some(entry.canonical_target.to_string());
    Line {
        name: entry.rule_path.clone().into(),
        state: State::Unused,
        made_by: MadeBy::Pattern,
        target: target.clone(),
        problem: None,
        approved_target: target,
        approved_at: Some(entry.approved_at.clone()),
        grants: Vec::new(),
    }
}

impl Held {
    fn of(tool: Option<&str>, caps: Capabilities) -> Self {
        Self {
            tool: tool.map(str::to_owned),
            capabilities: caps.iter().map(Capability::as_str).collect(),
            words: format!("{}: {caps}", scope::holder(tool)),
        }
    }
}

fn words(line: &Line) -> String {
    let state = match line.state {
        State::Ok => "ok",
        State::Dangling => "dangling",
        State::Retargeted => "retargeted",
        State::Unapproved => "unapproved",
        State::Unknown => "unknown",
        State::Inside => "inside",
        State::Unused => "unused",
    };
    let name = quote::path(line.name.as_str());
    let mut text = match (&line.target, &line.problem) {
        (Some(target), _) => format!("{state:<11}{name} → {}\n", quote::path(target)),
        (None, Some(problem)) => format!("{state:<11}{name}: {}\n", quote::path(problem)),
        (None, None) => format!("{state:<11}{name} → nothing\n"),
    };
    if let Some(approved) = &line.approved_target
        && line.target.as_ref() != Some(approved)
    {
        let _ = writeln!(text, "           approved: {}", quote::path(approved));
    }
    for held in &line.grants {
        let _ = writeln!(text, "           {}", held.words);
    }
    if line.made_by == MadeBy::Approval {
        text.push_str("           approved, for a run with --mount or a rule that is gone: no rule of a file grants it\n");
    }
    if line.state == State::Unused {
        text.push_str("           no file has such a pattern that counts\n");
    }
    text
}
