//! A loader that is executed as a program starts only programs that may be executed (ld.so(8)), whoever calls it and
//! however.

use macro_rules_attribute::apply;

use crate::attack::{Linking, answers, arena_with, linkings, set_up};
use crate::layers::{Holder, row};
use crate::policy_rules::rule;
use crate::run::{Mode, Run, have, skip};
use crate::scratch::Scratch;

/// The loader of this machine, which replaces `LD` in rows.
const LOADER: &str = if cfg!(target_arch = "aarch64") {
    "/lib/ld-linux-aarch64.so.1"
} else {
    "/lib64/ld-linux-x86-64.so.2"
};

/// A file `ro/echo` that may be read but not executed, a copy of the loader, and a script for it.
const SETUP: &str = "mkdir -p ro $OUT/data; for to in ro echo $OUT/data; do cp /bin/echo $to; done; ln -s ro way; \
    cp $LD loader; ln -s $LD named; printf '#!%s ./ro/echo\n' $LD >EXECUTED; printf '#!%s\n' $LD >plain; \
    chmod 755 EXECUTED plain";

/// Calls that start `ro/echo` bare.
const DENIED: &[&str] = &[
    "exec LD ./ro/echo EXECUTED",
    "exec LD ro/echo EXECUTED",
    "exec LD $WS/ro/echo EXECUTED",
    "exec LD ./way/echo EXECUTED",
    "exec LD bin/../ro/echo EXECUTED",
    "exec_held LD ./ro/echo EXECUTED",
    "exec_called ldd LD ./ro/echo EXECUTED",
    "exec_called ./echo LD ./ro/echo EXECUTED",
    "spawn LD ./ro/echo EXECUTED",
    "execvp LD ./ro/echo EXECUTED",
    "exec_self exec LD ./ro/echo EXECUTED",
    "exec LD --argv0 --list ./ro/echo EXECUTED",
    "exec LD --argv0 ./echo ./ro/echo EXECUTED",
    "exec LD --inhibit-cache --library-path /nowhere ./ro/echo EXECUTED",
    "exec LD --preload libm.so.6 --inhibit-rpath a ./ro/echo EXECUTED",
    "exec LD --library-path ./ro echo EXECUTED",
    "exec ./loader ./ro/echo EXECUTED",
    "exec ./named ./ro/echo EXECUTED",
    "exec ./EXECUTED",
];

/// Calls that still work, and what they print.
const ALLOWED: &[(&str, &str)] = &[
    ("exec LD ./echo EXECUTED", "EXECUTED"),
    ("exec LD /bin/echo EXECUTED", "EXECUTED"),
    ("exec LD --argv0 a --inhibit-cache ./echo EXECUTED", "EXECUTED"),
    ("exec ./loader ./echo EXECUTED", "EXECUTED"),
    ("spawn LD --list ./ro/echo", "libc.so"),
    ("exec LD --list --argv0 ./a ro/echo", "libc.so"),
    ("exec LD --version", "ld.so"),
    ("exec ./echo EXECUTED", "EXECUTED"),
];

/// Policies under which nobody may execute `ro/echo`.
const POLICIES: &[&[&str]] =
    &[&[". r w x", "ro r"], &[". r x", "bin r x", "ro r w"], &[". x r", "ro r", "ro/echo r u"]];

fn tree(linking: Linking) -> Scratch {
    let scratch = arena_with(linking, Scratch::new());
    set_up(&scratch, &SETUP.replace("$LD", LOADER));
    scratch
}

/// Runs the calls, and compares the beginnings of their output.
fn assert_rows(scratch: &Scratch, flags: &str, rows: &[(&str, &str)]) {
    let flags = scratch.expand(flags);
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let lines: Vec<String> =
        rows.iter().map(|(line, _)| scratch.expand(&line.replace("LD", LOADER))).collect();
    let run = |script: &str| Run::sh(scratch, script).flags(&flags).run();
    let (seen, outcome) = answers(lines.iter().map(String::as_str), run);
    for ((line, expected), seen) in lines.iter().zip(rows.iter().map(|row| row.1)).zip(&seen) {
        let is_expected =
            if expected == "EACCES" { seen == expected } else { seen.contains(expected) };
        assert!(is_expected, "{line}: {seen:?}, not {expected}: {outcome}");
    }
    assert_eq!(seen.len(), rows.len(), "{outcome}");
}

#[apply(row!)]
fn a_loader_starts_no_file_that_may_only_be_read() {
    let rows: Vec<_> = DENIED.iter().map(|line| (*line, "EACCES")).collect();
    for &linking in linkings() {
        let scratch = tree(linking);
        for policy in POLICIES {
            let text: String = policy.iter().map(|line| rule(line)).collect();
            scratch.write("policy.toml", &text);
            let flags = format!("-p {}", scratch.path("policy.toml").display());
            assert_rows(&scratch, &flags, &rows);
        }
        let outside = [("exec LD $OUT/data/echo EXECUTED", "EACCES")];
        assert_rows(&scratch, "-r $OUT/data", &outside);
        assert_rows(&scratch, "-w $OUT", &outside);
    }
}

/// Without confinement, each row starts the program. With it, programs that may be executed start.
#[apply(row!)]
fn a_loader_starts_everything_else() {
    let scratch = tree(Linking::Dynamic);
    let lines: Vec<String> =
        DENIED.iter().map(|line| scratch.expand(&line.replace("LD", LOADER))).collect();
    let bare = |script: &str| Run::sh(&scratch, script).mode(Mode::Bare).run();
    let (seen, outcome) = answers(lines.iter().map(String::as_str), bare);
    for (line, seen) in lines.iter().zip(&seen) {
        // Some loaders do not look for programs where they look for libraries.
        assert!(
            seen.contains("EXECUTED") || line.contains("./ro echo"),
            "{line}: {seen}: {outcome}"
        );
    }
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no loader");
    }
    let denied = [("exec LD ./ro/echo EXECUTED", "EACCES")];
    let rows = [ALLOWED, &denied].concat();
    for &linking in linkings() {
        let scratch = tree(linking);
        scratch.write("policy.toml", &[rule(". r w x"), rule("ro r")].concat());
        let flags = format!("-p {}", scratch.path("policy.toml").display());
        assert_rows(&scratch, &flags, &rows);
        // ldd(1) sets a variable that has the loader print.
        let flags: Vec<&str> = flags.split_whitespace().collect();
        Run::sh(&scratch, "ldd ro/echo").flags(&flags).run().assert_stdout("libc.so");
    }
}

/// The report names the program and the option that would let it start.
#[apply(row!)]
fn who_is_denied_is_told_what_to_type() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no loader");
    }
    let scratch = tree(Linking::Dynamic);
    scratch.write("policy.toml", &[rule(". r w x"), rule("ro r")].concat());
    let policy = scratch.path("policy.toml");
    let flags = ["-p", policy.to_str().expect("UTF-8")];
    let run = Run::sh(&scratch, &format!("{LOADER} ./ro/echo EXECUTED")).flags(&flags).run();
    run.assert_stderr("denied execute ro/echo").assert_stderr("-x ");
    assert!(!run.stdout.contains("EXECUTED"), "{run}");
    let run = Run::sh(&scratch, &format!("{LOADER} --unknown ./echo EXECUTED")).flags(&flags).run();
    run.assert_stderr("start that itself");
    let run = Run::new(&scratch, LOADER, &["./ro/echo", "EXECUTED"]).flags(&flags).run();
    run.assert_code(126).assert_stderr("denied execute ro/echo").assert_stderr("-x ");
    let run = Run::new(&scratch, LOADER, &["--unknown", "./echo"]).flags(&flags).run();
    run.assert_code(126).assert_stderr("start that itself");
    Run::new(&scratch, LOADER, &["./echo", "EXECUTED"])
        .flags(&flags)
        .run()
        .assert_stdout("EXECUTED");
}

/// musl's library is its loader.
#[apply(row!)]
fn the_loader_of_musl() {
    let musl = format!("/lib/ld-musl-{}.so.1", std::env::consts::ARCH);
    if !have("musl-gcc") || !std::path::Path::new(&musl).exists() {
        return skip("no musl");
    }
    let scratch = tree(Linking::Dynamic);
    set_up(
        &scratch,
        "printf '#include <stdio.h>\nint main() { puts(\"EXECUTED\"); }' >m.c; musl-gcc -o ro/m m.c; cp ro/m .",
    );
    scratch.write("policy.toml", &[rule(". r w x"), rule("ro r")].concat());
    let flags = format!("-p {}", scratch.path("policy.toml").display());
    let denied = ["./ro/m", "--argv0=--list ./ro/m", "--preload=/nowhere ./ro/m", "-- ./ro/m"];
    let lines: Vec<String> = denied.iter().map(|words| format!("exec {musl} {words}")).collect();
    let rows: Vec<(&str, &str)> = lines.iter().map(|line| (line.as_str(), "EACCES")).collect();
    assert_rows(&scratch, &flags, &rows);
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no loader");
    }
    let lines = [
        format!("exec {musl} ./m"),
        format!("exec {musl} m"),
        format!("exec {musl} --list ./ro/m"),
    ];
    let rows: Vec<(&str, &str)> =
        lines.iter().map(String::as_str).zip(["EXECUTED", "EXECUTED", "musl"]).collect();
    assert_rows(&scratch, &flags, &rows);
}
