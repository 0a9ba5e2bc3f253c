//! Implements `approvals list`, `approve` and `revoke` (spec §18).

use std::fmt::Write as _;
use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_engine::canonical::Root;
use jp_confine_engine::external::External;
use jp_confine_engine::model::FsRule;
use jp_confine_engine::pattern::{Pattern, Places};

use crate::cli::Options;
use crate::config::outside_pattern::{OutsidePattern, list_of};
use crate::error::Failure;
use crate::external::approvals::question::ApprovalContext;
use crate::external::approvals::store::{ApprovalKind, Binding, Store};
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::text::quote;
use crate::{compile, output};

/// Runs `approvals list`: prints the approvals of this workspace.
pub(crate) fn list(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let store = open(context, &compile::find_workspace(context, options)?, options);
    let entries: Vec<&Binding> = all(&store).collect();
    if json {
        output::json(&entries)?;
        return Ok(0);
    }
    if entries.is_empty() && !options.quiet {
        output::note("nothing outside of this workspace is approved");
    }
    let mut text = String::new();
    for entry in entries {
        let (name, target) =
            (quote::path(&entry.rule_path), quote::path(entry.canonical_target.as_str()));
        let _ = writeln!(text, "{name} → {target} ({})", quote::path(&entry.approved_at));
    }
    output::text(&text)?;
    Ok(0)
}

/// Runs `approvals approve NAME`: approves the current target of `name`, relative to the workspace.
pub(crate) fn approve(context: &Context, options: &Options, name: &str) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let root = workspace.opened()?;
    let mut store = open(context, &workspace, options);
    let pattern = pattern(context, &root, name)?;
    let (kind, name, previous, target) = if let Some((name, stem)) = pattern {
        (ApprovalKind::Pattern, name, None, stem)
    } else {
        let name = normal_form(name)?;
        let (previous, target) = target(&root, &store, &name)?;
        (ApprovalKind::Mount, name, previous, target)
    };
    store.approve(kind, &name, &target);
    store.save()?;
    let mut text =
        format!("approved {} → {}", quote::path(name.as_str()), quote::path(target.as_str()));
    if let Some(previous) = previous {
        let _ = write!(text, " (it was {})", quote::place(&previous));
    }
    let about = ApprovalContext { context, root: &root, scopes: &[], log: None };
    output::text(&format!("{text}\n{}", about.warnings(&target)))?;
    Ok(0)
}

/// Runs `approvals revoke NAME`: deletes an approval. Rules on that path are denied from now on.
pub(crate) fn revoke(context: &Context, options: &Options, name: &str) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let mut store = open(context, &workspace, options);
    let (kind, name) = match list_of(name) {
        Some(_) => (ApprovalKind::Pattern, name.into()),
        None => (ApprovalKind::Mount, normal_form(name)?),
    };
    let Some(entry) = store.get(kind, name.as_str()).cloned() else {
        return Err(unknown(&name, &store));
    };
    store.revoke(kind, &name);
    store.save()?;
    let (name, target) = (named(&name), quote::path(entry.canonical_target.as_str()));
    output::text(&format!("revoked {name} → {target}\n"))?;
    Ok(0)
}

/// All approvals.
fn all(store: &Store) -> impl Iterator<Item = &Binding> {
    [ApprovalKind::Mount, ApprovalKind::Pattern].into_iter().flat_map(|kind| store.entries(kind))
}

fn open(context: &Context, workspace: &Workspace, options: &Options) -> Store {
    let store = Store::open(context, workspace);
    if !options.quiet {
        store.warning.iter().for_each(|warning| output::warning(warning));
    }
    store
}

/// The current target of `name`, if it can be approved, and the previously approved one.
fn target(
    root: &Root,
    store: &Store,
    name: &Utf8Path,
) -> Result<(Option<PathBuf>, Utf8PathBuf), Failure> {
    let shown_name = named(name);
    let found = External::look(root, name, store);
    let (previous, target) = match found {
        External::Approved { target } | External::Unapproved { target } => (None, target),
        External::Retargeted { previous, target } => (Some(previous), target),
        External::Missing { .. } => {
            let make = "make the link first, or let --mount make both";
            return Err(Failure::advised(
                format!("{shown_name} leads to nothing"),
                as_pattern(name.as_str()).unwrap_or(make.to_owned()),
            ));
        }
        External::Inside { target } => {
            return Err(Failure::advised(
                format!("{shown_name} stays inside the workspace, at {}", quote::place(&target)),
                "there an ordinary rule grants; only what leads outside is approved",
            ));
        }
        External::Unresolvable(error) => {
            return Err(Failure::own(format!("{shown_name} cannot be resolved: {error}")));
        }
    };
    let target = Utf8PathBuf::from_path_buf(target).map_err(|_| {
        let message = format!("{shown_name} leads to a name that is not UTF-8");
        Failure::advised(message, "rename that: approvals are kept as text")
    })?;
    Ok((previous, target))
}

/// The name under which a pattern of a workspace file is approved, and the place that it leads to.
fn pattern(
    context: &Context,
    root: &Root,
    name: &str,
) -> Result<Option<(Utf8PathBuf, Utf8PathBuf)>, Failure> {
    let Some((tier, text)) = list_of(name) else { return Ok(None) };
    let places = Places::of(&context.homes, root);
    let pattern = Pattern::new(text, places, false)
        .map_err(|error| Failure::own(format!("{}: {error}", quote::path(text))))?;
    let wide =
        OutsidePattern { tier, text: text.to_owned(), stem: pattern.stem(), tools: Vec::new() };
    let stem = Utf8PathBuf::from_path_buf(wide.stem.clone())
        .map_err(|stem| Failure::own(format!("{} is not UTF-8", quote::place(&stem))))?;
    Ok(Some((wide.name(), stem)))
}

/// The normal form of a rule path.
fn normal_form(name: &str) -> Result<Utf8PathBuf, Failure> {
    FsRule::new(name).lexical_path().map_err(|error| {
        let as_rule = "write it as the rule does: relative to the workspace";
        let way_out = as_pattern(name).unwrap_or(as_rule.to_owned());
        Failure::advised(format!("{}: {error}", quote::path(name)), way_out)
    })
}

/// How to name a pattern, if `name` looks like one.
fn as_pattern(name: &str) -> Option<String> {
    let pattern = format!("read_paths {name}");
    (name.starts_with("~/") || name.contains(['*', '?', '{', '[']))
        .then(|| format!("name the list of a pattern, too: {}", quote::quoted(pattern.as_bytes())))
}

fn unknown(name: &Utf8Path, store: &Store) -> Failure {
    let names: Vec<String> = all(store).map(|entry| quote::path(&entry.rule_path)).collect();
    let there_are = match names.as_slice() {
        [] => "nothing is approved in this workspace".to_owned(),
        names => format!("approved are: {}", names.join(", ")),
    };
    Failure::advised(format!("{} is not approved", named(name)), there_are)
}

/// The normal form of a rule path, for people: the root is `.`.
fn named(name: &Utf8Path) -> String {
    if name.as_str().is_empty() { ".".to_owned() } else { quote::path(name.as_str()) }
}
