//! `plan`: what each layer would enforce, in its own language.

use std::collections::BTreeSet;

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, have, skip};
use crate::scratch::Scratch;

const RULES: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n\
                     [[access.fs]]\npath = 'fork'\nexternal = true\nread = true\nwrite = true\n\
                     [[access.fs]]\npath = 'other'\nexternal = true\nread = true\n\
                     [file_policy]\ndeny_paths = ['<workspace>/*.key']\n";

/// A workspace with two symlinks that lead out. The target of `fork` is approved.
fn forked() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("out/dir/inner", "");
    scratch.write("out/elsewhere/inner", "");
    for (name, target) in [("fork", "out/dir"), ("other", "out/elsewhere")] {
        let (link, target) = (scratch.ws().join(name), scratch.path(target));
        std::os::unix::fs::symlink(target, link).expect("a symlink");
    }
    scratch.write("ws/jp-confine.toml", RULES);
    product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
    scratch
}

fn plan(scratch: &Scratch, words: &[&str]) -> String {
    let line = [&["-q", "--non-interactive", "plan"], words].concat();
    let run = product(scratch, &line).run();
    run.assert_ok();
    run.stdout
}

// conformance: d43-193, d43-195, d43-251, d43-252
/// An approved target is in every plan, and a dropped one in none.
#[test]
fn approved_targets_are_in_the_plan_and_dropped_ones_are_not() {
    let scratch = forked();
    let (approved, dropped) = (scratch.expand("$OUT/dir"), scratch.expand("$OUT/elsewhere"));
    for format in ["text", "landlock", "sbpl"] {
        for program in [&[][..], &["--", "true"]] {
            let plan = plan(&scratch, &[&["--format", format], program].concat());
            assert!(plan.contains(&approved), "{plan}");
            let grants = |line: &&str| line.contains(&dropped) && !line.starts_with("(deny ");
            assert_eq!(plan.lines().find(grants), None, "{plan}");
        }
    }
}

#[test]
fn a_plan_is_for_people_unless_asked_otherwise() {
    let scratch = forked();
    let text = plan(&scratch, &[]);
    assert_eq!(text, plan(&scratch, &["--format", "text"]));
    assert!(text.starts_with("policy\n"), "{text}");
    let dry = product(&scratch, &["--non-interactive", "-v", "--dry-run", "compile"]).run();
    let (_, layers) = dry.stdout.split_once("\nplan\n").expect("a plan");
    assert!(text.ends_with(layers), "{text}\n{dry}");
    let json = plan(&scratch, &["--json"]);
    assert_eq!(json, plan(&scratch, &["--format", "json"]));
    let dry = ["-q", "--non-interactive", "--dry-run", "--json", "compile"];
    assert_eq!(json, product(&scratch, &dry).run().stdout);
}

/// The last rule that matches decides, so denials follow.
#[test]
fn a_profile_goes_from_broad_to_specific() {
    let scratch = forked();
    let profile = plan(&scratch, &["--format", "sbpl"]);
    assert!(profile.contains("\n(version 1)\n(deny default)\n"), "{profile}");
    let place = |text: &str| profile.find(text).unwrap_or_else(|| panic!("{text}\n{profile}"));
    let workspace = scratch.expand("(allow file-read* file-write* (subpath \"$WS\"))");
    let key = place("[^/]*\\\\.key$");
    assert!(place(&workspace) < key, "{profile}");
    assert!(profile.contains("(remote ip \"*:*\")"), "{profile}");
    for option in ["--no-net", "--net=example.org"] {
        let profile = plan(&scratch, &[option, "--format", "sbpl"]);
        assert!(!profile.contains("(allow network"), "{profile}");
    }
}

/// The kernel's own names of rights, in the order of their bits.
const RIGHTS: [&str; 16] = [
    "EXECUTE",
    "WRITE_FILE",
    "READ_FILE",
    "READ_DIR",
    "REMOVE_DIR",
    "REMOVE_FILE",
    "MAKE_CHAR",
    "MAKE_DIR",
    "MAKE_REG",
    "MAKE_SOCK",
    "MAKE_FIFO",
    "MAKE_BLOCK",
    "MAKE_SYM",
    "REFER",
    "TRUNCATE",
    "IOCTL_DEV",
];

/// Rights and path of each rule of a plan.
fn planned_rules(text: &str) -> BTreeSet<(u32, String)> {
    let rules = text.lines().filter_map(|line| line.strip_prefix("allow "));
    let rule = |line: &str| {
        let (names, path) = line.split_once(' ').expect("rights and a path");
        let bit = |name| RIGHTS.iter().position(|known| *known == name).expect("a right");
        (names.split('|').map(|name| 1 << bit(name)).sum(), path.to_owned())
    };
    rules.map(rule).filter(|(_, path)| !path.contains("/run-")).collect()
}

/// Rights and path of each rule that a run gives to the kernel. Those of its own directory have another name each time.
fn traced_rules(trace: &str) -> BTreeSet<(u32, String)> {
    let rules = trace.lines().filter(|line| line.contains("landlock_add_rule("));
    let rule = |line: &str| {
        let (_, rest) = line.split_once("allowed_access=0x").expect("rights");
        let (digits, rest) = rest.split_once(',').expect("a place");
        let path = rest.split_once('<').and_then(|(_, rest)| rest.rsplit_once(">}"));
        let rights = u32::from_str_radix(digits, 16).expect("a number");
        (rights, path.expect("a path").0.to_owned())
    };
    rules.map(rule).filter(|(_, path)| !path.contains("/run-")).collect()
}

#[test]
fn the_kernel_gets_the_rules_of_the_plan() {
    if !have("strace") {
        return skip("strace is not installed");
    }
    let scratch = forked();
    let line = ["-f", "-y", "-X", "raw", "-e", "trace=landlock_add_rule", "-o", "../trace"];
    let line = [&line[..], &[PRODUCT, "-q", "--non-interactive", "--", "true"]].concat();
    let run = Run::new(&scratch, "strace", &line).mode(Mode::Bare).run();
    run.assert_ok();
    let trace = scratch.read("trace");
    // The first run creates the directory of the workspace's caches.
    let planned = planned_rules(&plan(&scratch, &["--format", "landlock", "--", "true"]));
    assert!(planned.len() > 10, "{planned:?}");
    assert_eq!(planned, traced_rules(&trace), "{trace}");
}

#[test]
fn what_cannot_be_printed_gets_a_short_message() {
    let scratch = forked();
    let run = product(&scratch, &["plan", "--format", "seccomp"]).run();
    run.assert_code(125).assert_stderr("text, landlock, sbpl, json");
    assert!(run.stderr.lines().count() <= 6, "{run}");
    let run =
        product(&scratch, &["--enforce", "cooperative", "plan", "--format", "landlock"]).run();
    run.assert_code(125).assert_stderr("Landlock would take no part in this run");
}
