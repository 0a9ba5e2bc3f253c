//! A tool that edits a file: it applies a patch, and asks before it overwrites what is there.
//!
//! ```sh
//! cargo build -p jp-confine-vfs --example edit
//! jp-confine vfs -w notes.md --arguments '{"path": "notes.md", "patch": "@@ -1 +1 @@\n-a\n+b\n"}' \
//!     -- target/debug/examples/edit
//! ```

use std::error::Error;
use std::io::{BufRead, Write};

use diffy::Patch;
use jp_confine_vfs::message::{Contents, State, ToolError};
use jp_confine_vfs::sdk::{self, Client};
use serde::Deserialize;
use serde_json::json;

/// The arguments of the tool.
#[derive(Deserialize)]
struct Edit {
    path: String,
    /// A unified diff.
    patch: String,
}

fn main() -> Result<(), sdk::Error> {
    edit(sdk::connect()?)
}

/// Serves one call and sends its result or error to the host.
pub(crate) fn edit<R: BufRead, W: Write>(mut host: Client<R, W>) -> Result<(), sdk::Error> {
    match apply(&mut host) {
        Ok(text) => host.result(text),
        Err(error) => host.error(&ToolError::new(error.to_string())),
    }
}

fn apply<R: BufRead, W: Write>(host: &mut Client<R, W>) -> Result<String, Box<dyn Error>> {
    let Edit { path, patch } = serde_json::from_value(host.tool().arguments.clone())?;
    let before = host.read(&path)?;
    let after = diffy::apply(&before, &Patch::from_str(&patch)?)?;
    if !may_overwrite(host, &path, &patch)? {
        return Err(format!("{path} was left as it is").into());
    }
    host.write(&path, after)?;
    Ok(format!("Modified {path}"))
}

/// Whether the user allows overwriting: an answer given earlier counts, otherwise the tool asks now.
fn may_overwrite<R: BufRead, W: Write>(
    host: &mut Client<R, W>,
    path: &str,
    changes: &str,
) -> Result<bool, sdk::Error> {
    if let Some(answer) = host.tool().answers["overwrite"].as_bool() {
        return Ok(answer);
    }
    let question = json!({"id": "overwrite", "text": format!("Overwrite {path}? [y/N]")});
    let answer = host.state(&State::Waiting { content: Contents::text(changes), question })?;
    Ok(answer.is_some_and(|answer| matches!(answer.as_str(), Some("y" | "yes"))))
}
