//! Implements `profiles list` and `profiles show`.

use serde::Serialize;

use crate::cli::Options;
use crate::config::decode::{File, Trust};
use crate::config::edit::change;
use crate::config::layers::Layers;
use crate::config::profiles::{Profiles, text_of};
use crate::error::Failure;
use crate::host::context::Context;
use crate::text::{quote, wrap};
use crate::{compile, output};

/// One line of the list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Line {
    name: String,
    /// Whether the user wrote it.
    own: bool,
    /// The programs that choose it by their names.
    programs: Vec<String>,
    includes: Vec<String>,
}

/// Runs `profiles list`.
pub(crate) fn list(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let profiles = Profiles::with(layers.profiles());
    let lines: Vec<Line> = profiles
        .every()
        .into_iter()
        .map(|profile| Line {
            name: profile.name.clone(),
            own: profile.own,
            programs: profile.programs.clone(),
            includes: profile.includes.clone(),
        })
        .collect();
    output::result(json, &lines, |lines| lines.iter().map(words).collect())?;
    Ok(0)
}

fn words(line: &Line) -> String {
    let name = quote::path(&line.name);
    let own = if line.own { ", your own" } else { "" };
    let by = match line.programs.as_slice() {
        [] => format!("by --profile {name}"),
        programs => programs.join(", "),
    };
    wrap::folded(&format!("{name}{own}: {by}\n"))
}

/// Runs `profiles show NAME`.
pub(crate) fn show(context: &Context, options: &Options, name: &str) -> Result<u8, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let own = |file: &File| {
        change::table_text(&file.source.text, &["profiles", name])
            .filter(|_| file.trust == Trust::User)
    };
    let own = layers.files().iter().rev().find_map(own);
    let text = own.or_else(|| text_of(name).map(str::to_owned));
    let text = text.ok_or_else(|| Profiles::with(layers.profiles()).unknown(name))?;
    output::output(&text)?;
    Ok(0)
}
