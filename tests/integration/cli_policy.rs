//! `check`, `explain`, `compile`, `--dry-run`, and the messages about a wrong policy file.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cli_status::product;
use crate::run::{Mode, Outcome, PRODUCT, Run, skip};
use crate::scratch::Scratch;

const POLICY: &str = "[[access.fs]]\npath = '.'\nread = true\n\n[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n";

fn workspace() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", POLICY);
    scratch
}

fn json(run: &Outcome) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

#[test]
fn check_says_one_line_for_each_path() {
    let scratch = workspace();
    let run = product(&scratch, &["check", "read", "file", "dir/new"]).run();
    run.assert_ok();
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
    let run = product(&scratch, &["check", "update", "file", "dir/new"]).run();
    run.assert_code(1).assert_stdout("update");
    product(&scratch, &["check", "read", "../out/secret"]).run().assert_code(1);
    let run = product(&scratch, &["check", "update", "fi\nle\u{1b}[1m"]).run();
    assert!(run.code() == 1 && run.stdout.lines().count() == 1, "{run}");
    assert!(!run.stdout.contains('\u{1b}'), "{run}");
}

/// The rule of the root grants that already, so another rule would not help.
#[test]
fn the_root_cannot_be_deleted_and_that_is_said() {
    let scratch = Scratch::new();
    let kept = "`jp-confine.toml` (the workspace's policy file, never writable from inside) must stay in it";
    let run = product(&scratch, &["check", "delete", "."]).run();
    run.assert_code(1).assert_stdout(kept).assert_stdout("No rule and no flag allows that");
    assert!(!run.stdout.contains("To allow it"), "{run}");
    product(&scratch, &["explain", "."]).run().assert_ok().assert_stdout("must stay in it");
}

// conformance: 076-92
// conformance: d43-25, d43-244
#[test]
fn check_as_json() {
    let scratch = workspace();
    std::os::unix::fs::symlink(scratch.out(), scratch.path("ws/link")).expect("a link");
    let run = product(
        &scratch,
        &[
            "check",
            "--json",
            "update",
            "dir/x",
            "file",
            "/etc/passwd",
            "../x",
            "link/secret",
            "dir/../dir/x",
        ],
    );
    let run = run.run();
    run.assert_code(1);
    let answers = json(&run);
    let row = |n: usize| answers[n].clone();
    assert_eq!(answers.as_array().map(Vec::len), Some(6), "{run}");
    for key in ["path", "capability", "verdict", "reason", "resolved", "rule", "granting"] {
        assert!(row(0).get(key).is_some(), "no {key}: {run}");
    }
    assert_eq!(row(0)["verdict"], "allow", "{run}");
    assert_eq!(row(0)["capability"], "update");
    assert_eq!(row(0)["resolved"], scratch.path("ws/dir/x").to_str().expect("UTF-8"));
    for (n, reason) in [(1, "denied"), (2, "denied"), (3, "input_escape"), (4, "escape")] {
        assert_eq!(row(n)["verdict"], "deny", "{run}");
        assert_eq!(row(n)["reason"], reason, "{run}");
    }
    assert_eq!(row(1)["granting"], serde_json::json!(["dir"]), "{run}");
}

// conformance: d43-25, d43-29
/// What a program could do with an absolute path. A tool's input has none.
#[test]
fn check_takes_absolute_paths_as_programs_do() {
    let scratch = workspace();
    symlink("../out", scratch.path("ws/link")).expect("a link");
    scratch.write("ws/tool.toml", "[[tools.x.access.fs]]\npath = '.'\nread = true\n");
    for (line, status, said) in [
        ("check update $WS/dir/x", 0, "allow update"),
        ("check update $WS/dir/../dir/x", 0, "allow update"),
        ("check update $WS/file", 1, "deny update"),
        ("check read /etc/hostname", 0, "allow read"),
        ("check read $WS/link/secret", 1, "deny read"),
        ("check update $OUT/secret", 1, "deny update"),
        ("-w $OUT check update $OUT/secret", 0, "allow update"),
        ("-p $WS/tool.toml --tool x check read $WS/file", 1, "absolute paths are not permitted"),
    ] {
        let line = scratch.expand(line);
        let words: Vec<&str> = line.split(' ').collect();
        product(&scratch, &words).run().assert_code(status).assert_stdout(said);
    }
}

#[test]
fn options_before_or_after_the_subcommand() {
    let scratch = Scratch::new();
    scratch.write("policy.toml", POLICY);
    let policy = scratch.path("policy.toml");
    let policy = policy.to_str().expect("UTF-8");
    product(&scratch, &["-p", policy, "check", "update", "file"]).run().assert_code(1);
    product(&scratch, &["check", "-p", policy, "update", "file"]).run().assert_code(1);
    product(&scratch, &["check", "update", "file"]).run().assert_ok();
}

#[test]
fn explain_names_every_capability() {
    let scratch = workspace();
    let run = product(&scratch, &["explain", "dir/x"]).run();
    run.assert_ok();
    for capability in ["read", "create", "update", "delete", "execute"] {
        run.assert_stdout(capability);
    }
    product(&scratch, &["explain", ""]).run().assert_code(125).assert_stderr("the path is empty");
    product(&scratch, &["explain", "/etc/passwd"]).run().assert_ok().assert_stdout("/etc");
    let run = product(&scratch, &["explain", "--json", &scratch.expand("$OUT/secret")]).run();
    run.assert_ok();
    assert!(json(&run).is_object(), "{run}");
}

// conformance: 076-131, 076-148
#[test]
fn compile_prints_the_compiled_policy() {
    let scratch = workspace();
    let run = product(&scratch, &["compile"]).run();
    run.assert_ok();
    let rules = json(&run)["fs"].clone();
    assert_eq!(rules[0]["lexical_path"], "", "{run}");
    assert_eq!(rules[1]["lexical_path"], "dir", "{run}");
    assert_eq!(rules[1]["write"], true, "{run}");
    assert_eq!(rules[1]["create"], Value::Null, "unset stays unset: {run}");
}

#[test]
fn json_and_toml_say_the_same() {
    let scratch = Scratch::new();
    scratch.write("policy.toml", POLICY);
    scratch.write(
        "policy.json",
        r#"{"access": {"fs": [{"path": ".", "read": true}, {"path": "dir", "read": true, "write": true}]}}"#,
    );
    let compiled = |file: &str| {
        let file = scratch.path(file);
        let run = product(&scratch, &["-p", file.to_str().expect("UTF-8"), "compile"]).run();
        json(run.assert_ok())["fs"].clone()
    };
    assert_eq!(compiled("policy.toml"), compiled("policy.json"));
}

#[test]
fn a_dry_run_runs_nothing() {
    let scratch = workspace();
    let run = product(&scratch, &["--dry-run", "--", "touch", "dir/ran"]).run();
    run.assert_ok()
        .assert_stdout("would be confined by jp-confine")
        .assert_stdout(&scratch.expand("\nwrite      $WS/dir"));
    assert_eq!(run.stdout.lines().count(), 10, "{run}");
    let run = product(&scratch, &["--dry-run", "--json", "--", "touch", "dir/ran"]).run();
    let all = json(run.assert_ok());
    assert_eq!(all["fs"][1]["lexical_path"], "dir", "{run}");
    assert_eq!(all["plan"]["held_by"].as_array().map(Vec::len), Some(5), "{run}");
    assert!(!scratch.path("ws/dir/ran").exists(), "{run}");
    product(&scratch, &["--json", "--", "true"]).run().assert_code(125).assert_stderr("--dry-run");
}

/// The plan, which follows the policy in a dry run.
fn planned(options: &[&str], without: &str) -> String {
    let scratch = workspace();
    let line = [options, &["-v", "--dry-run", "--", "true"]].concat();
    let run = product(&scratch, &line).env("JP_CONFINE_WITHOUT", without).run();
    let (_, plan) = run.assert_ok().stdout.split_once("\nplan\n").expect("a plan");
    plan.to_owned()
}

// conformance: d43-204
#[test]
fn a_dry_run_says_who_holds_what() {
    let plan = planned(&[], "");
    for capability in ["read", "create", "update", "delete", "execute"] {
        assert!(
            plan.contains(&format!("\n  {capability} ")) || plan.starts_with("  read"),
            "{plan}"
        );
    }
    // No path is broken, however long it is.
    let is_word = |line: &str| line.split_whitespace().count() == 1;
    assert!(plan.lines().all(|line| line.chars().count() <= 80 || is_word(line)), "{plan}");
    let plan = planned(&["--enforce", "cooperative"], "");
    assert!(plan.contains("library (cooperative)") && !plan.contains("landlock"), "{plan}");
}

/// The plan is the same as in a run, even where the workspace contains what the run itself needs.
#[test]
fn a_dry_run_plans_what_a_run_does() {
    for options in [&[][..], &["-C", "/"]] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let plan = words(&planned(options, ""));
        let run = product(&workspace(), &[options, &["-v", "--", "true"]].concat()).run();
        let lines = run.assert_ok().stderr.lines();
        let held: Vec<_> = lines.filter_map(|line| line.split_once(" is held by: ")).collect();
        assert_eq!(held.len(), 5, "{run}");
        for (capability, layers) in held {
            let capability = capability.trim_start_matches("jp-confine: ");
            assert!(plan.contains(&format!("{capability} {}", words(layers))), "{run}{plan}");
        }
    }
}

// conformance: d43-197
#[test]
fn a_plan_degrades_and_says_so() {
    for without in ["landlock", "listener", "openat2", "proc", "ptrace", "landlock,listener"] {
        let plan = planned(&[], without);
        let notes = plan.split_once("\nnotes\n").expect("notes").1;
        assert!(notes.contains(&format!("no {}", without.replace(',', ", no "))), "{plan}");
    }
    let scratch = workspace();
    let run = product(&scratch, &["--enforce", "strict", "--dry-run", "--", "true"]);
    let run = run.env("JP_CONFINE_WITHOUT", "listener").run();
    run.assert_code(125).assert_stderr("listener").assert_stderr("doctor");
}

/// Only the library prompts for sensitive files, unless all calls are judged.
#[test]
fn explain_tells_who_asks_about_sensitive_files() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/.env", "KEY=1\n");
    let alone = "asked about by the library alone";
    let told = |path| product(&scratch, &["explain", path]).run().assert_ok().stdout.clone();
    assert!(told(".env").contains(alone), "{}", told(".env"));
    assert!(!told("file").contains(alone), "{}", told("file"));
}

/// A file that prompts by the name of a symlink does not prompt by its own.
#[test]
fn check_knows_sensitive_names_of_links() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/cfg/prod", "KEY=1\n");
    symlink("cfg/prod", scratch.ws().join(".env")).expect("linked");
    let checked = |path| product(&scratch, &["check", "--json", "read", path]).run();
    let asked = checked(".env");
    let result = &json(asked.assert_code(2))[0];
    assert_eq!(result["verdict"], "prompt", "{asked}");
    assert_eq!(result["reason"], "sensitive_refused", "{asked}");
    assert_eq!(result["rule"]["text"], "`**/.env` of sensitive_paths", "{asked}");
    assert_eq!(json(checked("cfg/prod").assert_ok())[0]["verdict"], "allow");
    let explained = product(&scratch, &["explain", ".env"]).run();
    explained.assert_ok().assert_stdout("read     ask    `**/.env` of sensitive_paths");
    explained.assert_stdout("asked about by the library alone");
    let rule = "[[access.fs]]\npath = '.env'\nread = true\n";
    scratch.write("ws/jp-confine.toml", &format!("[[access.fs]]\npath = '.'\nread = true\n{rule}"));
    checked(".env").assert_ok().assert_stderr("because rules name them: rule `.env`");
}

/// Like `explain`, it names the tier, and not the rule whose grant the tier denies.
#[test]
fn check_names_the_tier() {
    let scratch = Scratch::new();
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[file_policy]\nprompt_paths = ['<workspace>/ask/**']\n";
    scratch.write("ws/jp-confine.toml", policy);
    scratch.write("ws/ask/a", "x");
    let run = product(&scratch, &["check", "--json", "read", "ask/a"]).run();
    let rule = json(run.assert_code(2))[0]["rule"].clone();
    assert!(run.stdout.contains("`<workspace>/ask/**` of prompt_paths ("), "{run}");
    let explained = product(&scratch, &["explain", "--json", "ask/a"]).run();
    assert_eq!(json(explained.assert_ok())["capabilities"][0]["rule"], rule, "{explained}");
}

/// Nobody knows where the pattern leads, so nobody can approve it.
#[test]
fn a_pattern_of_an_unknown_home_is_left_out() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[file_policy]\nread_paths = ['~/x']\n");
    let run = product(&scratch, &["--", "true"]).env("HOME", "").run();
    run.assert_ok()
        .assert_stderr("left out: `~/x` cannot be one of `read_paths`: `~` is not known");
    assert!(!run.stderr.contains("approve"), "{run}");
}

/// Every user has a home, whatever the environment says. If `HOME` names none, the one in the password file is
/// protected.
#[test]
fn a_home_that_is_not_named_is_protected() {
    let Some(home) = home_of_account() else { return skip("no home of this user's") };
    let home = home.as_str();
    for named in ["", "no/absolute/path"] {
        let scratch = Scratch::new();
        let asked = |options: &[&str], path: &str| {
            let path = format!("{home}/{path}");
            let words = [&["explain"], options, &[&path]].concat();
            product(&scratch, &words).env("HOME", named).run()
        };
        asked(&[], "private/key").assert_ok().assert_stdout("hidden where nothing is granted");
        asked(&["-r", home], ".ssh/key").assert_ok().assert_stdout("~/.ssh/**");
        let own = asked(&["-w", home], ".local/share/jp-confine/workspaces/x/approvals.json");
        own.assert_ok().assert_stdout("never writable from inside");
        let at_home =
            product(&scratch, &["--", "true"]).env("HOME", named).cwd(Path::new(home)).run();
        at_home.assert_code(125).assert_stderr("would be the workspace");
    }
}

/// If the environment has another home, sensitive files in the account's home prompt nevertheless.
#[test]
fn the_home_of_the_account_is_protected_beside_another() {
    let Some(home) = home_of_account() else { return skip("no home of this user's") };
    let scratch = Scratch::new();
    let asked = |options: &[&str], path: &str| {
        let path = format!("{home}/{path}");
        product(&scratch, &[&["explain"], options, &[&path]].concat()).run()
    };
    asked(&["-r", &home], ".ssh/key").assert_ok().assert_stdout("~/.ssh/**");
    let own = asked(&["-w", &home], ".local/share/jp-confine/workspaces/x/approvals.json");
    own.assert_ok().assert_stdout("never writable from inside");
}

/// The home of the current user in the password file, if it exists.
fn home_of_account() -> Option<String> {
    let uid = rustix::process::getuid().as_raw();
    let entry = Command::new("getent").args(["passwd", &uid.to_string()]).output().ok()?;
    let entry = entry.stdout.escape_ascii().to_string();
    entry.split(':').nth(5).filter(|home| Path::new(home).is_dir()).map(str::to_owned)
}

/// `explain` reports denials by rules about programs for the file, too. It reports none for a file that is no program.
#[test]
fn explain_tells_of_programs_that_are_not_started() {
    let scratch = Scratch::for_ordinary_user();
    let list = "[access.commands.cat]\n[access.commands.sh]\nargs = [['-c', '**']]\n";
    scratch.write("ws/jp-confine.toml", list);
    for (path, expected) in [
        ("/bin/ls", Some("access.commands does not list it")),
        ("/bin/sh", Some("access.commands.sh ($WS/jp-confine.toml:2), without arguments")),
        ("/bin/cat", None),
        ("file", None),
        ("/bin", None),
    ] {
        let expected = expected.map(|it| it.replace("$WS", scratch.ws().to_str().expect("UTF-8")));
        let run = product(&scratch, &["explain", "--json", path]).run();
        assert_eq!(
            json(run.assert_ok())["command_refused_by"]["text"].as_str(),
            expected.as_deref()
        );
        let run = product(&scratch, &["explain", path]).run();
        assert_eq!(run.stdout.contains("\n  command  deny"), expected.is_some(), "{run}");
    }
    product(&scratch, &["--", "sh", "-c", "/bin/ls"]).run().assert_stderr("denied");
}

/// An entry that tiers keep in its place may be deleted, but not moved. A symlink is deleted where it is.
#[test]
fn explain_tells_what_is_not_moved_and_what_is_deleted() {
    let scratch = workspace();
    scratch.write("ws/dir/t/x", "");
    std::os::unix::fs::symlink("none", scratch.ws().join("dangling")).expect("linked");
    let config = "home/.config/jp-confine/config.toml";
    scratch.write(config, "[file_policy]\ndeny_paths = ['<workspace>/dir/t/x']\n");
    let kept = product(&scratch, &["explain", "dir"]).run();
    kept.assert_ok().assert_stdout("has to stay in its place");
    kept.assert_stdout("`<workspace>/dir/t/x` of deny_paths");
    product(&scratch, &["--", "mv", "dir", "dir2"]).run().assert_code(1);
    let other = product(&scratch, &["explain", "file"]).run();
    assert!(!other.stdout.contains("has to stay"), "{other}");
    let link = product(&scratch, &["explain", "dangling"]).run();
    let (_, itself) = link.stdout.split_once("delete is of the link itself:").expect("a link");
    assert!(itself.contains("ws/dangling") && itself.contains("\n  * "), "{link}");
}

#[test]
fn explain_names_the_layers() {
    let scratch = workspace();
    let run = product(&scratch, &["explain", "--json", "dir"]).run();
    let layers = json(run.assert_ok())["held_by"].clone();
    assert_eq!(layers.as_array().map(Vec::len), Some(5), "{run}");
    product(&scratch, &["explain", "dir"]).run().assert_stdout("held by library");
}

#[test]
fn the_doctor_finds_what_is_missing() {
    let scratch = workspace();
    let run = product(&scratch, &["doctor", "--json"]).env("JP_CONFINE_WITHOUT", "openat2").run();
    let diagnosis = json(run.assert_ok());
    let findings = diagnosis["findings"].as_array().expect("findings").clone();
    let openat2 = findings.iter().find(|found| found["feature"] == "openat2").expect("looked for");
    assert_eq!(openat2["there"], false, "{run}");
    assert!(openat2["remedy"].is_string() && openat2["lost"][0].is_string(), "{run}");
    assert_eq!(diagnosis["strict"], false, "{run}");
    let run = product(&scratch, &["doctor"]).env("JP_CONFINE_WITHOUT", "openat2").run();
    let first = run.assert_ok().stdout.lines().next();
    assert!(first.is_some_and(|it| it.starts_with("Missing: ") && it.contains("openat2")), "{run}");
    let run = product(&scratch, &["doctor"]).run();
    assert!(run.assert_ok().stdout.lines().all(|line| line.chars().count() <= 80), "{run}");
}

/// Asserts that `text` is no valid policy, and that the message names the file, the line, `key` and `advice`.
fn assert_refused(name: &str, text: &str, line: usize, key: &str, advice: &str) {
    let scratch = Scratch::new();
    scratch.write(name, text);
    let file = scratch.path(name);
    let options = ["-p", file.to_str().expect("UTF-8"), "--", "touch", "ran"];
    let run = product(&scratch, &options).run();
    run.assert_code(125).assert_stderr(name).assert_stderr(&format!("{name}:{line}"));
    run.assert_stderr(key).assert_stderr(advice);
    assert!(run.stderr.contains('^'), "nothing underlined: {run}");
    assert!(!scratch.path("ws/ran").exists(), "{run}");
}

// conformance: 076-73
// conformance: d43-240
#[test]
fn a_wrong_file_is_refused_and_shown() {
    let toml = "policy.toml";
    assert_refused(toml, "[[access.fs]]\npath = '.'\nraed = true\n", 3, "raed", "read");
    assert_refused(toml, "[[access.fs]]\npath = '.'\nread = 'yes'\n", 3, "read", "bool");
    assert_refused(toml, "[[access.fs]]\npath = '/etc'\nread = true\n", 2, "/etc", "workspace");
    assert_refused(toml, "[[access.fs]]\npath = '../up'\n", 2, "../up", "workspace");
    assert_refused(toml, "[[access.fs]]\nread = true\n", 1, "access.fs", "path");
    assert_refused(toml, "[acess]\n", 1, "acess", "access");
    let json = "policy.json";
    assert_refused(
        json,
        "{\"access\": {\"fs\": [\n{\"path\": \".\",\n\"raed\": true}]}}",
        3,
        "raed",
        "read",
    );
}

#[test]
fn a_file_that_does_not_parse_is_refused() {
    for (name, text) in [("policy.toml", "[[access.fs]\n"), ("policy.json", "{\"access\": ")] {
        let scratch = Scratch::new();
        scratch.write(name, text);
        let file = scratch.path(name);
        let run =
            product(&scratch, &["-p", file.to_str().expect("UTF-8"), "--", "touch", "ran"]).run();
        run.assert_code(125).assert_stderr(name);
        assert!(!scratch.path("ws/ran").exists(), "{run}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let scratch = Scratch::new();
    let file = scratch.path("ws/jp-confine.toml");
    Run::new(&scratch, "mkfifo", &[file.to_str().expect("UTF-8")]).mode(Mode::Bare).run();
    product(&scratch, &["check", "read", "a"]).run().assert_code(125).assert_stderr("it is a pipe");
}

// conformance: tiers-39
#[test]
fn a_run_keeps_the_policy_that_it_started_with() {
    let scratch = Scratch::new();
    let script = "touch ready; while [ ! -e go ]; do sleep 0.01; done; cat file";
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| product(&scratch, &["--", "sh", "-c", script]).run());
        while !scratch.path("ws/ready").exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = ['<workspace>/file']\n");
        scratch.write("ws/go", "");
        run.join().expect("a run")
    });
    run.assert_ok().assert_stdout("inside");
    product(&scratch, &["--", "cat", "file"]).run().assert_code(1);
}

/// `-p` may name a pipe, which is read once.
#[test]
fn a_policy_may_come_from_a_pipe() {
    let scratch = workspace();
    scratch.write("ws/jp-confine.toml", "");
    scratch.write("policy.toml", POLICY);
    for line in ["cat ../policy.toml | $0 -p /dev/stdin", "$0 -p <(cat ../policy.toml)"] {
        let runs = |program: &str| {
            let script = line.replace("$0", PRODUCT);
            let script = format!("{script} -- sh -c '{program}'");
            Run::new(&scratch, "bash", &["-c", &script]).mode(Mode::Bare).run()
        };
        runs("cat file; echo x > dir/new").assert_ok();
        runs("echo x > new").assert_stderr("denied create new");
    }
    for line in ["-p <(false) -- touch ran", "-p <(cat ../policy.toml) vfs -- touch ran"] {
        let script = format!("{PRODUCT} {line}");
        let run = Run::new(&scratch, "bash", &["-c", &script]).mode(Mode::Bare).run();
        run.assert_code(125).assert_stderr("the policy file /dev/fd/");
        assert!(!scratch.path("ws/ran").exists(), "{run}");
    }
}

// conformance: 076-72, 076-73
// conformance: d43-54, d43-56, d43-240
#[test]
fn a_rule_that_leads_out_is_refused() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink(scratch.out(), scratch.path("ws/link")).expect("a link");
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'link'\nread = true\n");
    product(&scratch, &["--", "true"]).run().assert_code(125).assert_stderr("external");
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'dir'\nexternal = true\n");
    product(&scratch, &["--", "true"]).run().assert_code(125).assert_stderr("dir");
}

// conformance: 076-26, 076-27, 076-160
#[test]
fn layers_append_and_replace() {
    let scratch = Scratch::new();
    scratch
        .write("home/.config/jp-confine/config.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'dir'\nread = true\n");
    let paths = |run: &Outcome| -> Vec<String> {
        let rules = json(run)["fs"].clone();
        let rules = rules.as_array().expect("rules").iter();
        rules.map(|rule| rule["lexical_path"].as_str().expect("a path").to_owned()).collect()
    };
    assert_eq!(paths(product(&scratch, &["compile"]).run().assert_ok()), ["", "dir"]);
    scratch.write(
        "ws/jp-confine.toml",
        "[access.fs]\nstrategy = 'replace'\nvalue = [{ path = 'dir', read = true }]\n",
    );
    assert_eq!(paths(product(&scratch, &["compile"]).run().assert_ok()), ["dir"]);
    scratch.write("ws/jp-confine.toml", "[access.fs]\nstrategy = 'replace'\nvalue = []\n");
    let run = product(&scratch, &["compile"]).run();
    assert!(paths(run.assert_ok()).is_empty(), "{run}");
    assert!(!run.stderr.is_empty(), "lifting a restriction must be said: {run}");
}

// conformance: 076-1, 076-10
#[test]
fn a_tool_has_rules_of_its_own() {
    let scratch = Scratch::new();
    scratch.write(
        "ws/jp-confine.toml",
        "[[tools.fmt.access.fs]]\npath = 'dir'\nread = true\n[[conversation.tools.jp.access.fs]]\npath = '.'\n",
    );
    for (tool, path) in [("fmt", "dir"), ("jp", "")] {
        let run = product(&scratch, &["--tool", tool, "compile"]).run();
        assert_eq!(json(run.assert_ok())["fs"][0]["lexical_path"], path, "{run}");
    }
}

/// Landlock's rules apply to existing files. A rule on a directory that a build has yet to create counts, too.
#[test]
fn programs_run_in_a_directory_that_was_not_there() {
    let scratch = Scratch::new();
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = \".\"\nread = true\n
         [[access.fs]]\npath = \"out\"\nread = true\nwrite = true\nexecute = true\n",
    );
    scratch.copy_program(std::path::Path::new("/bin/true"), "ws/dir/program");
    let script = "mkdir out && cp dir/program out/program && out/program && ! dir/program";
    product(&scratch, &["--", "sh", "-c", script]).run().assert_ok().assert_stderr("dir/program");
}

#[test]
fn a_home_may_be_spelled_by_way_of_another_directory() {
    let scratch = Scratch::new();
    scratch.write("home/.ssh/key", "K");
    let home = scratch.home();
    let spelled = home.join(".ssh/..");
    let words = ["--", "cat", "file", "../home/.ssh/key"];
    scratch.write("ws/file", "f");
    let run = product(&scratch, &words).env("HOME", spelled.to_str().expect("UTF-8")).run();
    run.assert_code(1).assert_stdout("f");
    assert!(!run.stdout.contains('K'), "{run}");
}

/// The library has the supervisor make calls for which Landlock has no rule.
#[test]
fn a_directory_that_was_not_there_is_like_any_other() {
    let scratch = Scratch::new();
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = '.'\nread = true\n
         [[access.fs]]\npath = 'target'\nread = true\nwrite = true\n",
    );
    let script = "set -e; cd ..; for d in ws/target out/new/deep; do \
                  mkdir -p $d/a/b; echo text > $d/f; mv $d/f $d/a/b/g; ln $d/a/b/g $d/h; ln -s h $d/l; \
                  cat $d/l; ls $d/a/b; rm $d/h; chmod 600 $d/a/b/g; rm -r $d; mkdir $d; \
                  echo anew > $d/f; cat $d/f; rm -r $d; done";
    let run = product(&scratch, &["-w", "../out/new", "-r", "..", "--", "sh", "-c", script]).run();
    assert_eq!(run.stdout, "text\ng\nanew\ntext\ng\nanew\n", "{run}");
    run.assert_ok();
}

/// A Landlock rule for programs to come would allow reading the whole home.
#[test]
fn programs_start_in_the_next_run_where_nothing_around_may_be_read() {
    let scratch = Scratch::new();
    let out = scratch.expand("$HOME/out");
    scratch.copy_program(std::path::Path::new("/bin/true"), "ws/program");
    let script = scratch.expand("mkdir -p $HOME/out; cp program $HOME/out; $HOME/out/program");
    let args = ["-w", &out, "-x", &out, "--", "sh", "-c", &script];
    let first = product(&scratch, &args).run();
    first.assert_code(126).assert_stderr("it starts in the next run");
    let planned = product(&scratch, &["-w", &out, "-x", &out, "--dry-run", "--", "true"]).run();
    planned.assert_ok();
    product(&scratch, &args).run().assert_ok();
}
