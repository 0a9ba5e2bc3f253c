//! `learn`, and the file that it writes: in the place of the workspace's it is never wider than what held meanwhile.

use crate::cli_learn::{run, tree};
use crate::run::{Outcome, note};

/// Whether this machine learns.
fn learns(outcome: &Outcome) -> bool {
    let learns = outcome.code() != 125 || !outcome.stderr.contains("learn ");
    if !learns {
        note("skipped: learn cannot be had here");
    }
    learns
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
