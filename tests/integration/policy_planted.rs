//! Entries that a run creates must not widen the next run, such as a symlink in the place of a grant.

use std::fs;
use std::os::unix::fs::symlink;

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::run::{Mode, Outcome, Run};
use crate::scratch::Scratch;

/// Runs `script` confined with these options in an arena without policy files.
fn run(scratch: &Scratch, options: &[&str], script: &str) -> Outcome {
    let options: Vec<String> = options.iter().map(|option| scratch.expand(option)).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Run::sh(scratch, &scratch.expand(script)).flags(&options).mode(Mode::under_test()).run()
}

/// A run creates a symlink where it may, and a second run has the same options. Checks what that run may not do, and
/// the message.
fn planted(options: &[&str], plant: &str, escape: &str, told: &str) {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("home/.local/share/uv")).expect("a folder");
    fs::create_dir_all(scratch.path("ws/made")).expect("a folder");
    let before = scratch.forbidden();
    run(&scratch, options, plant);
    let outcome = run(&scratch, options, &format!("{escape}; echo end"));
    assert!(!outcome.stdout.contains("escaped"), "{options:?}: {outcome}");
    outcome.assert_no_secret().assert_stderr(&scratch.expand(told));
    scratch.assert_nothing_leaked();
    before.assert_same(&scratch.forbidden());
}

#[apply(row!)]
fn typed_paths_do_not_follow_links_that_programs_make() {
    let read = "cat $OUT/secret && echo escaped";
    let write = "echo new > $OUT/target && echo escaped";
    for (option, path, plant, link) in [
        ("-w", "made", "rmdir made && ln -s $OUT made", "made"),
        ("-w", "new", "ln -s $OUT/target new", "new"),
        ("-r", "new/secret", "ln -s $OUT new", "new"),
        ("-x", "made/in", "rmdir made && ln -s $OUT made", "made"),
    ] {
        let told = format!("{option} {path}: $WS/{link} is a link to $OUT");
        planted(&["-w", ".", option, path], plant, read, &told);
        planted(&["-w", ".", option, path], plant, write, &told);
    }
}

#[apply(row!)]
fn profiles_do_not_follow_links_that_programs_make() {
    planted(
        &["--profile", "python", "-w", "$HOME/.local/share/uv"],
        "ln -s $OUT $HOME/.local/share/uv/tools",
        "cat $OUT/secret && echo escaped",
        "uv/tools}: $HOME/.local/share/uv/tools is a link to $OUT",
    );
}

#[apply(row!)]
fn patterns_do_not_follow_links_that_programs_make() {
    let scratch = Scratch::new();
    let own = "[file_policy]\nwrite_paths = ['~/made', '~/made/**']\n";
    scratch.write("home/.config/jp-confine/config.toml", own);
    fs::create_dir(scratch.path("home/made")).expect("a folder");
    run(&scratch, &[], "rmdir $HOME/made && ln -s $OUT $HOME/made");
    let outcome =
        run(&scratch, &[], "cat $OUT/secret; cat $HOME/made/secret; echo new > $OUT/target");
    outcome.assert_no_secret().assert_stderr("made is a link that what runs here could have made");
    scratch.assert_nothing_leaked();
}

/// If a pattern allows only reading, it also restricts the target of a symlink, even one that programs could replace.
#[apply(row!)]
fn patterns_restrict_where_links_lead_that_programs_make() {
    let scratch = Scratch::new();
    scratch.write("ws/real/f", "before\n");
    symlink("real", scratch.path("ws/in")).expect("a link");
    let own = "[file_policy]\nread_paths = ['<workspace>/in/**']\n";
    scratch.write("home/.config/jp-confine/config.toml", own);
    let outcome = run(&scratch, &[], "cat in/f; echo new >> in/f; echo new >> real/f");
    outcome.assert_stderr("could have made: its target is only restricted");
    assert_eq!(fs::read_to_string(scratch.path("ws/real/f")).expect("a file"), "before\n");
    assert!(outcome.stdout.starts_with("before\n"), "{outcome}");
}

/// Symlinks that programs cannot create are followed, and so are those that lead to granted paths.
#[apply(row!)]
fn other_links_are_followed() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("elsewhere")).expect("a folder");
    fs::create_dir(scratch.path("ws/inside")).expect("a folder");
    scratch.write("out/plain", "plain\n");
    symlink(scratch.out(), scratch.path("elsewhere/link")).expect("a link");
    symlink("inside", scratch.path("ws/near")).expect("a link");
    let elsewhere = scratch.path("elsewhere/link").display().to_string();
    let confined = |options: &[&str], script: &str| {
        let outcome = run(&scratch, options, &format!("cat $OUT/secret; {script}"));
        outcome.assert_no_secret();
        outcome.stdout
    };
    let plain = format!("{elsewhere}/plain");
    assert_eq!(confined(&["-r", &plain], "cat $OUT/plain"), "plain\n");
    assert_eq!(
        confined(&["-w", &format!("{elsewhere}/in")], "echo in > $OUT/in; cat $OUT/in"),
        "in\n"
    );
    assert_eq!(confined(&["-w", ".", "-r", "near"], "echo near > near/a; cat inside/a"), "near\n");
}
