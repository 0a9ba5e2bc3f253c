//! Checks sets of capabilities against the operations that the truth table cannot hold, by real system calls.

use std::fmt::Write as _;

use crate::attack::{answer, arena, call, set_up};
use crate::layers::row;
use crate::run::Mode;
use crate::scratch::Scratch;

const NAMES: [&str; 5] = ["read", "create", "update", "delete", "execute"];
const R: u8 = 1;
const C: u8 = 2;
const U: u8 = 4;
const D: u8 = 8;
const X: u8 = 16;

// conformance: 076-44
/// Operations that cannot be in the truth table ([`crate::truth_rows`]), and the capabilities that they need below
/// `area` (spec §5.2). Running a program ends the process, and not every filesystem has attributes.
const OPERATIONS: &[(&str, u8)] = &[("exec area/program", X), ("setxattr area/file user.k", U)];

fn policy(caps: u8) -> String {
    let mut text = "[[access.fs]]\npath = 'bin'\nread = true\nexecute = true\n\
                    [[access.fs]]\npath = 'area'\n"
        .to_owned();
    for (bit, name) in NAMES.iter().enumerate() {
        if caps & (1 << bit) != 0 {
            let _ = writeln!(text, "{name} = true");
        }
    }
    text
}

fn named(caps: u8) -> String {
    let held: Vec<&str> = NAMES
        .iter()
        .enumerate()
        .filter(|(bit, _)| caps & (1 << bit) != 0)
        .map(|(_, name)| *name)
        .collect();
    if held.is_empty() { "nothing".to_owned() } else { held.join("+") }
}

fn scratch_with_area() -> Scratch {
    let scratch = arena(Scratch::new());
    scratch.write("ws/area/file", "inside\n");
    set_up(&scratch, "mkdir area/dir; cp /bin/true area/program; ln -s file area/l");
    scratch
}

/// One set of capabilities: each operation succeeds exactly when the set holds what it needs.
fn assert_table(caps: u8) {
    let mut wrong = String::new();
    for (operation, needed) in OPERATIONS {
        let scratch = scratch_with_area();
        let file = scratch.path("policy.toml");
        std::fs::write(&file, policy(caps)).expect("a policy");
        let run =
            call(&scratch, Mode::under_test(), &format!("-p {} -- {operation}", file.display()));
        let expected = if caps & needed == *needed { "ok" } else { "EACCES" };
        let seen = answer(&run).split(' ').next().unwrap_or_default();
        // `exec` replaces the attack program, which then prints nothing.
        let seen = if seen.is_empty() && run.code() == 0 { "ok" } else { seen };
        if seen == "EOPNOTSUPP" {
            continue;
        }
        if seen != expected {
            let _ =
                writeln!(wrong, "{operation}: {seen}, not {expected} {}", run.stderr.trim_end());
        }
    }
    assert!(wrong.is_empty(), "with {}:\n{wrong}", named(caps));
}

/// One test for each set.
macro_rules! capability_sets {
    ($($name:ident: $caps:expr;)*) => { $( row! { fn $name() { assert_table($caps); } } )* };
}

capability_sets! {
    nothing: 0;
    update: U;
    execute: X;
    all_but_update: R | C | D | X;
    all_but_execute: R | C | U | D;
}

/// `O_CREAT` with only one of create and update. The kernel tells the two cases apart, not a look before the call.
mod create_or_update {
    use super::{C, R, U, X, answer, call, policy, scratch_with_area};
    use crate::layers::row;
    use crate::run::Mode;
    use macro_rules_attribute::apply;

    fn assert_answers(caps: u8, rows: &[(&str, &str)]) {
        let scratch = scratch_with_area();
        let file = scratch.path("policy.toml");
        std::fs::write(&file, policy(caps)).expect("a policy");
        for (operation, expected) in rows {
            let line = format!("-p {} -- {operation}", file.display());
            let run = call(&scratch, Mode::under_test(), &line);
            assert!(expected.split('|').any(|one| one == answer(&run)), "not {expected}: {run}");
        }
    }

    #[apply(row!)]
    fn create_only() {
        assert_answers(
            C,
            &[
                ("write_creat area/file", "EACCES"),
                ("write_excl area/file", "EEXIST"),
                ("mkdir area/file", "EEXIST"),
                ("write_creat area/l", "EACCES"),
                ("write_creat area/new", "ok"),
                ("write_creat area/new", "EACCES"),
                ("rename area/file area/other", "EACCES"),
            ],
        );
    }

    #[apply(row!)]
    fn update_only() {
        assert_answers(
            U,
            &[
                ("write_creat area/new", "EACCES"),
                ("write_excl area/new", "EACCES"),
                ("write_excl area/file", "EACCES"),
                ("write_creat area/file", "ok"),
                ("symlink area/new area/file", "EEXIST"),
                ("symlink area/new area/new", "EACCES"),
            ],
        );
    }

    /// An unreadable path answers the same whether or not it exists. A program that would create it learns no more than
    /// `stat` tells (decision 0008).
    #[apply(row!)]
    fn existence_is_not_told() {
        assert_answers(
            X,
            &[
                ("open area/file", "EACCES"),
                ("open area/missing", "EACCES"),
                ("unlink area/missing", "EACCES"),
                ("mkdir area/missing", "EACCES"),
                ("mkdir area/dir", "EEXIST"),
                ("stat area/dir", "ok"),
                ("open $OUT/missing", "EACCES"),
                ("unlink $OUT/missing", "EACCES"),
                ("open $OUT/missing/deeper", "EACCES"),
            ],
        );
    }

    /// The answer does not tell either that a directory is missing, whatever the call. A readable file is reported as
    /// no directory.
    #[apply(row!)]
    fn missing_directories_are_not_told_to_who_would_make_a_file() {
        assert_answers(
            R,
            &[
                ("read_creat area/missing/new", "EACCES"),
                ("rdwr_creat area/missing/new", "EACCES"),
                ("mkdir area/missing/new", "EACCES"),
                ("bind area/missing/new", "EACCES"),
                ("read_creat area/file/new", "ENOTDIR"),
            ],
        );
        assert_answers(C, &[("bind area/missing/new", "ENOENT")]);
    }

    #[apply(row!)]
    fn read_and_write_of_a_new_file_needs_no_read() {
        assert_answers(C, &[("rdwr_creat area/new", "ok"), ("rdwr_creat area/new", "EACCES")]);
        assert_answers(
            R | C,
            &[("rdwr_creat area/file", "EACCES"), ("read_creat area/file", "ok inside|EACCES")],
        );
    }
}
