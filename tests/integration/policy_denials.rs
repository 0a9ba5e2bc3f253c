//! `--deny` denies its path and all below, the workspace too. Only deeper grants of the same command line are excepted.

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::policy_rules::assert_answers;

const SETUP: &str = "mkdir -p sub/deep dir/in; for f in sub sub/deep dir dir/in; do echo x >$f/f; done; \
    ln -s $OUT link; ln -s .. up; ln -s sub way";

/// A denial above the workspace covers the workspace, however it is spelled.
#[apply(row!)]
fn above_the_workspace() {
    let rows = &[
        ("open file", "EACCES"),
        ("open sub/f", "EACCES"),
        ("creat new", "EACCES"),
        ("mkdir sub/new", "EACCES"),
        ("unlink file", "EACCES"),
        ("rename file bin/file", "EACCES"),
        ("exec up/ws/sub/f", "EACCES"),
        ("open bin/attack", "ok"),
        ("creat bin/new", "EACCES"),
        ("open $OUT/secret", "EACCES"),
    ];
    for denied in ["..", "$WS/..", "$OUT/..", "link/..", "up", "../ws/../../", "/"] {
        let flags = format!("--deny {denied} -x bin -x /usr -x /lib -x /lib64");
        let lib = std::path::Path::new("/lib64").exists();
        assert_answers(
            SETUP,
            &[],
            if lib { &flags } else { flags.trim_end_matches(" -x /lib64") },
            rows,
        );
    }
}

/// Rules in files count no more than the workspace itself.
#[apply(row!)]
fn above_rules() {
    let rules = &["dir r w x", "sub r w", "sub/deep nothing"];
    let rows = &[("open dir/in/f", "EACCES"), ("open sub/f", "EACCES"), ("creat dir/n", "EACCES")];
    assert_answers(SETUP, rules, "--deny .. -x bin", rows);
    assert_answers(SETUP, rules, "--deny . -x bin", rows);
}

/// A deeper grant on the command line grants what it says and no more. Rules there still narrow it.
#[apply(row!)]
fn less_what_is_granted_deeper() {
    let rows = &[
        ("open sub/f", "ok"),
        ("open way/deep/f", "ok"),
        ("write sub/f", "EACCES"),
        ("creat sub/deep/new", "EACCES"),
        ("exec sub/f", "EACCES"),
        ("open file", "EACCES"),
        ("open dir/in/f", "EACCES"),
    ];
    for flags in
        ["--deny . -r ./sub", "--deny .. -r sub", "-r way --deny up", "--deny / -r sub -x /usr"]
    {
        assert_answers(SETUP, &[], &format!("{flags} -x bin"), rows);
    }
    let rules = &[". r w x", "sub r w", "sub/deep nothing", "dir r", "dir/in u"];
    let rows = &[
        ("open sub/f", "ok"),
        ("write sub/f", "EACCES"),
        ("open sub/deep/f", "EACCES"),
        ("write dir/in/f", "ok"),
        ("open dir/in/f", "EACCES"),
        ("creat dir/in/new", "EACCES"),
        ("open file", "EACCES"),
    ];
    assert_answers(SETUP, rules, "--deny .. -r sub -w dir -x bin", rows);
    let rows = &[("open dir/in/f", "EACCES"), ("write dir/in/f", "EACCES"), ("open dir/f", "ok")];
    assert_answers(SETUP, rules, "--deny .. -r dir -x bin", rows);
    let rows = &[
        ("creat new", "ok"),
        ("open sub/f", "EACCES"),
        ("open sub/deep/f", "ok"),
        ("creat sub/deep/new", "EACCES"),
        ("open $OUT/dir/inner", "EACCES"),
    ];
    assert_answers(SETUP, &[], "--deny .. -w . -x . --deny sub -r sub/deep", rows);
    assert_answers(SETUP, &[], "-r sub/deep --deny sub -x . -w . --deny $OUT/..", rows);
}

/// The home, grants of profiles in it, and the system's own directories.
#[apply(row!)]
fn above_what_is_ready_made() {
    let setup = "touch $HOME/.gitconfig; mkdir -p $HOME/x $HOME/y; touch $HOME/x/f $HOME/y/f";
    assert_answers(setup, &[], "", &[("open $HOME/.gitconfig", "ok")]);
    let rows = &[
        ("open $HOME/.gitconfig", "EACCES"),
        ("open $HOME/y/f", "EACCES"),
        ("open $HOME/x/f", "ok"),
        ("creat $HOME/x/new", "ok"),
        ("open file", "ok"),
    ];
    assert_answers(setup, &[], "--deny $HOME -w $HOME/x", rows);
    let rows = &[
        ("open /etc/passwd", "ok"),
        ("open /etc/shadow", "EACCES"),
        ("open /etc/gshadow", "EACCES"),
        ("write /dev/null", "EACCES"),
        ("open /proc/version", "EACCES"),
        ("open file", "EACCES"),
        ("open /usr/bin/env", "ok"),
    ];
    assert_answers(setup, &[], "--deny / -r /etc -x /usr -x bin", rows);
    assert_answers(
        setup,
        &[],
        "--deny / -w /dev/null -x /usr -x bin",
        &[("write /dev/null", "ok")],
    );
}

/// A mount on the same command line is granted, too.
#[apply(row!)]
fn above_a_mount() {
    let rows =
        &[("open fork/inner", "ok"), ("creat fork/new", "EACCES"), ("open $OUT/secret", "EACCES")];
    assert_answers("", &[], "--non-interactive --deny $OUT --mount fork=$OUT/dir", rows);
    let rows = &[("open fork/inner", "EACCES")];
    assert_answers("", &[], "--non-interactive --deny $OUT/dir --mount fork=$OUT/dir", rows);
    assert_answers("", &[], "--non-interactive --mount fork=$OUT/dir --deny fork/inner", rows);
}

/// Neither a pattern nor an auto-run file lifts a denial. A grant below a denial lifts neither of the two.
#[apply(row!)]
fn beside_patterns_and_auto_run_files() {
    let config = "mkdir -p .vscode $HOME/.config/jp-confine; cat >$HOME/.config/jp-confine/config.toml <<END\n\
        [file_policy]\ndeny_paths = ['<workspace>/sub/deep/**']\nprompt_paths = ['<workspace>/dir/**']\n\
        write_paths = ['$OUT/**']\nEND\n";
    let setup = format!("{config}{SETUP}");
    assert_answers(&setup, &[], "", &[("open $OUT/secret", "ok")]);
    let rows = &[
        ("open $OUT/secret", "EACCES"),
        ("creat $OUT/new", "EACCES"),
        ("open sub/f", "ok"),
        ("open sub/deep/f", "EACCES"),
        ("open dir/f", "EACCES"),
    ];
    assert_answers(&setup, &[], "--deny .. -r sub -x bin", rows);
    let rows = &[
        ("creat new", "ok"),
        ("creat .vscode/tasks.json", "EACCES"),
        ("creat sub/deep/new", "EACCES"),
        ("open dir/f", "EACCES"),
    ];
    assert_answers(&setup, &[], "--non-interactive --deny .. -w . -x .", rows);
}
