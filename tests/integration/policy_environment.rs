//! Rules about environment variables. A withheld variable is not in the run, however a program looks for it. No program
//! gets a denied variable. Variables that programs set for themselves still work.

use macro_rules_attribute::apply;

use crate::attack::{Linking, answers, arena_with};
use crate::cli_status::product;
use crate::layers::row;
use crate::run::{PRODUCT, Run};
use crate::scratch::Scratch;

/// A call that looks for a variable, and its result: the value in the run, or the errno for no such variable. A rule
/// denies `DENIED`, no rule is about `SECRET`, and `GIVEN` is granted.
const LIBRARY: &[(&str, &str)] = &[
    ("variable SECRET", "ENOENT"),
    ("variable DENIED", "ENOENT"),
    ("kept_variable SECRET", "ENOENT"),
    ("clearenv exec_self variable SECRET", "ENOENT"),
    ("empty_env spawn_self variable DENIED", "ENOENT"),
    ("set DENIED own exec_self variable DENIED", "ENOENT"),
    ("set DENIED own exec_self kept_variable DENIED", "ENOENT"),
    ("set DENIED own execvp_self variable DENIED", "ENOENT"),
    ("set DENIED own fexecve_self variable DENIED", "ENOENT"),
    ("set DENIED own sys_execve_self variable DENIED", "ENOENT"),
    ("set DENIED own vfork_self variable DENIED", "ENOENT"),
    ("set DENIED own spawn_self variable DENIED", "ENOENT"),
    ("set DENIED own system_self variable DENIED", "ENOENT"),
    ("set DENIED own popen_self variable DENIED", "ENOENT"),
    ("set DENIED own variable DENIED", "ok own"),
    ("variable GIVEN", "ok given"),
    ("exec_self variable GIVEN", "ok given"),
    ("empty_env exec_self variable GIVEN", "ENOENT"),
    ("exec_self variable TERM", "ok xterm"),
    ("set MAKEFLAGS own spawn_self variable MAKEFLAGS", "ok own"),
];

/// The same for a program without the library: its own calls pass on the variables that it sets.
const STATIC: &[(&str, &str)] = &[
    ("variable SECRET", "ENOENT"),
    ("kept_variable DENIED", "ENOENT"),
    ("exec_self variable SECRET", "ENOENT"),
    ("variable GIVEN", "ok given"),
    ("set DENIED own exec_self variable DENIED", "ok own"),
];

const RULES: &str = "[[access.env]]\nname = 'GIVEN'\nread = true\n\
                     [[access.env]]\nname = 'DEN*'\n";

fn assert_rows(linking: Linking, flags: &[&str], rows: &[(&str, &str)]) {
    let scratch = arena_with(linking, Scratch::for_ordinary_user());
    scratch.write("ws/jp-confine.toml", RULES);
    let run = |script: &str| {
        let run = Run::sh(&scratch, script).flags(flags).env("GIVEN", "given");
        run.env("SECRET", "TOPSECRET").env("DENIED", "TOPSECRET").run()
    };
    let (seen, outcome) = answers(rows.iter().map(|(line, _)| *line), run);
    outcome.assert_no_secret();
    for ((line, expected), seen) in rows.iter().zip(&seen) {
        assert_eq!(seen, expected, "{line}: {outcome}");
    }
    assert_eq!(seen.len(), rows.len(), "{outcome}");
}

#[apply(row!)]
fn whoever_looks_finds_what_is_granted() {
    assert_rows(Linking::Dynamic, &[], LIBRARY);
}

#[apply(row!)]
fn whoever_avoids_the_library_finds_no_more() {
    assert_rows(Linking::Static, &["--enforce=layered"], STATIC);
}

#[apply(row!)]
fn the_process_that_has_it_does_not_show_it() {
    let scratch = Scratch::for_ordinary_user();
    let script = "echo $SECRET; tr '\\0' '\\n' < /proc/$PPID/environ";
    let run = Run::sh(&scratch, script).flags(&["--env", "GIVEN", "-v"]).env("SECRET", "TOPSECRET");
    run.run().assert_no_secret().assert_stderr("withheld").assert_stderr(" SECRET");
}

#[apply(row!)]
fn whoever_fails_is_told_what_it_may_have_missed() {
    let scratch = Scratch::for_ordinary_user();
    let ends = |status: &str| {
        let run = Run::new(&scratch, "sh", &["-c", &format!("exit {status}")]);
        run.flags(&["--env", "GIVEN"]).env("SECRET", "x").env("MORE", "y").run()
    };
    ends("3").assert_stderr(
        "jp-confine: 2 variables withheld from sh; allow: --env MORE --env SECRET\n",
    );
    let why = product(&scratch, &["why", "--last"]).run();
    why.assert_stdout(
        "\n1 withheld of the environment\n  allow: jp-confine --env MORE --env SECRET\n  for good: \
         jp-confine allow 1\n",
    );
    let why = product(&scratch, &["why", "--last", "--json"]).run();
    why.assert_stdout("\"options\": \"--env SECRET\"").assert_stdout("\"name\": \"SECRET\",");
    assert_eq!(ends("0").stderr, "");
    product(&scratch, &["why", "--last"]).run().assert_stdout("no denials in the last run: ");
}

#[apply(row!)]
fn isolated_is_the_base_set_and_what_was_typed() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", "[[access.env]]\nname = 'SECRET'\nread = true\n");
    let script = "echo $HOME:$SECRET:$GIVEN:$SET";
    let run = Run::sh(&scratch, script).flags(&["--isolated", "--env", "GIVEN", "--env", "SET=1"]);
    let run = run.env("SECRET", "TOPSECRET").env("GIVEN", "given").run();
    let home = scratch.home();
    run.assert_ok().assert_no_secret().assert_stdout(&format!("{}::given:1", home.display()));
}

/// A program that starts another with an environment of its own still means the run's directory for temporary files,
/// unless it names another.
#[apply(row!)]
fn programs_find_their_temporary_files_whatever_is_left_of_the_environment() {
    let scratch = Scratch::for_ordinary_user();
    let script =
        "test \"$(env -i sh -c 'echo $TMPDIR')\" = \"$TMPDIR\" && env -i mktemp > /dev/null &&
        env -i A=1 TMPDIR=/own env";
    let run = Run::sh(&scratch, script).run();
    run.assert_ok().assert_stdout("TMPDIR=/own\n");
    assert_eq!(run.stdout.matches("TMPDIR").count(), 1, "{run}");
}

/// Some programs have variables of their own for that directory. The user's own values stay. The values of an outer run
/// name its directory, which is not granted here.
#[apply(row!)]
fn temporary_files_have_more_names_than_one() {
    let scratch = Scratch::for_ordinary_user();
    let script =
        "test $TMUX_TMPDIR = $TMPDIR && touch $TMPPREFIX.x && test -e /tmp/${TMPPREFIX##*/}.x";
    Run::sh(&scratch, script).run().assert_ok();
    let inner = Run::new(&scratch, PRODUCT, &["--", "sh", "-c", script]).flags(&["-x", PRODUCT]);
    inner.run().assert_ok();
    let own = Run::sh(&scratch, "test $TMPPREFIX = /own").env("TMPPREFIX", "/own").run();
    own.assert_ok();
}

/// The variables that tell programs of the policy are beyond any rule.
#[apply(row!)]
fn variables_of_the_launcher_are_beyond_rules() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", "[[access.env]]\nname = '*'\n");
    let script = "test -n \"$TMPDIR$PATH\" && exec env";
    let run = Run::sh(&scratch, script).env("SECRET", "TOPSECRET").run();
    run.assert_ok().assert_no_secret().assert_stdout("LD_PRELOAD=").assert_stdout("TMPDIR=");
    assert!(!run.stdout.contains("HOME="), "{run}");
    for (option, name) in [("--env=TMPDIR=/tmp", "TMPDIR"), ("--env=JP_CONFINE", "JP_CONFINE")] {
        Run::new(&scratch, "true", &[]).flags(&[option]).run().assert_code(125).assert_stderr(name);
    }
    scratch.write("ws/jp-confine.toml", "[[access.env]]\nname = 'LD_PRELOAD'\n");
    let run = Run::new(&scratch, PRODUCT, &["--help"]).run();
    run.assert_code(125).assert_stderr("jp-confine.toml:1").assert_stderr("by jp-confine itself");
}
