//! Implements `cache`: lists and deletes the workspaces' own caches (spec §12.2).

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::cli::Options;
use crate::error::Failure;
use crate::host::cache_dirs::{self, WorkspaceCaches};
use crate::host::context::Context;
use crate::text::quote;
use crate::{compile, output};

const DAY: u64 = 24 * 60 * 60;

/// The caches of one workspace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Line {
    workspace: String,
    directory: String,
    bytes: u64,
    last_used: String,
    /// Whether the workspace still exists.
    exists: bool,
}

/// Prints the size and the last use of each workspace's caches.
pub(crate) fn list(context: &Context, options: &Options, json: bool) -> Result<u8, Failure> {
    let (all, now) = (all(context), SystemTime::now());
    if json {
        output::json(&all.iter().map(Line::of).collect::<Vec<_>>())?;
        return Ok(0);
    }
    if all.is_empty() && !options.quiet {
        output::note("no workspace has caches");
    }
    let mut text = String::new();
    for caches in &all {
        let age = now.duration_since(caches.last_use).unwrap_or_default();
        let gone = if caches.workspace.exists() { "" } else { " (gone)" };
        let place = quote::place(&caches.workspace);
        let _ = writeln!(
            text,
            "{:>9}  {:<14}{place}{gone}",
            words_of_size(caches.size()),
            words_of_age(age)
        );
    }
    output::text(&text)?;
    Ok(0)
}

/// Deletes the caches of these workspaces, or of all that were unused for so long, or else of this one.
pub(crate) fn clear(
    context: &Context,
    options: &Options,
    unused: Option<Duration>,
    workspaces: &[PathBuf],
) -> Result<u8, Failure> {
    let mut named: Vec<PathBuf> = Vec::new();
    for path in workspaces {
        let path = context.absolute(path);
        named.push(path.canonicalize().unwrap_or(path));
    }
    if named.is_empty() && unused.is_none() {
        named.push(compile::find_workspace(context, options)?.root);
    }
    let (all, now) = (all(context), SystemTime::now());
    let unknown = |path: &&PathBuf| all.iter().all(|caches| caches.workspace != **path);
    if let Some(path) = named.iter().find(unknown).filter(|_| !workspaces.is_empty()) {
        let problem = format!("the workspace {} has no caches", quote::place(path));
        return Err(Failure::advised(problem, "`jp-confine cache list` says which have some"));
    }
    let is_meant = |caches: &&WorkspaceCaches| {
        let age = now.duration_since(caches.last_use).unwrap_or_default();
        (named.is_empty() || named.contains(&caches.workspace))
            && unused.is_none_or(|unused| age >= unused)
    };
    let (mut bytes, mut cleared) = (0, 0);
    for caches in all.iter().filter(is_meant) {
        let (size, place) = (caches.size(), quote::place(&caches.workspace));
        let failed = |error| Failure::own(format!("the caches of {place}: {error}"));
        if caches.clear().map_err(failed)? {
            (bytes, cleared) = (bytes + size, cleared + 1);
        } else if !options.quiet {
            output::warning(&format!("a run in {place} uses its caches, so they stay"));
        }
    }
    if !options.quiet {
        let caches = if cleared == 1 { "1 workspace" } else { &format!("{cleared} workspaces") };
        output::note(&format!("deleted the caches of {caches}, {}", words_of_size(bytes)));
    }
    Ok(0)
}

fn all(context: &Context) -> Vec<WorkspaceCaches> {
    let home = cache_dirs::home(context);
    home.map(|home| WorkspaceCaches::all(&home)).unwrap_or_default()
}

impl Line {
    fn of(caches: &WorkspaceCaches) -> Self {
        Self {
            workspace: caches.workspace.to_string_lossy().into_owned(),
            directory: caches.directory.to_string_lossy().into_owned(),
            bytes: caches.size(),
            last_used: humantime::format_rfc3339_seconds(caches.last_use).to_string(),
            exists: caches.workspace.exists(),
        }
    }
}

fn words_of_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes / 1000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
    }
}

fn words_of_age(age: Duration) -> String {
    match age.as_secs() / DAY {
        0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_short() {
        for (bytes, words) in
            [(999, "0 kB"), (20_000, "20 kB"), (1_500_000, "1 MB"), (2_340_000_000, "2.3 GB")]
        {
            assert_eq!(words_of_size(bytes), words);
        }
        let days = |days| words_of_age(Duration::from_secs(days * DAY + 1));
        assert_eq!([days(0), days(1), days(30)], ["today", "1 day ago", "30 days ago"]);
    }
}
