//! The object that was judged is the object that is used (spec §1). Names, directories and descriptors are swapped
//! during every call that opens or changes something. `JP_CONFINE_RACE` is the number of attempts.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::run::{Outcome, Run};
use crate::scratch::Scratch;

/// The swaps that happen during a call.
const SCENES: [&str; 11] = [
    "file-link",
    "link-retargeted",
    "link-appears",
    "dangling-link",
    "parent-link",
    "deep-parent-link",
    "parent-moved-out",
    "above-moved-out",
    "above-working-directory",
    "working-directory",
    "descriptor",
];

/// The variable with the number of attempts.
const ATTEMPTS: &str = "JP_CONFINE_RACE";

fn compiled(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("race");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/race");
    let script = format!("cc -O1 -Wall -Wextra -o '{}' '{sources}'/*.c -pthread", path.display());
    let status = Command::new("sh").args(["-c", &script]).status().expect("sh");
    assert!(status.success(), "the race does not compile");
    scratch.copy_program(&path, "ws/race")
}

/// Runs the race in these scenes.
fn race(scenes: &[&str]) -> Outcome {
    let scratch = Scratch::new();
    let program = compiled(&scratch);
    let [stage, outside] = ["ws/dir", "out/dir"].map(|name| scratch.path(name));
    let attempts = std::env::var(ATTEMPTS).unwrap_or_else(|_| "100000".to_owned());
    let text = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    let (program, stage, outside) = (text(&program), text(&stage), text(&outside));
    let mut args = vec![stage.as_str(), &outside, &attempts, "1", "1"];
    args.extend(scenes);
    // The library alone: the thread that changes the names must get past it, and no other layer would allow that.
    Run::new(&scratch, &program, &args)
        .flags(&["--enforce=cooperative"])
        .limit(Duration::from_secs(6 * 3600))
        .run()
}

/// The numbers of allowed and denied attempts, from the line that begins with `name`.
fn counts(outcome: &Outcome, name: &str) -> (u64, u64) {
    let line = outcome.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no {name} in the output: {outcome}"));
    let numbers: Vec<u64> =
        line[name.len()..].split_whitespace().map_while(|word| word.parse().ok()).collect();
    (numbers[1], numbers[2])
}

#[test]
fn no_call_reaches_out_while_names_are_swapped() {
    let outcome = race(&SCENES);
    outcome.assert_ok();
    for scene in SCENES {
        let (allowed, refused) = counts(&outcome, scene);
        // There is hardly time to move a directory between the steps for it and for its `..`.
        let seen = allowed > 0 && (refused > 0 || scene == "above-moved-out");
        assert!(seen, "{scene} was seen in one state only: {outcome}");
    }
    if std::env::var_os(ATTEMPTS).is_some() {
        let _ = writeln!(std::io::stderr().lock(), "{}", outcome.stdout);
    }
}
