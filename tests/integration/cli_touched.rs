//! Commands of everyday tools under tiers: each path that one touches is judged, whatever its words are.

use std::fmt::Write as _;

use crate::cli_status::product;
use crate::run::{Mode, Outcome, Run, have};
use crate::scratch::Scratch;

const POLICY: &str =
    "[file_policy]\ndeny_paths = ['<workspace>/*/no/**']\nread_paths = ['<workspace>/*/ro/**']\n";

/// Commands in a directory with `file`, and with an `f` in `no` and `ro` each: whether the policy lets them succeed.
/// Without it all do.
const COMMANDS: [(&str, bool); 22] = [
    ("cat ro/f", true),
    ("cp ro/f copy", true),
    ("find ro -name f", true),
    ("cat no/f", false),
    ("ls no", false),
    ("cp no/f copy", false),
    ("cp file no/new", false),
    ("mv no/f taken", false),
    ("mv file no/new", false),
    ("rm no/f", false),
    ("touch no/new", false),
    ("sed -i s/a/b/ no/f", false),
    ("find no -delete", false),
    ("find ro -name f -delete", false),
    ("mv ro/f taken", false),
    ("rm ro/f", false),
    ("sed -i s/a/b/ ro/f", false),
    ("echo ro/f | xargs rm", false),
    ("gawk -i inplace 1 ro/f", false),
    ("chmod 600 ro/f", false),
    ("chown $(id -u) ro/f", false),
    ("truncate -s 0 ro/f", false),
];

/// Whether each command succeeds, in a directory of its own.
fn succeed(run: &Outcome) -> Vec<bool> {
    run.stdout.lines().map(|line| line == "yes").collect()
}

// conformance: tiers-46, tiers-47, tiers-48, tiers-66, tiers-68
#[test]
fn every_path_of_a_command_is_judged() {
    let commands =
        || COMMANDS.iter().filter(|(line, _)| have(line.split(' ').next().unwrap_or("")));
    let scratch = Scratch::new();
    let mut script = String::new();
    for (number, (line, _)) in commands().enumerate() {
        for name in ["file", "no/f", "ro/f"] {
            scratch.write(&format!("ws/{number}/{name}"), "a\n");
        }
        let _ = writeln!(script, "(cd {number} && {line}) > /dev/null 2>&1 && echo yes || echo no");
    }
    scratch.write("ws/jp-confine.toml", POLICY);
    let expected: Vec<bool> = commands().map(|(_, succeeds)| *succeeds).collect();
    let confined = product(&scratch, &["--", "sh", "-c", &script]).run();
    assert_eq!(succeed(&confined), expected, "{confined}");
    for number in 0..expected.len() {
        for name in ["no", "ro"] {
            assert_eq!(scratch.read(&format!("ws/{number}/{name}/f")), "a\n", "{number}");
        }
        assert!(!scratch.path(&format!("ws/{number}/no/new")).exists(), "{number}");
    }
    let bare = Run::sh(&scratch, &script).mode(Mode::Bare).run();
    assert!(succeed(&bare).iter().all(|succeeds| *succeeds), "{bare}");
}
