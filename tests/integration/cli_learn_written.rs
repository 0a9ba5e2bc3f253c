//! `learn`, and the file that it writes: in the place of the workspace's it is never wider than what held meanwhile.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::cli_learn::{run, tree};
use crate::run::{Outcome, note};
use crate::scratch::Scratch;

/// Whether this machine learns.
fn learns(outcome: &Outcome) -> bool {
    let learns = outcome.code() != 125 || !outcome.stderr.contains("learn ");
    if !learns {
        note("skipped: learn cannot be had here");
    }
    learns
}

/// What a run yields is not to be lost, nor to be what nobody can read.
#[test]
fn nothing_runs_whose_policy_could_not_be_kept() {
    let scratch = Scratch::for_ordinary_user();
    let refused = |words: &[&str], why: &str| {
        let refused = run(&scratch, words, "echo x > new");
        refused.assert_code(125).assert_stderr(why);
        assert!(!refused.stderr.contains(".jp-confine-"), "{refused}");
        assert!(!scratch.ws().join("new").exists(), "{words:?}");
    };
    refused(&["learn", "-o", "l.json"], "--output l.toml");
    refused(&["learn", "-o", "l", "--html", "none/page.html"], "No such file or directory");
    refused(&["learn", "-o", "dir", "--force"], "it is a directory");
    refused(&["learn", "-o", "-", "--html", "-"], "standard output takes one");
    fs::set_permissions(scratch.ws(), Permissions::from_mode(0o555)).expect("closed");
    refused(&["learn"], "Permission denied");
    fs::set_permissions(scratch.ws(), Permissions::from_mode(0o755)).expect("open");
}

#[test]
fn a_policy_on_standard_output_is_alone_there() {
    let scratch = tree();
    let learned = run(&scratch, &["learn", "-o", "-"], "echo noise; cat file");
    if !learns(&learned) {
        return;
    }
    learned.assert_ok().assert_stderr("noise\ninside");
    assert!(learned.stdout.starts_with("# Learned by"), "{learned}");
    assert!(!learned.stdout.contains("\nnoise"), "{learned}");
}

/// The library finds out nothing that the supervisor has told already.
#[test]
fn a_refusal_is_counted_once() {
    let scratch = tree();
    for script in ["exec cat $OUT/secret", "exec ls $OUT"] {
        let learned = run(&scratch, &["learn", "-o", "-"], &scratch.expand(script));
        if !learns(&learned) {
            return;
        }
        learned.assert_stderr("1 denial\n");
    }
}
