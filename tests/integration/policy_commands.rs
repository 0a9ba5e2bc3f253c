//! Rules about programs: only listed programs start, with listed arguments, by whatever call and whichever layer sees
//! it. A command that a person typed needs no rule.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use macro_rules_attribute::apply;

use crate::attack::{Linking, answers, arena_with};
use crate::layers::row;
use crate::run::{Mode, Run};
use crate::scratch::Scratch;

/// A row that starts its program prints `EXECUTED`, by `echo`.
const RULES: &str = "\
[access.commands.'./bin/attack']
envs = ['*']
[access.commands.echo]
args = [['EXECUTED'], ['EXECUTED', 'more', '**']]
[access.commands.sh]
args = [['-c', 'echo EXECUTED']]
[access.commands.'./listed']
args = [['EXECUTED']]
envs = ['GIVEN', 'DENIED', 'LISTED_*']
[access.commands.env]
envs = ['*']
[[access.env]]
name = '*'
read = true
[[access.env]]
name = 'DENIED'
";

/// A call of the attack program, and whether the program that it names starts.
const ROWS: &[(&str, bool)] = &[
    ("exec /bin/echo EXECUTED", true),
    ("exec /bin/echo EXECUTED more", true),
    ("exec /bin/echo EXECUTED more and more", true),
    ("exec /bin/echo EXECUTED less", false),
    ("exec /bin/echo not EXECUTED", false),
    ("exec /bin/printf EXECUTED", false),
    ("execvp echo EXECUTED", true),
    ("execvp echo EXECUTED less", false),
    ("execvp printf EXECUTED", false),
    ("exec_held /bin/echo EXECUTED", true),
    ("exec_held /bin/echo EXECUTED less", false),
    ("spawn echo EXECUTED", true),
    ("spawn echo EXECUTED less", false),
    ("spawn printf EXECUTED", false),
    ("exec_called echo /bin/echo EXECUTED", true),
    ("exec_called /any/echo /bin/echo EXECUTED", true),
    ("exec_called printf /bin/echo EXECUTED", false),
    ("exec ./echo EXECUTED", false),
    ("exec ./link/echo EXECUTED", true),
    ("exec ./listed EXECUTED", true),
    ("exec ./listed EXECUTED less", false),
    ("exec ./dir/listed EXECUTED", false),
    ("exec /bin/sh -c echo%20EXECUTED", true),
    ("exec /bin/sh -c echo%20EXECUTED%20less", false),
    ("exec_self exec /bin/echo EXECUTED", true),
];

fn arena(linking: Linking) -> Scratch {
    let scratch = arena_with(linking, Scratch::for_ordinary_user());
    scratch.write("ws/jp-confine.toml", RULES);
    for script in ["ws/listed", "ws/dir/listed"] {
        scratch.write(script, "#!/bin/sh\necho $1; exec env\n");
        let executable = Permissions::from_mode(0o755);
        std::fs::set_permissions(scratch.path(script), executable).expect("executable");
    }
    scratch.copy_program("/bin/echo".as_ref(), "ws/echo");
    std::os::unix::fs::symlink("/bin", scratch.path("ws/link")).expect("a link");
    scratch.hand_over();
    scratch
}

/// The loader is a program of its own.
const LOADER: &str = if cfg!(target_arch = "aarch64") {
    "exec /lib/ld-linux-aarch64.so.1 /bin/echo EXECUTED"
} else {
    "exec /lib64/ld-linux-x86-64.so.2 /bin/echo EXECUTED"
};

fn assert_rows(linking: Linking, flags: &[&str]) {
    let scratch = arena(linking);
    let rows = || ROWS.iter().chain(&[(LOADER, false)]);
    let run = |script: &str| Run::sh(&scratch, script).flags(flags).run();
    let (seen, outcome) = answers(rows().map(|(line, _)| *line), run);
    for ((line, expected), seen) in rows().zip(&seen) {
        let is_as_expected =
            if *expected { seen.starts_with("EXECUTED") } else { seen == "EACCES" };
        assert!(is_as_expected, "{line}: {seen}: {outcome}");
    }
    assert_eq!(seen.len(), rows().count(), "{outcome}");
    outcome.assert_stderr("denied command /usr/bin/echo EXECUTED less");
}

// conformance: 076-151
#[apply(row!)]
fn only_what_is_listed_starts() {
    assert_rows(Linking::Dynamic, &[]);
}

#[apply(row!)]
fn whoever_avoids_the_library_starts_no_more() {
    assert_rows(Linking::Static, &["--enforce=layered"]);
}

/// The library hands on the words that were judged, even if another thread changes them.
#[apply(row!)]
fn words_are_judged_as_they_are_handed_on() {
    let scratch = arena(Linking::Dynamic);
    scratch.write("ws/jp-confine.toml", "[access.commands.echo]\nargs = [['A']]\n");
    let program = scratch.path("ws/bin/attack");
    let run = Run::new(&scratch, program.to_str().expect("UTF-8"), &["spawn_racing", "echo"]).run();
    run.assert_ok().assert_stdout("A\n").assert_stdout("ok\n");
    assert!(!run.stdout.contains('B'), "{run}");
}

/// A command that a person types needs no rule. Neither does the shell for a script without a first line.
#[apply(row!)]
fn what_is_typed_starts_and_nothing_behind_it() {
    let scratch = arena(Linking::Dynamic);
    scratch.write("ws/plain", "echo started; [ $1 = again ] || ./plain again; /bin/cat file\n");
    std::fs::set_permissions(scratch.path("ws/plain"), Permissions::from_mode(0o755)).expect("set");
    let run = Run::new(&scratch, "./plain", &["any", "words"]).run();
    run.assert_stderr("Permission denied");
    assert_eq!(run.stdout, "started\n", "{run}");
}

#[apply(row!)]
fn a_listed_program_gets_what_its_rule_lists_and_rules_allow() {
    let scratch = arena(Linking::Dynamic);
    let script = "export GIVEN=1 DENIED=2 LISTED_A=3 OTHER=4; ./listed EXECUTED";
    let run = Run::sh(&scratch, script).run();
    run.assert_ok().assert_stdout("GIVEN=1").assert_stdout("LISTED_A=3").assert_stdout("HOME=");
    assert!(!run.stdout.contains("DENIED=") && !run.stdout.contains("OTHER="), "{run}");
}

/// As the last argument in a rule, it would stand for any arguments.
#[apply(row!)]
fn no_rule_is_advised_for_a_last_argument_that_is_a_pattern() {
    let scratch = arena(Linking::Dynamic);
    let program = scratch.path("ws/bin/attack");
    let run =
        Run::new(&scratch, program.to_str().expect("UTF-8"), &["spawn", "printf", "**"]).run();
    run.assert_stderr("no rule can: at the end `**` stands for any");
    assert!(!run.stderr.contains("[access.commands."), "{run}");
}

/// The suggestion works when it is followed.
#[apply(row!)]
fn advice_about_programs_works() {
    let scratch = arena(Linking::Dynamic);
    let line = "spawn printf EXECUTED";
    let program = scratch.path("ws/bin/attack");
    let words: Vec<&str> = line.split_whitespace().collect();
    let attempt = || Run::new(&scratch, program.to_str().expect("UTF-8"), &words).run();
    let refused = attempt();
    refused.assert_stderr("access.commands does not list it");
    let allow = Run::new(&scratch, crate::run::PRODUCT, &["allow", "1", "--yes"]).mode(Mode::Bare);
    allow.run().assert_ok().assert_stdout("+[access.commands.printf]");
    attempt().assert_ok().assert_stdout("EXECUTED");
}
