//! `--mount`, `--no-mount`, `mounts`, `approvals`, and the prompts in a terminal (spec §8).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::cli_status::product;
use crate::policy_externals::store;
use crate::run::{Mode, Outcome, Run, given, have};
use crate::scratch::{SECRET, Scratch};
use crate::terminal::Terminal;

const RULE: &str = "[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";

/// A workspace whose policy has an external rule on `fork`, a symlink to the directory `out/dir`.
pub(crate) fn forked() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", RULE);
    symlink(scratch.path("out/dir"), scratch.path("ws/fork")).expect("a link");
    scratch
}

pub(crate) fn say(scratch: &Scratch, line: &str) -> Outcome {
    let line = scratch.expand(line);
    product(scratch, &line.split_whitespace().collect::<Vec<_>>()).run()
}

/// The approvals as `name=target`, without the path of the scratch tree.
pub(crate) fn approved(scratch: &Scratch) -> String {
    let run = say(scratch, "approvals list --json");
    let entries: Value = serde_json::from_str(&run.assert_ok().stdout).expect("JSON");
    let out = format!("{}/", scratch.out().display());
    let shown = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().expect(key).to_owned();
        format!("{}={}", text("rule_path"), text("canonical_target").replace(&out, ""))
    };
    entries.as_array().expect("a list").iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The target of the symlink `name` in the workspace, relative to `out`.
pub(crate) fn link(scratch: &Scratch, name: &str) -> Option<String> {
    let text = fs::read_link(scratch.ws().join(name)).ok()?;
    Some(text.strip_prefix(scratch.out()).unwrap_or(&text).display().to_string())
}

pub(crate) fn in_terminal(scratch: &Scratch, line: &[&str]) -> Terminal {
    Terminal::start(&product(scratch, line))
}

// conformance: d43-6, d43-68, d43-69, d43-78, d43-79, d43-83, d43-84, d43-85, d43-208, d43-209
#[test]
fn the_first_use_is_asked_about() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let cat = &["--", "cat", "fork/inner"];
    for answer in ["\n", "n\n", "yes please\n", "\x04"] {
        let mut terminal = in_terminal(&scratch, cat);
        terminal.see(&scratch.expand("fork → $OUT/dir"));
        terminal.see("a run: read");
        terminal.see("Approve? [y/N] ");
        terminal.keys(answer);
        if answer.contains("please") {
            terminal.see("that is no answer here");
            terminal.see("Approve? [y/N] ");
            terminal.keys("n\n");
        }
        assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
        let screen = terminal.screen();
        let (_, typed) = screen.split_once("[y/N] ").expect("a question");
        let ends = ["\r\n", "n\r\n", "yes please\r\n", "^D\u{8}\u{8}\r\n"];
        assert!(ends.iter().any(|end| typed.starts_with(end)), "{typed:?}");
        assert!(!terminal.screen().contains(SECRET), "{}", terminal.screen());
        assert_eq!(approved(&scratch), "");
    }
    let events = scratch.path("events");
    let recorded = [&["--events", events.to_str().expect("UTF-8")][..], cat].concat();
    let mut terminal = in_terminal(&scratch, &recorded);
    terminal.see("[y/N] ");
    terminal.keys("y\n");
    terminal.see(SECRET);
    assert_eq!((terminal.end(), approved(&scratch)), (Some(0), "fork=dir".to_owned()));
    let told = scratch.read("events");
    assert!(told.contains(r#""event":"prompt","approval":"fork","#), "{told}");
    let mut again = in_terminal(&scratch, cat);
    again.see(SECRET);
    assert_eq!(again.end(), Some(0));
    assert!(!again.screen().contains("[y/N]"), "{}", again.screen());
}

// conformance: d43-86, d43-87, d43-88, d43-228
#[test]
fn another_target_is_asked_about() {
    let Some(scratch) = given(&["script"], forked) else { return };
    say(&scratch, "approvals approve fork").assert_ok();
    fs::remove_file(scratch.path("ws/fork")).expect("removed");
    symlink(scratch.out(), scratch.path("ws/fork")).expect("a link");
    for (answer, status, kept) in [("n\n", 1, "fork=dir"), ("y\n", 0, "")] {
        let mut terminal = in_terminal(&scratch, &["--", "cat", "fork/secret"]);
        terminal.see(&scratch.expand("was: $OUT/dir\r\n"));
        terminal.see(&scratch.expand("now: $OUT\r\n"));
        terminal.see("Allow the new target? [y/N] ");
        terminal.keys(answer);
        assert_eq!(terminal.end(), Some(status), "{}", terminal.screen());
        assert!(approved(&scratch).starts_with(kept));
    }
    assert_eq!(approved(&scratch), scratch.expand("fork=$OUT"));
}

/// A pattern of a workspace file that leads elsewhere also prompts, with a terminal or without.
#[test]
fn another_target_of_a_pattern_is_asked_about() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let way = scratch.path("way");
    let name = format!("read_paths {}/**", way.display());
    scratch.write(
        "ws/jp-confine.toml",
        &format!("[file_policy]\nread_paths = ['{}/**']\n", way.display()),
    );
    symlink(scratch.out().join("dir"), &way).expect("a link");
    product(&scratch, &["approvals", "approve", &name]).run().assert_ok();
    fs::remove_file(&way).expect("removed");
    symlink(scratch.out(), &way).expect("a link");
    let warned = scratch.expand("it leads to $OUT now, and $OUT/dir was approved; to allow it");
    say(&scratch, "-- true").assert_ok().assert_stderr(&warned);
    for (answer, status) in [("n\n", 1), ("y\n", 0)] {
        let mut terminal = in_terminal(&scratch, &["--", "cat", "../out/secret"]);
        terminal.see("an approved pattern of the workspace's policy leads elsewhere now");
        terminal.see(&scratch.expand("was: $OUT/dir\r\n"));
        terminal.see(&scratch.expand("now: $OUT\r\n"));
        terminal.see("Allow the new target? [y/N] ");
        terminal.keys(answer);
        assert_eq!(terminal.end(), Some(status), "{}", terminal.screen());
    }
}

// conformance: d43-92, d43-132, d43-178
#[test]
fn a_bare_mount_is_confirmed_where_somebody_can_be_asked() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let line = &["--mount", "fork=../out/dir", "--", "cat", "fork/inner"];
    let mut terminal = in_terminal(&scratch, line);
    terminal.see(&scratch.expand("fork → $OUT/dir"));
    terminal.see("this run: read");
    terminal.see("Mount it? [y/N] ");
    terminal.keys("n\n");
    assert_eq!((terminal.end(), link(&scratch, "fork")), (Some(125), None));
    assert_eq!(approved(&scratch), "");
    // A symlink that exists already causes no second prompt.
    symlink("../out/dir", scratch.path("ws/fork")).expect("a link");
    let mut terminal = in_terminal(&scratch, line);
    terminal.see("[y/N] ");
    terminal.keys("y\n");
    terminal.see(SECRET);
    assert_eq!((terminal.end(), approved(&scratch)), (Some(0), "fork=dir".to_owned()));
    // Another target is shown together with the approved one.
    fs::remove_file(scratch.path("ws/fork")).expect("removed");
    let mut terminal = in_terminal(&scratch, &["--mount", "fork=../out", "--", "true"]);
    terminal.see(&scratch.expand("was: $OUT/dir\r\n"));
    terminal.keys("n\n");
    assert_eq!(terminal.end(), Some(125));
}

// conformance: d43-132
/// The approval applies to every rule on the name, in whichever file.
#[test]
fn a_mount_shows_what_files_grant_on_its_name() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let tool =
        "[[tools.edit.access.fs]]\npath = 'fork'\nexternal = true\nread = true\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", tool);
    let mut terminal = in_terminal(&scratch, &["--mount", "fork=../out/dir", "--", "true"]);
    terminal.see("this run: read\r\n");
    terminal.see("in other runs:\r\n  tool edit: read, create, update, delete\r\n");
    terminal.see("The target is remembered.");
    terminal.see("Mount it? [y/N] ");
    terminal.keys("n\n");
    assert_eq!((terminal.end(), approved(&scratch)), (Some(125), String::new()));
}

// conformance: d43-135
/// A mount that is typed for a tool does not consent to what a file grants that tool beyond it. There is a prompt for
/// that. If nobody can be prompted, it is not approved.
#[test]
fn a_typed_mount_approves_no_more_than_was_typed() {
    let scratch = Scratch::new();
    let rule =
        "[[tools.edit.access.fs]]\npath = 'fork'\nexternal = true\nread = true\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", rule);
    let line = "--tool edit --mount edit:fork=../out/dir:ro -- cat fork/inner";
    let run = say(&scratch, line);
    run.assert_ok().assert_stdout(SECRET).assert_stderr("is for this run alone");
    assert_eq!(approved(&scratch), "");
    say(&scratch, "--tool edit -- touch fork/new").assert_code(1);
    if have("script") {
        let mut terminal = in_terminal(&scratch, &line.split(' ').collect::<Vec<_>>());
        terminal.see("tool edit: read\r\n");
        terminal.see("in other runs:\r\n  tool edit: read, create, update, delete\r\n");
        terminal.see("Mount it? [y/N] ");
        terminal.keys("y\n");
        terminal.see(SECRET);
        assert_eq!((terminal.end(), approved(&scratch)), (Some(0), "fork=dir".to_owned()));
    }
}

// conformance: d43-59, d43-89, d43-250
#[test]
fn nobody_is_asked_who_cannot_answer() {
    let scratch = forked();
    let advice = "jp-confine approvals approve fork";
    say(&scratch, "-- cat fork/inner").assert_code(1).assert_stderr(advice).assert_no_secret();
    if have("script") {
        let mut terminal = in_terminal(&scratch, &["--non-interactive", "--", "cat", "fork/inner"]);
        assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
        let mut terminal = in_terminal(&scratch, &["check", "read", "fork/inner"]);
        assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
        assert!(!terminal.screen().contains("[y/N]"), "{}", terminal.screen());
    }
    assert_eq!(approved(&scratch), "");
}

// conformance: d43-77, d43-223, d43-248
#[test]
fn approvals_are_given_and_taken_back() {
    let scratch = forked();
    say(&scratch, "approvals approve .").assert_code(125).assert_stderr(": . stays inside");
    say(&scratch, "approvals revoke .").assert_code(125).assert_stderr(": . is not approved");
    let run = say(&scratch, "approvals approve ./fork/");
    run.assert_ok().assert_stdout(&scratch.expand("approved fork → $OUT/dir\n"));
    say(&scratch, "approvals list").assert_stdout(&scratch.expand("fork → $OUT/dir ("));
    say(&scratch, "-- cat fork/inner").assert_ok().assert_stdout(SECRET);
    say(&scratch, "check read fork/inner").assert_ok();
    say(&scratch, "approvals revoke fork").assert_ok().assert_stdout("revoked fork");
    say(&scratch, "-- cat fork/inner").assert_code(1).assert_no_secret();
    for line in ["revoke fork", "approve missing", "approve dir", "approve ../out", "approve /"] {
        let run = say(&scratch, &format!("approvals {line}"));
        assert!(!run.assert_code(125).stderr.is_empty(), "{run}");
    }
    assert_eq!(approved(&scratch), "");
}

// conformance: d43-7, d43-91, d43-92, d43-124, d43-149, d43-159, d43-160, d43-161, d43-162, d43-174, d43-175, d43-177
// conformance: d43-178, d43-181, d43-182, d43-205, d43-206, d43-210, d43-222, d43-250
#[test]
fn a_mount_is_a_link_and_an_approval_that_stay() {
    let scratch = Scratch::new();
    let line = "--mount a/fork=../out/dir --mount other=$OUT/target:ro -- cat a/fork/inner other";
    for _ in 0..2 {
        let run = say(&scratch, line);
        run.assert_ok().assert_stdout(SECRET).assert_stdout("unchanged");
        assert_eq!(link(&scratch, "a/fork").as_deref(), Some("dir"));
        assert_eq!(approved(&scratch), "a/fork=dir other=target");
    }
    // The rule ends with the run. A rule of the workspace finds symlink and approval.
    say(&scratch, "-- cat a/fork/inner").assert_code(1);
    scratch.write("ws/jp-confine.toml", &RULE.replace("fork", "a/fork"));
    say(&scratch, "-- cat a/fork/inner").assert_ok().assert_stdout(SECRET);
}

// conformance: d43-14, d43-35, d43-134, d43-151, d43-153, d43-154, d43-161, d43-170, d43-171, d43-179, d43-180, d43-181
// conformance: d43-187, d43-188, d43-191, d43-212, d43-214
/// What is typed once holds for all runs, until it is taken back.
#[test]
fn a_mount_is_added_for_good_and_removed() {
    let injected = "[[access.fs]]\npath = \".\"\nread = true\nwrite = true\nexecute = true\n";
    let fork = "[[access.fs]]\npath = \"fork\"\nexternal = true\nread = true\n";
    let src = "[[access.fs]]\npath = 'src' # mine\nread = true\n";
    let of_tool = "[[tools.edit.access.fs]]\npath = \".\"\nread = true\nwrite = true\nexecute = true\n\n\
                   [[tools.edit.access.fs]]\npath = \"fork\"\nexternal = true\nread = true\n";
    let inline = "access.fs = [{ path = 'src', read = true }]\n";
    for (before, add, added, left) in [
        ("", "fork", format!("{injected}\n{fork}"), injected.to_owned()),
        ("", "fork:rw", format!("{injected}\n{fork}write = true\n"), injected.to_owned()),
        (src, "fork", format!("{src}\n{fork}"), src.to_owned()),
        (
            inline,
            "fork",
            "access.fs = [{ path = 'src', read = true }, { path = \"fork\", external = true, read = true }]\n".to_owned(),
            inline.to_owned(),
        ),
        (fork, "fork", fork.to_owned(), "[[access.fs]]\npath = \".\"\n".to_owned()),
        (
            "[tools.edit]\n",
            "edit:fork:rw",
            format!("[tools.edit]\n\n{of_tool}write = true\n"),
            format!("[tools.edit]\n\n{}", of_tool.split("\n\n").next().expect("a rule")) + "\n",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", before);
        let (name, mode) = add.strip_suffix(":rw").map_or((add, ""), |name| (name, ":rw"));
        let policy = || fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("a file");
        // Without a person nothing is done, unless that was typed.
        say(&scratch, &format!("mounts add {name}=../out/dir{mode}")).assert_code(125);
        assert_eq!((policy().as_str(), link(&scratch, "fork")), (before, None), "{add}");
        let run = say(&scratch, &format!("mounts add {name}=../out/dir{mode} --yes"));
        run.assert_ok().assert_stdout("symlink fork → ");
        assert_eq!(policy(), added, "{add}: {run}");
        assert_eq!(link(&scratch, "fork").as_deref(), Some("dir"));
        assert_eq!(approved(&scratch), "fork=dir");
        let tool = if add.starts_with("edit") { "--tool edit " } else { "" };
        say(&scratch, &format!("{tool}-- cat fork/inner")).assert_ok().assert_stdout(SECRET);
        let run = say(&scratch, &format!("{tool}-- touch fork/new"));
        run.assert_code(i32::from(mode.is_empty()));
        if !tool.is_empty() {
            say(&scratch, "-- cat fork/inner").assert_code(1).assert_no_secret();
        }
        let again = say(&scratch, &format!("mounts add {name}=../out/dir{mode} --yes"));
        again.assert_ok().assert_stderr("nothing is left to do");

        say(&scratch, "mounts remove fork --yes").assert_ok();
        assert_eq!(policy(), left, "{add}");
        assert_eq!((link(&scratch, "fork"), approved(&scratch).as_str()), (None, ""), "{add}");
        say(&scratch, "mounts remove fork --yes").assert_code(125).assert_stderr("no such mount");
    }
}

// conformance: d43-169
/// A mount adds the rule that keeps the workspace only if no layer has rules.
#[test]
fn rules_of_the_user_are_rules_for_a_mount() {
    let scratch = Scratch::new();
    let rule = "[[access.fs]]\npath = '.'\nread = true\n";
    scratch.write("home/.config/jp-confine/config.toml", rule);
    let run = |line: &str| say(&scratch, &format!("--mount fork=../out/dir -- {line}"));
    run("cat fork/inner").assert_ok().assert_stdout(SECRET);
    run("touch new").assert_code(1).assert_stderr("denied create, update new");
}

// conformance: d43-164
/// Only `--mount` makes symlinks.
#[test]
fn a_rule_makes_no_link() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", RULE);
    say(&scratch, "-- true").assert_ok().assert_stderr("`fork`");
    assert_eq!(link(&scratch, "fork"), None);
    assert_eq!(approved(&scratch), "");
}

/// A person sees the change before it is made.
#[test]
fn a_mount_is_shown_before_it_is_added() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    for (answer, status, made) in [("n\n", 1, false), ("y\n", 0, true)] {
        let mut terminal = in_terminal(&scratch, &["mounts", "add", "fork=../out/dir"]);
        terminal.see("+path = \"fork\"");
        terminal.see(&scratch.expand("symlink fork → $OUT/dir, approved"));
        terminal.see("Write this? [y/N] ");
        terminal.keys(answer);
        assert_eq!(terminal.end(), Some(status), "{}", terminal.screen());
        assert_eq!(link(&scratch, "fork").is_some(), made);
        assert_eq!(scratch.ws().join("jp-confine.toml").exists(), made);
    }
}

#[test]
fn the_list_of_mounts() {
    let scratch = forked();
    let rule = |name: &str| RULE.replace("fork", name);
    let tool = "[[tools.edit.access.fs]]\npath = 'fork'\nexternal = true\nwrite = true\n";
    let rules = format!("{}{}{}{}{tool}", rule("moved"), rule("new"), rule("gone"), RULE);
    scratch.write("ws/jp-confine.toml", &rules);
    for (name, target) in [("moved", "dir"), ("new", "dir"), ("gone", "missing"), ("alone", "dir")]
    {
        symlink(scratch.out().join(target), scratch.ws().join(name)).expect("a link");
    }
    for name in ["fork", "moved", "alone"] {
        say(&scratch, &format!("approvals approve {name}")).assert_ok();
    }
    fs::remove_file(scratch.path("ws/moved")).expect("removed");
    symlink(scratch.out(), scratch.path("ws/moved")).expect("a link");
    let run = say(&scratch, "mounts --json");
    let lines: Value = serde_json::from_str(&run.assert_ok().stdout).expect("JSON");
    let states: Vec<String> = lines
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| format!("{} {}", line["name"], line["state"]).replace('"', ""))
        .collect();
    assert_eq!(
        states,
        ["alone ok", "fork ok", "gone dangling", "moved retargeted", "new unapproved"]
    );
    assert_eq!((&lines[0]["made_by"], &lines[1]["made_by"]), (&"approval".into(), &"rule".into()));
    assert_eq!(lines[1]["grants"][1]["tool"], "edit", "{run}");
    assert_eq!(lines[2]["grants"].as_array().map(Vec::len), Some(1), "{run}");
    assert_eq!(lines[3]["approved_target"], scratch.expand("$OUT/dir"), "{run}");
    let run = say(&scratch, "mounts");
    run.assert_ok().assert_stdout(&scratch.expand("ok         fork → $OUT/dir\n"));
    run.assert_stdout("tool edit: create, update, delete\n").assert_stdout("gone → nothing\n");
    run.assert_stdout(
        "approved, for a run with --mount or a rule that is gone: no rule of a file grants it\n",
    );
}

/// A symlink that cannot be followed is not listed as dangling.
#[test]
fn the_list_says_why_a_link_cannot_be_followed() {
    let scratch = forked();
    fs::remove_file(scratch.path("ws/fork")).expect("removed");
    symlink("fork", scratch.path("ws/fork")).expect("a link");
    let run = say(&scratch, "mounts");
    run.assert_ok().assert_stdout("unknown    fork: too many symbolic links at ");
    let run = say(&scratch, "mounts --json");
    run.assert_ok()
        .assert_stdout(r#""state": "unknown""#)
        .assert_stdout(r#""problem": "too many "#);
}

/// Nobody is told to approve what cannot be approved.
#[test]
fn a_target_that_is_no_text_has_to_be_renamed() {
    let scratch = forked();
    fs::remove_file(scratch.path("ws/fork")).expect("removed");
    let target = scratch.out().join(OsStr::from_bytes(b"\xff"));
    fs::write(&target, "x").expect("written");
    symlink(&target, scratch.path("ws/fork")).expect("a link");
    for line in ["-- true", "-- cat fork"] {
        let run = say(&scratch, line);
        run.assert_stderr("which is not UTF-8: rename that");
        assert!(!run.stderr.contains("approvals approve"), "{run}");
    }
    let run = say(&scratch, "approvals approve fork");
    run.assert_code(125).assert_stderr("is not UTF-8").assert_stderr("rename that");
}

#[test]
fn a_pattern_without_its_list_is_no_missing_link() {
    let scratch = forked();
    for name in ["~/real/**", "/real/**"] {
        let run = say(&scratch, &format!("approvals approve {name}"));
        run.assert_code(125).assert_stderr(&format!("'read_paths {name}'"));
        assert!(!run.stderr.contains("make the link"), "{run}");
    }
}

/// The prompt and the list show what a pattern grants, and to whom.
#[test]
fn a_pattern_is_shown_with_its_effect() {
    let scratch = Scratch::new();
    let tool = scratch.expand("[tools.edit.file_policy]\nwrite_paths = ['$OUT/**']\n");
    scratch.write("ws/jp-confine.toml", &format!("[tools.edit]\nsource = 'local'\n{tool}"));
    let effect = "tool edit: read, create, update, delete, execute";
    say(&scratch, "mounts").assert_ok().assert_stdout(&format!("           {effect}\n"));
    say(&scratch, "mounts --json").assert_ok().assert_stdout(r#""tool": "edit""#);
    if !have("script") {
        return;
    }
    let mut terminal = in_terminal(&scratch, &["--tool", "edit", "--", "true"]);
    terminal.see(&scratch.expand("write_paths = [\"$OUT/**\"]\r\n  → $OUT\r\n"));
    terminal.see(effect);
    terminal.see("The target is remembered");
    terminal.see("Approve? [y/N] ");
    terminal.keys("n\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
}

// conformance: d43-40
#[test]
fn an_external_rule_that_stays_inside_is_named() {
    let scratch = Scratch::new();
    scratch.write("ws/inner/file", "x");
    for path in [".", "inner", "inner/.."] {
        scratch.write("ws/jp-confine.toml", &RULE.replace("fork", path));
        let run = say(&scratch, "-- true");
        run.assert_code(125).assert_stderr(&format!("error: `{path}` cannot be a rule"));
        run.assert_stderr("stays inside the workspace");
    }
}

/// Patterns that lead outside are approved like symlinks, but are no mounts.
#[test]
fn the_list_has_patterns_that_no_mount_takes_back() {
    let scratch = Scratch::new();
    let policy = scratch.expand("[file_policy]\nread_paths = ['$OUT/**']\n");
    scratch.write("ws/jp-confine.toml", &policy);
    let name = scratch.expand("read_paths $OUT/**");
    let listed = |state: &str| {
        let words = scratch.expand(&format!("{state:<11}read_paths $OUT/** → $OUT\n"));
        let run = say(&scratch, "mounts");
        run.assert_ok().assert_stdout(&words);
        assert!(!run.stdout.contains("--mount"), "{run}");
        let json = say(&scratch, "mounts --json");
        json.assert_ok().assert_stdout(r#""made_by": "pattern""#);
    };
    listed("unapproved");
    product(&scratch, &["approvals", "approve", &name]).run().assert_ok();
    listed("ok");
    say(&scratch, "--no-mount -- true").assert_ok();
    product(&scratch, &["--no-mount", &name, "--", "true"]).run().assert_code(125);
    listed("ok");
    scratch.write("ws/jp-confine.toml", "");
    listed("unused");
    product(&scratch, &["approvals", "revoke", &name]).run().assert_ok();
    say(&scratch, "mounts").assert_ok().assert_stderr("leads outside");
}

// conformance: d43-71, d43-97, d43-98, d43-108
#[test]
fn what_cannot_be_read_is_said_and_kept() {
    let scratch = forked();
    say(&scratch, "-- cat fork/inner").assert_code(1);
    let all = scratch.path("home/.local/share/jp-confine/workspaces");
    let dir = fs::read_dir(all).expect("listed").next().expect("one").expect("one").path();
    let mode = dir.metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "made by a run, it is the user's alone");
    say(&scratch, "approvals approve fork").assert_ok();
    fs::write(dir.join("approvals.json"), "{ broken").expect("written");
    let run = say(&scratch, "-- cat fork/inner");
    run.assert_code(1).assert_stderr("malformed").assert_no_secret();
    say(&scratch, "--no-mount fork2 -- true").assert_code(125).assert_stderr("malformed");
    say(&scratch, "approvals approve fork").assert_ok();
    say(&scratch, "-- cat fork/inner").assert_ok();
    let aside = fs::read_to_string(dir.join("approvals.json.unusable-1"));
    assert_eq!(aside.expect("kept"), "{ broken");
    let approvals = dir.join("approvals.json");
    fs::remove_file(&approvals).expect("removed");
    Run::new(&scratch, "mkfifo", &[approvals.to_str().expect("UTF-8")]).mode(Mode::Bare).run();
    say(&scratch, "-- cat fork/inner").assert_code(1).assert_stderr("it is a pipe");
}

// conformance: d43-90
/// The file may be edited, and has the form of RFD D43.
#[test]
fn a_file_that_a_person_wrote_approves() {
    let scratch = forked();
    say(&scratch, "-- cat fork/inner").assert_code(1);
    let entry = |name: &str, target: &str| {
        let time = "2026-05-26T13:00:00Z";
        json!({"rule_path": name, "canonical_target": scratch.out().join(target), "approved_at": time})
    };
    let mounts = json!({"mounts": [entry("fork", "dir"), entry("vendor/openssl", "target")]});
    fs::write(store(&scratch), mounts.to_string()).expect("written");
    say(&scratch, "-- cat fork/inner").assert_ok().assert_stdout(SECRET);
    assert_eq!(approved(&scratch), "fork=dir vendor/openssl=target");
}

#[test]
fn that_there_is_nothing_to_list_is_said() {
    let scratch = Scratch::new();
    for line in [&["mounts"][..], &["approvals", "list"]] {
        let run = product(&scratch, line).run();
        run.assert_ok().assert_stderr("outside").assert_stderr("workspace");
        assert_eq!(run.stdout, "", "{run}");
    }
}

/// Symlink and approval remain. So a mount is suggested, and nothing has to be granted file by file.
#[test]
fn what_was_mounted_once_is_offered_as_a_mount() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/sub/file", "");
    let cat = ["--", "cat", "../fork/inner"];
    let refused = |scratch: &Scratch| {
        let mut run = product(scratch, &cat).cwd(&scratch.path("ws/sub")).run();
        run.stderr = run.stderr.replace('\n', " ").replace("  ", "");
        run
    };
    let mount = scratch.expand("../fork=$OUT/dir");
    let allow = format!("allow: jp-confine --mount {mount}");
    assert!(!refused(&scratch).stderr.contains(&allow));
    let mounted = [&["--mount", &mount][..], &cat].concat();
    product(&scratch, &mounted).cwd(&scratch.path("ws/sub")).run().assert_ok();
    let again = refused(&scratch);
    again.assert_code(1).assert_stderr(&allow);
    // The person is in another directory by now.
    for (directory, name) in [("ws", "fork"), ("ws/sub", "../fork")] {
        let why = product(&scratch, &["why", "--last"]).cwd(&scratch.path(directory)).run();
        why.assert_stdout(&scratch.expand(&format!("allow: jp-confine --mount {name}=$OUT/dir")));
    }
    // No mount is suggested where only an option overrides the denial, and a rule does not.
    for option in [&["--deny", "fork"][..], &["--deny", "../out"]] {
        let denied = product(&scratch, &[option, &["--", "cat", "fork/inner"]].concat()).run();
        let expected = scratch.expand("allow: jp-confine -r $OUT/dir/inner");
        assert!(
            denied.stderr.contains(&expected) && !denied.stderr.contains("--mount"),
            "{denied}"
        );
    }
    scratch.write("out/dir/.env", "TOPSECRET");
    let sensitive = product(&scratch, &["--", "cat", "fork/.env"]).run();
    assert!(!sensitive.stderr.contains("--mount"), "{sensitive}");
    // No mount is suggested for a write, which it would not grant, or once nobody approves the target any more.
    let write = product(&scratch, &["--", "touch", "fork/inner"]).run();
    assert!(!write.stderr.contains("--mount"), "{write}");
    say(&scratch, "approvals revoke fork").assert_ok();
    assert!(!refused(&scratch).stderr.contains("--mount"));
}

// conformance: d43-206
/// `check` suggests the approval, and not one more rule.
#[test]
fn a_check_says_that_an_approval_is_missing() {
    let scratch = forked();
    let checked = say(&scratch, "check read fork/inner");
    checked.assert_code(1).assert_stdout("the target of rule `fork` (");
    checked.assert_stdout("ask the user to approve its target");
    say(&scratch, "check read ../out/secret").assert_code(1);
    symlink(scratch.out(), scratch.path("ws/loose")).expect("a link");
    say(&scratch, "check read loose/secret").assert_stdout("an `access.fs` rule on the link");
}
