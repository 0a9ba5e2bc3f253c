//! Implements `mounts add` and `mounts remove`: a symlink that leads outside, the approval of its target, and a rule that
//! lasts (spec §8.3, §8.4).

use std::path::Path;
use std::rc::Rc;

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::Root;
use jp_confine_engine::layers::{Layered, Merged};
use jp_confine_engine::model::{FsRule, TYPED};

use crate::cli::Options;
use crate::cli::mount::{MountOption, Unmount};
use crate::commands::policy_edit::{self, PolicyEdit};
use crate::compile::external_rules::Made;
use crate::config::decode::File;
use crate::config::edit::change::{self, Addition, Change, Removal};
use crate::config::edit::rule_place::RulePlace;
use crate::config::edit::rule_text::RuleText;
use crate::config::edit::section::AccessSection;
use crate::config::layers::Layers;
use crate::error::Failure;
use crate::error::source::Source;
use crate::external::approvals::question::ApprovalContext;
use crate::external::approvals::store::Store;
use crate::external::mounts::{MountRequest, PlannedMounts};
use crate::host::context::Context;
use crate::output::Style;
use crate::text::quote;
use crate::{compile, output};

/// A change of a workspace's mounts, before anybody agreed.
#[derive(Debug)]
struct MountChange<'a> {
    context: &'a Context,
    options: &'a Options,
    root: &'a Root,
    mounts: PlannedMounts,
    store: Store,
    edits: Vec<PolicyEdit>,
}

/// Runs `mounts add`.
pub(crate) fn add(
    context: &Context,
    options: Options,
    mount: MountOption,
    yes: bool,
) -> Result<u8, Failure> {
    let tool = mount.tool.clone().or(options.tool);
    let options = Options { tool, mounts: vec![mount], no_mounts: Vec::new(), ..options };
    let tool = options.tool.as_deref();
    let workspace = compile::find_workspace(context, &options)?;
    let root = &workspace.opened()?;
    let store = Store::open(context, &workspace);
    let mut layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let places = layers.rule_places(tool, false, false);
    let declared = layers.declared(tool)?;
    let request =
        MountRequest { context, workspace: &workspace, root, options: &options, log: None };
    let mounts = PlannedMounts::check(&request, &layers, &declared.scopes, &store)?;
    let rules = mounts.among(declared.rules, Capabilities::ALL).unwrap_or_default();
    let new: Vec<&FsRule> = rules.iter().filter(|rule| *rule.source().layer == *TYPED).collect();
    let place = places.files.get(|later| new.iter().any(|rule| rule.path() == later.path()));
    let add: Vec<Addition> = new.iter().map(|rule| RuleText::of(rule).addition()).collect();
    let change = Change { file: place.file().to_owned(), list: place.list().to_owned(), add };
    let changes = if change.add.is_empty() { Vec::new() } else { vec![change] };
    let edits = policy_edit::edits(context, changes)?;
    MountChange { context, options: &options, root, mounts, store, edits }.make(yes)
}

/// Runs `mounts remove`.
pub(crate) fn remove(
    context: &Context,
    options: Options,
    names: Vec<Unmount>,
    yes: bool,
) -> Result<u8, Failure> {
    let options = Options { mounts: Vec::new(), no_mounts: names, ..options };
    let workspace = compile::find_workspace(context, &options)?;
    let root = &workspace.opened()?;
    let store = Store::open(context, &workspace);
    let layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let request =
        MountRequest { context, workspace: &workspace, root, options: &options, log: None };
    let mounts = PlannedMounts::check(&request, &layers, &layers.scopes(), &store)?;
    let (own, shared) = layers.of_workspace();
    for file in shared.iter().filter(|file| !removals(file, &mounts).is_empty()) {
        let name = quote::path(&file.source.name);
        output::warning(&format!("{name} still has a rule on it, which is for all workspaces"));
    }
    let edits = own.iter().filter_map(|file| without(context, file, &mounts));
    let edits = edits.collect::<Result<Vec<_>, _>>()?;
    MountChange { context, options: &options, root, mounts, store, edits }.make(yes)
}

impl MountChange<'_> {
    /// Shows everything, asks unless `yes` says it all, and does it. The exit status is 1 after a no.
    fn make(self, yes: bool) -> Result<u8, Failure> {
        let Self { context, options, root, mounts, mut store, edits } = self;
        let steps = mounts.steps();
        if steps.is_empty() && edits.is_empty() {
            output::note("nothing is left to do");
            return Ok(0);
        }
        let about = ApprovalContext { context, root, scopes: &[], log: None };
        let warnings: String = mounts.targets().map(|target| about.warnings(target)).collect();
        output::output(&policy_edit::diffs(&edits, Style::of_stdout()))?;
        output::text(&(steps + &warnings))?;
        if !yes && !policy_edit::is_confirmed(context, options)? {
            return Ok(1);
        }
        mounts.approve(&mut store);
        // If a file cannot be written, this undoes links and approvals.
        let made = Made::make(root, &mounts, store)?;
        let written = policy_edit::write_all(&edits)?;
        made.keep()?;
        output::text(&written)?;
        Ok(0)
    }
}

/// The edit that takes the rules on `mounts` that go out of `file`, if it has any. A list that would be empty gets a
/// rule that grants nothing, since without any rule everything would be granted (spec §8.4).
fn without(
    context: &Context,
    file: &File,
    mounts: &PlannedMounts,
) -> Option<Result<PolicyEdit, Failure>> {
    let removals = removals(file, mounts);
    if removals.is_empty() {
        return None;
    }
    let emptied = removals.iter().filter(|(_, is_emptied)| *is_emptied);
    let denials: Vec<Change> = emptied
        .map(|(removal, _)| Change {
            file: file.source.name.to_string(),
            list: removal.list.clone(),
            add: vec![RuleText::File(".".to_owned(), Capabilities::NONE).addition()],
        })
        .collect();
    let removals: Vec<Removal> = removals.into_iter().map(|(removal, _)| removal).collect();
    Some(PolicyEdit::of(context, Path::new(&*file.source.name), |source, notation| {
        let text = change::without(source, notation, &removals)?;
        let left = Rc::new(Source::new(&source.name, text));
        change::changed(&left, notation, &denials)
    }))
}

/// The rules of `file` on mounts that go, by list, and whether that list has no others.
fn removals(file: &File, mounts: &PlannedMounts) -> Vec<(Removal, bool)> {
    let tools = file.tools.iter().map(|tool| (Some(tool.name.as_str()), tool.fs.as_ref()));
    let lists = std::iter::once((None, file.fs.as_ref())).chain(tools);
    lists
        .filter_map(|(tool, rules)| {
            let (Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. })) = rules?;
            let items = rules.iter().enumerate().filter(|(_, rule)| mounts.takes(rule));
            let items: Vec<usize> = items.map(|(index, _)| index).collect();
            let is_emptied = items.len() == rules.len();
            let list = RulePlace::of(file, AccessSection::Files, tool).list().to_owned();
            (!items.is_empty()).then_some((Removal { list, items }, is_emptied))
        })
        .collect()
}
