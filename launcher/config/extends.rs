//! Finds the files that a JP file extends, as JP does. Used by `named_files`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::document::Notation;
use crate::error::Failure;
use crate::text::quote;

/// One element of `extends`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Extension {
    /// A path relative to the file's directory. It may be a pattern.
    Path(String),
    /// The same, with the place of the files beside this one.
    Placed {
        path: String,
        #[serde(default)]
        strategy: Strategy,
    },
}

/// Whether the files count before this one, or after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strategy {
    #[default]
    Before,
    After,
}

/// The files that JP reads with a file that does not say which.
const DEFAULT: &str = "config.d/**/*";

/// The files that a file of JP in the directory `dir` extends: those before it and those after it, and names that lead
/// nowhere. `listed` is what the file says about that.
///
/// # Errors
/// A pattern is not valid, or a directory cannot be read.
pub(super) fn files_of(listed: Option<&[Extension]>, dir: &Path) -> Result<Extended, Failure> {
    let by_default = [Extension::Path(DEFAULT.to_owned())];
    let mut extended = Extended::default();
    for extension in listed.unwrap_or(&by_default) {
        let (path, strategy) = match extension {
            Extension::Path(path) => (path, Strategy::Before),
            Extension::Placed { path, strategy } => (path, *strategy),
        };
        let found = matching(&dir.join(path.trim_start_matches('/')))?;
        if found.is_empty() && !path.contains(['*', '?', '[']) {
            extended.missing.push(path.clone());
        }
        match strategy {
            Strategy::Before => extended.before.extend(found),
            Strategy::After => extended.after.extend(found),
        }
    }
    Ok(extended)
}

/// The files that a file extends.
#[derive(Debug, Default)]
pub(super) struct Extended {
    pub(super) before: Vec<PathBuf>,
    pub(super) after: Vec<PathBuf>,
    pub(super) missing: Vec<String>,
}

/// The files that match a pattern, sorted. Those of another notation are left out.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = pattern.to_string_lossy();
    let wrong = |why: String| {
        Failure::advised(
            format!("`extends`: {} {why}", quote::path(&text)),
            "nothing was run: what the file says would not count",
        )
    };
    let found = glob::glob(&text).map_err(|error| wrong(format!("is no pattern: {error}")))?;
    let found = found.collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let is_policy = |path: &PathBuf| path.is_file() && Notation::named(path).is_some();
    Ok(found.into_iter().filter(is_policy).collect())
}
