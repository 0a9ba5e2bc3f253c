//! Implements `learn`: runs a program, and writes the policy that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cli::{self, Options};
use crate::commands::run;
use crate::config::document::Notation;
use crate::error::Failure;
use crate::host::context::Context;
use crate::learn::external_use::Outside;
use crate::learn::hosts::Hosts;
use crate::learn::kept_policy::{Carried, WrittenPolicy};
use crate::learn::learned::Learned;
use crate::learn::lesson::Lesson;
use crate::learn::output_files::{self, Output};
use crate::learn::replay::ReplayStage;
use crate::learn::tree_before::Listing;
use crate::learn::{FILE, exclusions, html, policy_file};
use crate::text::quote;
use crate::{compile, output};

/// Runs `name` with `arguments`, and writes the learned policy to the files in `wanted`.
pub(crate) fn learn(
    context: &Context,
    options: &Options,
    wanted: &cli::LearnOptions,
    name: &OsStr,
    arguments: &[OsString],
) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let default = || workspace.root.join(FILE);
    let policy = wanted.output.clone().unwrap_or_else(default);
    refuse_json(&policy)?;
    let open = |option, path| Output::open(context, &workspace.root, option, path, wanted.force);
    let mut policy = open("--output", &policy)?;
    let mut html = wanted.html.as_deref().map(|path| open("--html", path)).transpose()?;
    if html.as_ref().is_some_and(|html| html.is_same(&policy)) {
        return Err(Failure::advised(
            "--output and --html name the same file",
            "name another one for the page",
        ));
    }
    output_files::take_standard_output(std::iter::once(&mut policy).chain(&mut html))?;

    let mut lesson = Lesson::new()?;
    let before = Listing::now(&workspace.root, BTreeSet::new());
    let ran = run::run(context, options, name, arguments, Some(&mut lesson))?;
    let stage = ReplayStage::new(&workspace.root, before, &ran.prepared, &lesson.uses);
    let hosts = Hosts::of(&ran.prepared.network, &lesson.uses);
    let tool = options.tool.as_deref();
    let target =
        WrittenPolicy { tool, has_hosts: hosts.has_rules(), is_inside: policy.is_in_workspace() };
    let words = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str));
    let mut learned = Learned {
        command: words.collect(),
        ran: &ran,
        uses: &lesson.uses,
        rules: Vec::new(),
        tallies: Vec::new(),
        outside: Outside::of(&ran, &stage, &lesson.uses)?,
        hosts,
        carried: Carried::of_workspace(&ran.prepared, target)?,
        refused: Vec::new(),
        crowds: BTreeMap::new(),
        kept: BTreeSet::new(),
        autorun: BTreeSet::new(),
        shut: exclusions::shut(&stage, &lesson.uses),
        unsearched: BTreeSet::new(),
        unseen: BTreeSet::new(),
        tool,
        options,
        context,
    };
    learned.distil(&stage)?;
    policy.write(&policy_file::policy(&learned))?;
    if let Some(html) = &html {
        html.write(&html::page(&learned, &stage))?;
    }
    if !options.quiet {
        output::block_of(&policy_file::summary(&learned, &policy, html.as_ref()));
    }
    Ok(ran.end.follow())
}

/// Rejects a file name that would make jp-confine read the policy as JSON.
pub(crate) fn refuse_json(policy: &Path) -> Result<(), Failure> {
    if Notation::named(policy) != Some(Notation::Json) {
        return Ok(());
    }
    let toml = policy.with_extension("toml");
    Err(Failure::advised(
        format!(
            "--output {} would be read as JSON: policies are learned as TOML",
            quote::place(policy)
        ),
        format!("name it so: --output {}", quote::operand(toml.as_os_str().as_encoded_bytes())),
    ))
}
