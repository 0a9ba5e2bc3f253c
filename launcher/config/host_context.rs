//! Reads a host's `Context`: the JSON object by which JP tells a tool where it runs and what it may touch (spec §2.5). Its
//! rules are decoded as those of any policy file.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::policy_files;
use crate::error::Failure;
use crate::files;
use crate::host::context::Context;
use crate::text::quote;

/// A `Context` that was read.
#[derive(Debug)]
pub(crate) struct HostContext {
    /// The workspace, absolute.
    pub(crate) root: PathBuf,
    /// All of it.
    pub(crate) text: Vec<u8>,
}

/// The part that is needed before the workspace is known.
#[derive(Debug, Deserialize)]
struct Place {
    root: PathBuf,
}

/// The name of standard input.
pub(crate) const STDIN: &str = "-";

impl HostContext {
    /// Reads it from the file `name`.
    ///
    /// # Errors
    /// It cannot be read, or has no absolute `root`.
    pub(crate) fn read(context: &Context, name: &Path) -> Result<Self, Failure> {
        let text = if name == Path::new(STDIN) {
            files::read_all(std::io::stdin(), policy_files::LONGEST)
        } else {
            policy_files::read_named(&context.absolute(name))
        };
        let wrong = |why: String| {
            Failure::advised(
                format!("--context {}: {why}", quote::place(name)),
                "it is a JSON object with `root` and `access`, as a host sends it to its tools",
            )
        };
        let text = text.map_err(|error| wrong(error.to_string()))?;
        let place: Place =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if !place.root.is_absolute() {
            return Err(wrong("`root` is not absolute".to_owned()));
        }
        Ok(Self { root: place.root, text })
    }
}
