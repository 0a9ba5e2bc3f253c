//! Tries whether views work here, by a run that writes and reads through one.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use super::Finding;
use crate::host::machine::{Feature, Machine};
use crate::host::program_lookup::own_path;

/// Writes and reads below the place of the view, its first argument.
const SCRIPT: &str = r#"echo written >"$1/new" && read -r line <"$1/old" && test "$line" = shown"#;

/// Whether programs see directories in another's place, and which programs.
pub(super) fn finding(machine: Machine) -> Finding {
    let failure = attempt().unwrap_or_else(|error| Some(error.to_string()));
    let there = failure.is_none();
    let (detail, lost) = match (failure, machine.supervises()) {
        (Some(failure), _) => (failure, vec!["the real directory is denied, and no other shown"]),
        (None, true) => ("in all programs".to_owned(), Vec::new()),
        (None, false) => (
            "in programs that load the library".to_owned(),
            vec!["other programs meet the real directory, which is denied"],
        ),
    };
    let remedy = (there && !lost.is_empty()).then(|| Feature::Listener.remedy());
    Finding { feature: "views", there, detail, lost, remedy }
}

/// Runs the script with a view. Returns the reason if that does not work.
fn attempt() -> io::Result<Option<String>> {
    let ground = tempfile::Builder::new().prefix("jp-confine-").tempdir()?;
    let [place, backing, workspace, own] =
        ["place", "backing", "workspace", "own"].map(|name| ground.path().join(name));
    for directory in [&backing, &workspace, &own] {
        fs::create_dir(directory)?;
    }
    fs::write(backing.join("old"), "shown\n")?;
    let mut view = place.clone().into_os_string();
    view.push("=");
    view.push(&backing);
    let mut run = Command::new(own_path());
    run.args(["--quiet", "--non-interactive", "--cache", "none", "-C"])
        .arg(&workspace)
        .arg("--view")
        .arg(view);
    run.args(["--", "/bin/sh", "-c", SCRIPT, "sh"]).arg(&place);
    // No file of the user's counts, and nothing about this run stays.
    run.env("XDG_CONFIG_HOME", &own).env("XDG_DATA_HOME", &own).stdin(Stdio::null());
    let outcome = run.output()?;
    if outcome.status.success() && backing.join("new").exists() && !place.exists() {
        return Ok(None);
    }
    let words = String::from_utf8_lossy(&outcome.stderr);
    let why = words.lines().next().unwrap_or("what a program wrote is not there");
    Ok(Some(why.to_owned()))
}
