//! `man` and `completions`: whole, and without a workspace.

use std::path::Path;

use crate::cli_status::product;
use crate::run::{Run, have, skip};
use crate::scratch::Scratch;

#[test]
fn the_manual_page_has_its_sections() {
    let scratch = Scratch::new();
    let run = product(&scratch, &["man"]).cwd(Path::new("/")).run();
    let page = &run.assert_ok().stdout;
    for section in [
        "NAME",
        "SYNOPSIS",
        "OPTIONS",
        "COMMANDS",
        "EXIT STATUS",
        "FILES",
        "ENVIRONMENT",
        "EXAMPLES",
    ] {
        let heading = |line: &str| {
            line.strip_prefix(".SH ").is_some_and(|it| it.trim_matches('"') == section)
        };
        assert!(page.lines().any(heading), "no {section}: {run}");
    }
    for command in ["authorize", "check", "completions", "doctor", "explain", "init"] {
        assert!(page.contains(&format!("\\fB{command}\\fR")), "no {command}: {run}");
    }
}

#[test]
fn completions_are_scripts_of_the_shell() {
    let scratch = Scratch::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = product(&scratch, &["completions", shell]).cwd(Path::new("/")).run();
        run.assert_ok().assert_stdout("authorize");
        if shell == "bash" && have("bash") {
            scratch.write("script", &run.stdout);
            let script = scratch.path("script");
            let script = script.to_str().expect("UTF-8");
            Run::new(&scratch, "bash", &["-n", script])
                .mode(crate::run::Mode::Bare)
                .run()
                .assert_ok();
        } else if shell == "bash" {
            skip("no bash");
        }
    }
    product(&scratch, &["completions", "csh"]).run().assert_code(125).assert_stderr("bash");
}
