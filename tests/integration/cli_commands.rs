//! The commands that a person types to look around: `profiles`, `shell`, `help`, and what a wrong word is told.

use std::fs;

use crate::attack::set_up;
use crate::cli_status::product;
use crate::run::given;
use crate::scratch::Scratch;
use crate::terminal::Terminal;

#[test]
fn profiles_are_listed_and_shown() {
    let scratch = Scratch::new();
    let own = "[profiles.mine]\nread = ['~/notes'] # all of them\n";
    scratch.write("home/.config/jp-confine/config.toml", own);
    let list = product(&scratch, &["profiles", "list"]).run();
    list.assert_ok().assert_stdout("rust: cargo, rustc,").assert_stdout("claude: claude");
    list.assert_stdout("mine, your own: by --profile mine\n");
    let json = product(&scratch, &["profiles", "list", "--json"]).run();
    let json: serde_json::Value = serde_json::from_str(&json.assert_ok().stdout).expect("JSON");
    assert!(json.as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "pi")), "{json}");
    let rust = product(&scratch, &["profiles", "show", "rust"]).run();
    rust.assert_ok().assert_stdout("exec = [\"${RUSTUP_HOME:-~/.rustup}\"");
    product(&scratch, &["profiles", "show", "mine"]).run().assert_ok().assert_stdout("'~/notes'");
    let wrong = product(&scratch, &["profiles", "show", "rusty"]).run();
    wrong.assert_code(125).assert_stderr("rust");
}

/// The prompt says that the shell is confined, and the shell is.
#[test]
fn a_shell_says_that_it_is_confined() {
    for shell in ["bash", "sh"] {
        let Some(scratch) = given(&["script", shell], Scratch::new) else { return };
        fs::write(scratch.ws().join("secret"), "TOPSECRET").expect("written");
        let run = product(&scratch, &["--deny", "secret", "shell"]);
        let mut terminal = Terminal::start(&run.env("SHELL", &format!("/bin/{shell}")));
        terminal.see("(confined) ");
        terminal.keys("cat secret\n");
        terminal.see("Permission denied");
        terminal.keys("exit\n");
        terminal.end();
        assert!(!terminal.screen().contains("TOPSECRET"), "{}", terminal.screen());
    }
    let scratch = Scratch::new();
    let run = product(&scratch, &["shell", "--", "-c", "exit 3"]).env("SHELL", "/bin/sh").run();
    run.assert_code(3);
}

/// Every line below "60 seconds" in the README does what it says, in a project that has what the line names.
#[test]
fn the_readme_s_first_minute() {
    let (_, rest) =
        include_str!("../../README.md").split_once("## 60 seconds\n\n```\n").expect("a block");
    let (block, _) = rest.split_once("\n```").expect("its end");
    let Some(scratch) = given(&["make", "git", "python3"], Scratch::new) else { return };
    scratch.write("home/data/numbers", "1 2 3");
    scratch.write("ws/job.py", "import os; open(os.path.expanduser('~/data/numbers'))");
    scratch.write("ws/Makefile", "all test:\n\techo made > out\n");
    scratch.write("ws/.env", "KEY=1");
    set_up(&scratch, "git init -q --bare up; git init -q; git remote add origin ./up");
    for line in block.lines() {
        let (command, _) = line.split_once("   ").expect("a command and what it is for");
        let line = scratch.expand(&command.replace('~', "$HOME"));
        let (product_name, words) = line.split_once(' ').expect("words");
        assert_eq!(product_name, "jp-confine");
        let words: Vec<&str> = words.split(' ').collect();
        product(&scratch, &words).run().assert_ok();
    }
    assert!(scratch.read("ws/jp-confine.learned.toml").contains("read = true"), "{block}");
}

/// `-h` of a command shows its own options and an example. `--help` and `help` show all.
#[test]
fn help_of_a_command_is_short() {
    let scratch = Scratch::new();
    for command in [
        "allow",
        "approvals",
        "approvals list",
        "approvals approve",
        "approvals revoke",
        "authorize",
        "cache",
        "cache list",
        "cache clear",
        "check",
        "compile",
        "completions",
        "doctor",
        "explain",
        "init",
        "learn",
        "man",
        "mcp",
        "mounts",
        "mounts add",
        "mounts remove",
        "plan",
        "profiles",
        "profiles list",
        "profiles show",
        "serve",
        "shell",
        "status",
        "vfs",
        "why",
    ] {
        let help = |option| {
            let words: Vec<&str> = command.split(' ').chain([option]).collect();
            product(&scratch, &words).run()
        };
        let short = help("-h");
        let lines = short.assert_ok().stdout.lines().count();
        assert!(lines <= 25, "{command}: {lines} lines: {short}");
        assert!(short.stdout.contains("Example: "), "{short}");
        assert!(!short.stdout.contains("--no-baseline"), "{short}");
        help("--help").assert_ok().assert_stdout("--no-baseline");
    }
    product(&scratch, &["help", "allow"]).run().assert_ok().assert_stdout("--all");
    product(&scratch, &["-h"])
        .run()
        .assert_ok()
        .assert_stdout("Example: jp-confine -- cargo build\n");
}

/// A wrong word is told in two lines what may be meant.
#[test]
fn wrong_words_are_told_what_may_be_meant() {
    let scratch = Scratch::new();
    for (words, mistake, meant) in [
        (&["chek", "read", "x"][..], "unexpected argument 'chek'", "jp-confine check"),
        (&["--reed", "x", "--", "true"], "unexpected argument '--reed'", "'--read'"),
        (&["check", "fly", "x"], "invalid value 'fly'", "jp-confine"),
        (&["ls", "x"], "unexpected argument 'ls'", "jp-confine -- ls"),
        (&["allow", "x"], "invalid value 'x'", "jp-confine -h"),
        (&["profiles", "show", "rsut"], "no profile `rsut`", "did you mean `rust`"),
    ] {
        let told = product(&scratch, words).run();
        let told = told.assert_code(125).stderr.clone();
        assert!(told.contains(mistake) && told.contains(meant), "{words:?}: {told}");
        assert!(told.lines().count() <= 2, "{words:?}: {told}");
    }
}

/// `--color` outweighs the variables, and these what the output is.
#[test]
fn colours_are_as_they_are_wanted() {
    let scratch = Scratch::new();
    for (options, variable, is_coloured) in [
        (&[][..], "NO_COLOR", false),
        (&[], "CLICOLOR_FORCE", true),
        (&["--color=always"], "NO_COLOR", true),
        (&["--color=never"], "CLICOLOR_FORCE", false),
    ] {
        let words = [options, &["-p", "missing", "compile"]].concat();
        let told = product(&scratch, &words).env(variable, "1").run();
        assert_eq!(told.stderr.contains("\x1b["), is_coloured, "{options:?} {variable}: {told}");
    }
}

/// A host is asked about as `--net` takes it.
#[test]
fn hosts_are_checked_as_they_are_typed() {
    let scratch = Scratch::new();
    for (target, code) in [
        ("github.com", 0),
        ("https://github.com/x", 0),
        ("github.com:443", 0),
        ("github.com:22", 1),
        ("other.test", 1),
        ("no host", 125),
    ] {
        let told = product(&scratch, &["--net", "github.com", "check", "net", target]).run();
        told.assert_code(code);
    }
}
