//! Runs the attack program, and asserts what every attack must result in.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::layers::{Difference, Holder, leave_out_like_rows, once_in_a_row};
use crate::run::{Mode, Outcome, Run, skip};
use crate::scratch::Scratch;

/// One test for each row: `name: "setup", "call" => "errno";`
///
/// The setup is a shell script, run bare in the workspace, with `$OUT`, `$HOME` and `$ATTACK`. The call is a line for
/// the attack program. `FLAGS -- ` before it are options of `jp-confine`, and `9<PATH` is a descriptor to inherit. `|`
/// separates acceptable errnos.
macro_rules! attacks {
    ($($name:ident: $setup:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    crate::attack::assert_refused($setup, $call, $expected);
                }
            }
        )*
    };
}
pub(crate) use attacks;

/// How the attack program is linked. Libraries can be loaded only into a dynamic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linking {
    Dynamic,
    Static,
}

/// A scratch tree whose workspace holds the attack program as `bin/attack`.
pub(crate) fn arena(scratch: Scratch) -> Scratch {
    arena_with(linking(), scratch)
}

/// The linking that [`arena`] chooses.
fn linking() -> Linking {
    match Holder::under_test() {
        Holder::Supervisor => Linking::Static,
        _ => Linking::Dynamic,
    }
}

/// As [`arena`], with a given linking of the attack program.
pub(crate) fn arena_with(linking: Linking, scratch: Scratch) -> Scratch {
    scratch.copy_program(compiled(linking), "ws/bin/attack");
    scratch.hand_over();
    scratch
}

/// The linkings that the holder under test confines. The library alone confines only dynamic programs. The static ones
/// of the usual layers have a turn of their own.
pub(crate) fn linkings() -> &'static [Linking] {
    match Holder::under_test() {
        Holder::Layers | Holder::Library => &[Linking::Dynamic],
        Holder::Supervisor => &[Linking::Static],
        Holder::Strict => &[Linking::Dynamic, Linking::Static],
    }
}

/// The attack program, compiled once for all tests. `JP_CONFINE_TEST_CC` names another compiler.
fn compiled(linking: Linking) -> &'static PathBuf {
    type Program = OnceLock<(tempfile::TempDir, PathBuf)>;
    static DYNAMIC: Program = OnceLock::new();
    static STATIC: Program = OnceLock::new();
    let program = if linking == Linking::Static { &STATIC } else { &DYNAMIC };
    let (_, path) = program.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder for the attack program");
        let path = dir.path().join("attack");
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks");
        let compiler = std::env::var("JP_CONFINE_TEST_CC").unwrap_or("cc".to_owned());
        let path_text = path.display();
        let linking = if linking == Linking::Static { "-static -DSTATIC" } else { "" };
        let script = format!(
            "{compiler} {linking} -O1 -Wall -Wextra -Werror -o '{path_text}' '{sources}'/*.c -pthread"
        );
        let status = Command::new("sh").args(["-c", &script]).status().expect("sh");
        assert!(status.success(), "the attack program does not compile");
        (dir, path)
    });
    path
}

/// Runs `script` bare in the workspace.
pub(crate) fn set_up(scratch: &Scratch, script: &str) {
    if script.is_empty() {
        return;
    }
    let mut run = Run::sh(scratch, script).mode(Mode::Bare);
    let preloads = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/preloads").into();
    let attack = scratch.path("ws/bin/attack");
    for (name, path) in [("OUT", scratch.out()), ("ATTACK", attack), ("PRELOADS", preloads)] {
        run = run.env(name, path.to_str().expect("UTF-8"));
    }
    run.run().assert_ok();
}

/// Runs one call line of the attack program.
pub(crate) fn call(scratch: &Scratch, mode: Mode, line: &str) -> Outcome {
    call_of("ws/bin/attack", scratch, mode, line)
}

/// Runs one call line of the program at that path in the tree.
pub(crate) fn call_of(program: &str, scratch: &Scratch, mode: Mode, line: &str) -> Outcome {
    let line = scratch.expand(line);
    let (flags, line) = line.split_once(" -- ").unwrap_or(("", &line));
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let mut args: Vec<&str> = line.split_whitespace().collect();
    let inherited = args.first().and_then(|first| first.strip_prefix("9<")).map(PathBuf::from);
    if inherited.is_some() {
        args.remove(0);
    }
    let program = scratch.path(program);
    let run = Run::new(scratch, program.to_str().expect("UTF-8"), &args).mode(mode).flags(&flags);
    match inherited {
        Some(path) => run.inherit(9, &scratch.ws().join(path)).run(),
        None => run.run(),
    }
}

/// The one line that the attack program printed.
pub(crate) fn answer(outcome: &Outcome) -> &str {
    outcome.stdout.trim_end_matches('\n')
}

/// The attack program's answer to each of these calls, in order. `run` runs all of them as one script.
pub(crate) fn answers<'a>(
    lines: impl Iterator<Item = &'a str>,
    run: impl FnOnce(&str) -> Outcome,
) -> (Vec<String>, Outcome) {
    let calls: Vec<String> = lines.map(|line| format!("echo {MARK}; bin/attack {line}")).collect();
    let outcome = run(&calls.join("\n"));
    let answers = outcome.stdout.split(MARK).skip(1);
    (answers.map(|answer| answer.trim().to_owned()).collect(), outcome)
}

const MARK: &str = "====";

/// The attack must succeed bare. Confined, it must answer one of `expected` and have no effect.
pub(crate) fn assert_refused(setup: &str, line: &str, expected: &str) {
    assert_refused_to("ws/bin/attack", &|| arena(Scratch::new()), setup, line, expected);
}

/// As [`assert_refused`], for the program at that path in trees that `plant` creates.
pub(crate) fn assert_refused_to(
    program: &str,
    plant: &dyn Fn() -> Scratch,
    setup: &str,
    line: &str,
    expected: &str,
) {
    leave_out_like_rows();
    let attack = format!("{program}, {:?}, {setup}, {line}", linking());
    if !once_in_a_row(&attack, || works_bare(program, plant, setup, line)) {
        return;
    }
    let scratch = plant();
    set_up(&scratch, setup);
    let before = scratch.forbidden();
    let confined = call_of(program, &scratch, Mode::under_test(), line);
    assert_answer(expected, &confined);
    confined.assert_no_secret();
    before.assert_same(&scratch.forbidden());
    scratch.assert_nothing_leaked();
}

/// Whether the attack can be made here. If it can, it must succeed without confinement.
fn works_bare(program: &str, plant: &dyn Fn() -> Scratch, setup: &str, line: &str) -> bool {
    let scratch = plant();
    set_up(&scratch, setup);
    let bare = call_of(program, &scratch, Mode::Bare, line);
    let is_root = rustix::process::geteuid().is_root();
    match answer(&bare) {
        "EOPNOTSUPP" => skip("the filesystem of the temporary folder cannot do this"),
        "ENOSYS" => skip("this libc, processor or kernel has no such call"),
        "EPERM" if !is_root => skip("only the superuser can do this"),
        answer => {
            assert!(answer.starts_with("ok"), "the attack itself does not work: {bare}");
            return true;
        }
    }
    false
}

/// Fails unless the answer is `expected`, or the one that the holder under test gives instead.
fn assert_answer(expected: &str, confined: &Outcome) {
    let holder = Holder::under_test();
    let seen = answer(confined);
    assert!(!expected.contains("ok"), "this is what the attack answers bare");
    let Some(difference) = Difference::of_this_test() else {
        return assert!(holder.accepts(expected, seen), "expected {expected}: {confined}");
    };
    assert!(!holder.accepts(expected, seen), "no longer different: {confined}");
    let instead = difference.answer.expect("rows that differ say how");
    let first = seen.split(' ').next();
    assert!(first == Some(instead), "expected {instead}: {confined}");
}
