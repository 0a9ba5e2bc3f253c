//! `docs/left-behind.md` lists every place that a run may write to without options.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::cli_status::product;
use crate::scratch::Scratch;

/// A program of each built-in profile, and one of none.
const PROGRAMS: [&str; 8] = ["true", "git", "cc", "cargo", "npm", "python3", "go", "java"];

/// Capabilities that change files.
const WRITES: [&str; 3] = ["create", "update", "delete"];

/// The first column of the first table. `<temp>` is made after the plan.
fn documented() -> BTreeSet<String> {
    let text = include_str!("../../docs/left-behind.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let first = rows.filter_map(|row| row.split(" | ").next());
    first
        .flat_map(|cell| cell.split(", ").map(|place| place.trim_matches('`').to_owned()))
        .filter(|place| place != "<temp>")
        .collect()
}

/// The places that a run of `program` may write to, in the words of the document.
fn granted(scratch: &Scratch, program: &str) -> BTreeSet<String> {
    let outcome = product(scratch, &["--dry-run", "--json", "--", program]).run();
    outcome.assert_ok();
    let plan: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let grants = plan["grants"].as_array().expect("grants").iter();
    let may_write = |grant: &&Value| {
        let capabilities = grant["capabilities"].as_array().expect("capabilities");
        capabilities.iter().any(|one| WRITES.iter().any(|write| one == write))
    };
    let anchors = grants.filter(may_write).map(|grant| grant["anchor"].as_str().expect("a path"));
    anchors.map(|anchor| word(scratch, Path::new(anchor))).collect()
}

/// The word of the document for a place.
fn word(scratch: &Scratch, anchor: &Path) -> String {
    let caches = scratch.home().join(".cache/jp-confine");
    if anchor == scratch.ws() {
        return "<workspace>".to_owned();
    }
    // The caches of this workspace, not the directory of all.
    let is_own = |rest: &Path| rest.components().count() == 2 && rest.ends_with("caches");
    if anchor.strip_prefix(caches).is_ok_and(is_own) {
        "<cache>".to_owned()
    } else {
        anchor.display().to_string()
    }
}

#[test]
fn the_list_is_what_the_launcher_grants() {
    let scratch = Scratch::new();
    let mut all = BTreeSet::new();
    for program in PROGRAMS {
        all.extend(granted(&scratch, program));
    }
    // A machine without one of the devices does not grant it.
    let exists = |place: &String| !place.starts_with("/dev/") || Path::new(place).exists();
    assert_eq!(all, documented().into_iter().filter(exists).collect());
}
