//! `man` and `completions`: complete, and without a workspace.

use std::path::Path;

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, given};
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
    for option in ["force", "json", "last", "html"] {
        assert!(page.contains(&format!("\\-\\-{option}")), "no {option}: {run}");
    }
}

/// A person can type the commands in the manual page as they are.
#[test]
fn the_manual_page_is_installed_as_it_says() {
    let scratch = Scratch::new();
    let page = product(&scratch, &["man"]).run();
    let plain = page.assert_ok().stdout.replace("\\-", "-").replace("\\fR", "");
    let typed = plain.lines().filter_map(|line| line.strip_prefix("\\fB"));
    let lines: Vec<&str> = typed.filter(|line| line.starts_with("mkdir -p ~")).collect();
    assert_eq!(lines.len(), 3, "{page}");
    for line in lines {
        let (_, place) = line.rsplit_once("> ~/").expect("where to");
        let script = line.replace("jp-confine man", "$J man").replace("jp-confine comp", "$J comp");
        let shell = Run::new(&scratch, "sh", &["-c", &script]).env("J", PRODUCT).mode(Mode::Bare);
        shell.run().assert_ok();
        assert!(!scratch.read(&format!("home/{place}")).is_empty(), "{script}");
    }
}

#[test]
fn completions_are_scripts_of_the_shell() {
    let scratch = Scratch::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = product(&scratch, &["completions", shell]).cwd(Path::new("/")).run();
        run.assert_ok().assert_stdout("authorize");
        for internal in ["-hosted", "-service"] {
            assert!(!run.stdout.contains(internal), "{shell} offers {internal}");
        }
    }
    product(&scratch, &["completions", "csh"]).run().assert_code(125).assert_stderr("bash");
}

#[test]
fn subcommands_are_completed() {
    let Some(scratch) = given(&["bash"], Scratch::new) else { return };
    let run = product(&scratch, &["completions", "bash"]).run();
    scratch.write("script", &run.assert_ok().stdout);
    // Calls the function that bash calls for a line that ends in the last of these words.
    let script = r#". "$0"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        complete=($(complete -p jp-confine))
        while [ "${complete[0]}" != -F ]; do complete=("${complete[@]:1}"); done
        "${complete[1]}" jp-confine "${@: -1}" "${@: -2:1}"
        echo " ${COMPREPLY[*]} ""#;
    let file = scratch.path("script");
    let file = file.to_str().expect("UTF-8");
    for (words, offered) in [
        (&["appr"][..], " approvals "),
        (&["approvals", ""], " list approve revoke "),
        (&["approvals", "list", "--js"], " --json "),
        (&["-q", "learn", "--ht"], " --html "),
        (&["-q", "check", ""], " read create update delete execute net env command "),
        (&["--enforce", "s"], " strict "),
        (&["completions", "f"], " fish "),
        (
            &["--profile", ""],
            " c git go java node python rust aider claude codex copilot gemini opencode pi none ",
        ),
        (&["--net-preset", "cra"], " crates "),
        // The shell itself completes names of files.
        (&["--deny", "scri"], "  "),
        (&["explain", ""], "  "),
        (&["check", "read", ""], "  "),
        (&["-q", "--", "mkfif"], " mkfifo"),
        // The command to be started is not asked what it can do.
        (&["--", "check", "re"], "  "),
    ] {
        let line = [&["-c", script, file, "jp-confine"], words].concat();
        Run::new(&scratch, "bash", &line).mode(Mode::Bare).run().assert_ok().assert_stdout(offered);
    }
}

#[test]
fn fish_completes_values_and_programs() {
    let Some(scratch) = given(&["fish"], Scratch::new) else { return };
    let run = product(&scratch, &["completions", "fish"]).run();
    scratch.write("script", &run.assert_ok().stdout);
    let file = scratch.path("script");
    for (line, offered) in [
        ("--enforce st", "strict"),
        ("check re", "read"),
        ("completions fi", "fish"),
        ("--profile ru", "rust"),
        ("learn -- mkfif", "mkfifo"),
        ("-q -- chec", ""),
        ("approvals li", "list"),
    ] {
        let script = format!("source {}; complete -C 'jp-confine {line}'", file.display());
        let run = Run::new(&scratch, "fish", &["--no-config", "-c", &script]).mode(Mode::Bare);
        let run = run.run();
        let words: Vec<&str> =
            run.assert_ok().stdout.lines().filter_map(|line| line.split('\t').next()).collect();
        let is_offered = words.contains(&offered);
        assert!(is_offered || offered.is_empty() && !words.contains(&"check"), "{line}: {run}");
    }
}

#[test]
fn zsh_hands_on_what_is_behind_the_dashes() {
    let run = product(&Scratch::new(), &["completions", "zsh"]).run();
    assert!(!run.stdout.contains("]:["), "zsh would run what it takes for a name: {run}");
    run.assert_stdout("_jp-confine() {\n    local at=").assert_stdout("        _normal\n");
    run.assert_stdout(":(read create update delete execute net env command)'");
    let agents = "aider claude codex copilot gemini opencode pi";
    run.assert_stdout(&format!(":NAME:(c git go java node python rust {agents} none)'"));
}
