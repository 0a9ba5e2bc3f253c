//! Directories on the user's `PATH`: a run cannot plant commands there. Only a grant on exactly such a directory allows
//! it.

use std::fs;
use std::os::unix::fs::symlink;

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::run::{Mode, Outcome, Run};
use crate::scratch::Scratch;

/// Directories of ordinary programs.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs a script with these directories of the home in front of `PATH`.
fn run(scratch: &Scratch, directories: &[&str], flags: &[&str], script: &str) -> Outcome {
    let home = scratch.home();
    let named = directories.iter().map(|name| home.join(name).display().to_string());
    let path = named.chain([SYSTEM.to_owned()]).collect::<Vec<_>>().join(":");
    let flags: Vec<String> = flags.iter().map(|flag| scratch.expand(flag)).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Run::sh(scratch, script).env("PATH", &path).flags(&flags).run()
}

/// A grant on a directory above, and ways to put `git` into a directory of `PATH`.
#[apply(row!)]
fn a_wide_grant_plants_no_command() {
    for (directory, script) in [
        ("tools/bin", "echo evil > ~/tools/bin/git"),
        ("tools/bin", "mkdir ~/tools/bin/new && echo evil > ~/tools/bin/new/git"),
        ("tools/bin", "echo evil > git; mv git ~/tools/bin/git"),
        ("tools/bin", "echo evil > git; ln git ~/tools/bin/git"),
        ("tools/bin", "ln -s $PWD/git ~/tools/bin/git"),
        ("tools/bin", "rm ~/tools/bin/there"),
        ("tools/bin", "echo more >> ~/tools/bin/there"),
        ("tools/bin", "chmod 700 ~/tools/bin/there"),
        ("missing/bin", "mkdir -p ~/missing/bin && echo evil > ~/missing/bin/git"),
        ("missing/bin", "mkdir -p x/bin && echo evil > x/bin/git && mv -T x ~/missing"),
        ("missing/bin", "mkdir -p x/bin && echo evil > x/bin/git && ln -sT $PWD/x ~/missing"),
        ("missing/bin", "mkdir -p x ~/missing && echo evil > x/git && mv -T x ~/missing/bin"),
        ("by-link", "echo evil > ~/real/git"),
        ("by-link", "echo evil > ~/by-link/git"),
    ] {
        let scratch = Scratch::new();
        for name in ["tools/bin", "real"] {
            fs::create_dir_all(scratch.home().join(name)).expect("directories");
        }
        scratch.write("home/tools/bin/there", "there\n");
        symlink(scratch.home().join("real"), scratch.home().join("by-link")).expect("a link");
        let run = run(&scratch, &[directory], &["-w", "$HOME"], script);
        for place in ["tools/bin/git", "tools/bin/new/git", "missing/bin/git", "real/git"] {
            let planted = scratch.home().join(place);
            assert!(planted.symlink_metadata().is_err(), "{place}: {run}");
        }
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert_eq!(scratch.read("home/tools/bin/there"), "there\n", "{run}");
    }
}

/// A profile that grants the directory above does not allow it either.
#[apply(row!)]
fn a_profile_plants_no_command() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join(".npm/bin")).expect("directories");
    let run = run(&scratch, &[".npm/bin"], &["--profile=node"], "echo evil > ~/.npm/bin/git");
    assert!(!scratch.home().join(".npm/bin/git").exists(), "{run}");
}

#[apply(row!)]
fn a_grant_of_exactly_that_does() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join("tools/bin")).expect("directories");
    let script = "echo meant > ~/tools/bin/git && echo x > ~/beside";
    let run = run(&scratch, &["tools/bin"], &["-w", "$HOME", "-w", "$HOME/tools/bin"], script);
    run.assert_ok();
    assert_eq!(scratch.read("home/tools/bin/git"), "meant\n");
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}

/// `npm run` and an activated environment put such directories of the project on `PATH`.
#[apply(row!)]
fn commands_of_the_project_are_the_project_s() {
    let scratch = Scratch::new();
    let script = "mkdir -p node_modules/.bin .venv/bin && echo x > node_modules/.bin/tsc && echo x > .venv/bin/pip";
    let own = ["../ws/node_modules/.bin", "../ws/.venv/bin"];
    // Before the directories exist, and after.
    for _ in 0..2 {
        run(&scratch, &own, &[], script).assert_ok();
        assert!(scratch.ws().join(".venv/bin/pip").exists());
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}
