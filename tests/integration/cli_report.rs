//! Reports of denials, on stderr and in `--events`, and paths that no rule can grant.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::attacks_busybox::busybox;
use crate::cli_status::product;
use crate::layers::Holder;
use crate::run::{Mode, PRODUCT, Run, have, skip, wait};
use crate::scratch::{SECRET, Scratch};

fn events(scratch: &Scratch, name: &str) -> Vec<Value> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    scratch.read(name).lines().map(parse).collect()
}

#[test]
fn a_denial_is_reported_shortly() {
    let scratch = Scratch::new();
    let script = scratch.expand("for i in 1 2 3; do cat $OUT/secret; done; echo x > $OUT/target");
    let run = product(&scratch, &["--", "sh", "-c", &script]).run();
    let secret = scratch.path("out/secret");
    run.assert_stderr(secret.to_str().expect("UTF-8"))
        .assert_stderr("read")
        .assert_stderr("create");
    run.assert_stderr("cat").assert_stderr("3").assert_stderr("-r ").assert_stderr("-w ");
    product(&scratch, &["-q", "--", "sh", "-c", "cat ../out/secret 2>/dev/null; true"])
        .run()
        .assert_ok();
}

/// A `PATH` directory that is out of reach and does not contain the program is not reported. A program that is there is
/// reported, and so is one that is nowhere. A path that a profile denies in the home looks missing, like the rest of
/// the home.
#[test]
fn what_is_found_elsewhere_is_no_denial() {
    let scratch = Scratch::new();
    scratch.copy_program(Path::new("/bin/true"), "out/there");
    scratch.write("home/.npmrc", "TOPSECRET");
    let path = format!("{}:/usr/bin:/bin", scratch.out().display());
    let run =
        |script: &str| product(&scratch, &["--", "sh", "-c", script]).env("PATH", &path).run();
    let found = run("env ls; cat ~/.npmrc || true");
    assert!(!found.stderr.contains("denial"), "{found}");
    found.assert_stderr("No such file").assert_no_secret();
    for name in ["there", "nowhere"] {
        run(&format!("env {name}")).assert_stderr(&format!("out/{name} by env"));
    }
}

/// Landlock alone would deny it silently.
#[test]
fn a_program_that_a_static_program_may_not_start_is_reported() {
    let (true, Some(busybox)) = (Holder::under_test() != Holder::Library, busybox()) else {
        return skip("no static program");
    };
    let scratch = Scratch::new();
    scratch.copy_program(Path::new("/bin/true"), "out/program");
    scratch.copy_program(Path::new("/bin/true"), "home/program");
    let busybox = busybox.to_str().expect("UTF-8");
    for (program, code) in [("$OUT/program", 126), ("$HOME/program", 127)] {
        let program = scratch.expand(program);
        let run = product(&scratch, &["--", busybox, "sh", "-c", &program]).run();
        run.assert_code(code).assert_stderr(&format!("denied execute {program} by busybox"));
    }
}

/// A suggestion about a sensitive file comes last, and warns.
#[test]
fn suggestions_about_sensitive_files_warn() {
    let scratch = Scratch::new();
    scratch.write("home/.aws/credentials", SECRET);
    scratch.write("home/notes/a", "x");
    let script = scratch.expand("cat $HOME/.aws/credentials $HOME/notes/a");
    let run = product(&scratch, &["--", "sh", "-c", &script]).run();
    run.assert_code(1).assert_no_secret();
    let told = |words: &str| run.stderr.find(&scratch.expand(words)).expect(words);
    let warning = told("it may hold secrets, which every program of the run could then use");
    assert!(told("1 denied read $HOME/notes/a") < told("2 denied read $HOME/.aws"), "{run}");
    assert!(told("2 denied read") < warning, "{run}");
    assert!(warning < told("-r $HOME/.aws/credentials"), "{run}");
    assert_eq!(run.stderr.matches("may hold secrets").count(), 1, "{run}");
}

/// If a file cannot be created, its times cannot be set either. Both are one denial.
#[test]
fn what_touch_is_refused_is_one_denial() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    let run = product(&scratch, &["--", "touch", "new"]).run();
    run.assert_stderr("1 denial\n").assert_stderr("denied create, update new by touch\n");
    assert_eq!(run.stderr.matches("allow: ").count(), 1, "{run}");
    product(&scratch, &["-w", "new", "--", "touch", "new"]).run().assert_ok();
}

#[test]
fn a_run_without_denials_is_silent() {
    let scratch = Scratch::new();
    let run = product(&scratch, &["--", "cat", "file"]).run();
    run.assert_ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("inside\n", ""));
}

/// The library looks into a program to learn whether it can follow there. For the program that starts it, that would be
/// a read which the rule does not allow.
#[test]
fn looking_into_a_program_is_no_read_of_it() {
    let scratch = Scratch::new();
    scratch.write("only.toml", "[[access.fs]]\npath = '.'\nexecute = true\n");
    std::fs::copy("/bin/true", scratch.path("ws/program")).expect("copied");
    let policy = scratch.path("only.toml");
    for enforce in ["cooperative", "layered", "strict"] {
        let policy = ["-p", policy.to_str().expect("UTF-8"), "--enforce", enforce];
        let line = ["--", "sh", "-c", "./program && exec $PWD/program"];
        let run = product(&scratch, &[&policy[..], &line[..]].concat()).run();
        if enforce == "strict" && run.status.code() == Some(125) {
            return skip("not every layer is there");
        }
        assert_eq!((run.assert_ok().stderr.as_str(), enforce), ("", enforce), "{run}");
    }
}

#[test]
fn the_report_is_at_most_twenty_lines() {
    let scratch = Scratch::new();
    let script = scratch
        .expand("for i in $(seq 200); do : 2>/dev/null < $OUT/missing$i; done 2>/dev/null; exit 1");
    let run = product(&scratch, &["--", "bash", "-c", &script]).run();
    let lines = run.stderr.lines().count();
    assert!((1..=20).contains(&lines), "{lines} lines: {run}");
}

#[test]
fn every_denial_is_an_event() {
    let scratch = Scratch::new();
    let log = scratch.path("events.jsonl");
    let script = scratch.expand(
        "cat $OUT/secret; rm -f $OUT/target; ln -s $OUT link; cat link/secret; cat $HOME/.private/key; exit 0",
    );
    let run =
        product(&scratch, &["--events", log.to_str().expect("UTF-8"), "--", "sh", "-c", &script])
            .run();
    run.assert_ok().assert_no_secret();
    let events = events(&scratch, "events.jsonl");
    let about = |path: &str, capability: &str| {
        let path = scratch.expand(path);
        events.iter().any(|event| {
            let text = event.to_string();
            text.contains(&format!("\"{path}\"")) && text.contains(&format!("\"{capability}\""))
        })
    };
    assert!(about("$OUT/secret", "read"), "{events:?}");
    assert!(about("$OUT/target", "delete"), "{events:?}");
    assert!(about("$HOME/.private/key", "read"), "{events:?}");
}

/// Each run in a file of events begins and ends, and so does one that starts nothing. The first event has no arguments,
/// which may be secrets.
#[test]
fn a_run_has_a_first_and_a_last_event() {
    let scratch = Scratch::new();
    let policy = "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    let log = scratch.path("events.jsonl");
    let options = ["--events", log.to_str().expect("UTF-8"), "--"];
    for line in [&["sh", "-c", "echo x > new; exit 3"][..], &["no-such-program"]] {
        product(&scratch, &[&options[..], line].concat()).run();
    }
    let events = events(&scratch, "events.jsonl");
    let runs: Vec<&[Value]> = events.chunk_by(|one, next| one["run"] == next["run"]).collect();
    assert_eq!(runs.len(), 2, "{events:?}");
    for (run, (program, status)) in runs.iter().zip([("sh", 3), ("no-such-program", 127)]) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        assert_eq!((&first["event"], &last["event"]), (&"start".into(), &"end".into()), "{run:?}");
        assert_eq!((&first["version"], &first["program"]), (&1.into(), &program.into()));
        assert_eq!(first["run"].as_str().map(str::len), Some(32));
        let denials = run.iter().filter(|event| event["event"] == "denial").count();
        assert_eq!((&last["status"], &last["denials"]), (&status.into(), &denials.into()));
        assert!(run.iter().map(|event| event["time"].as_str()).is_sorted(), "{run:?}");
    }
    let denial = events.iter().find(|event| event["event"] == "denial").expect("a denial");
    assert_eq!(denial["rule"]["line"], 2, "{denial}");
    let file = denial["rule"]["file"].as_str().expect("a file");
    assert!(file.ends_with("ws/jp-confine.toml"), "{denial}");
    assert!(!scratch.read("events.jsonl").contains("exit 3"));
}

/// The policy, the event file and the configuration are out of reach, whatever the rules say.
#[test]
fn the_control_plane_is_never_writable() {
    let scratch = Scratch::new();
    let policy = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    scratch.write("ws/extra.toml", policy);
    scratch.write("home/.config/jp-confine/config.toml", "");
    let script = scratch.expand(
        "echo x >> jp-confine.toml; rm -f jp-confine.toml; mv jp-confine.toml moved; mv file jp-confine.toml
         ln -sf file jp-confine.toml; chmod 777 jp-confine.toml; truncate -s 0 jp-confine.toml
         echo x > extra.toml; rm -f extra.toml
         echo x > $HOME/.config/jp-confine/config.toml; rm -rf $HOME/.config/jp-confine
         echo x > events.jsonl; rm -f events.jsonl
         echo x > $LD_PRELOAD; rm -f $LD_PRELOAD; chmod 777 $LD_PRELOAD; mv $LD_PRELOAD lib
         cat jp-confine.toml > /dev/null && echo still-there; cat ../out/secret; exit 0",
    );
    let home = scratch.expand("$HOME");
    let line =
        ["-p", "extra.toml", "-w", &home, "--events", "events.jsonl", "--", "sh", "-c", &script];
    let run = product(&scratch, &line).run();
    run.assert_ok().assert_no_secret().assert_stdout("still-there");
    assert_eq!(scratch.read("ws/jp-confine.toml"), policy);
    assert_eq!(scratch.read("ws/extra.toml"), policy);
    assert_eq!(scratch.read("home/.config/jp-confine/config.toml"), "");
    assert!(!events(&scratch, "ws/events.jsonl").is_empty(), "the events were lost: {run}");
    assert!(!scratch.path("ws/lib").exists(), "{run}");
}

/// The symlinks that lead there are not writable either, nor are their targets. Another symlink would mean another
/// policy the next time.
#[test]
fn what_leads_to_the_control_plane_is_never_writable() {
    let scratch = Scratch::new();
    let files = ["ws/real/policy", "ws/real/extra", "ws/dotfiles/config"];
    for file in files {
        scratch.write(file, "[file_policy]\n");
    }
    std::fs::create_dir_all(scratch.path("home/.config/jp-confine")).expect("a folder");
    let links = [
        ("ws/alias", "real"),
        ("ws/jp-confine.toml", "alias/policy"),
        ("ws/extra.toml", "alias/extra"),
        ("home/.config/jp-confine/config.toml", "../../../ws/dotfiles/config"),
    ];
    for (link, to) in links {
        symlink(to, scratch.path(link)).expect("a link");
    }
    let script = "for it in alias jp-confine.toml extra.toml real/* dotfiles/*; do
                    mv $it moved; ln -sfn file $it; rm -f $it; echo x > $it; done; rm -rf real dotfiles; exit 0";
    let line = ["-p", "extra.toml", "--", "sh", "-c", script];
    let run = product(&scratch, &line).run();
    run.assert_ok();
    for file in files {
        assert_eq!(scratch.read(file), "[file_policy]\n", "{file}: {run}");
    }
    for (link, to) in links {
        let found = scratch.path(link).read_link().ok();
        assert_eq!(found.as_deref(), Some(Path::new(to)), "{link}: {run}");
    }
}

/// If a `..` on the way leads out of a directory, that directory does not move. Its contents are free.
#[test]
fn what_a_way_to_the_control_plane_leads_out_of_stays() {
    let scratch = Scratch::new();
    for dir in ["ws/via/e", "ws/side/e", "ws/dot/x", "home/.config"] {
        std::fs::create_dir_all(scratch.path(dir)).expect("a folder");
    }
    for file in ["ws/conf/policy", "ws/conf/extra", "ws/dot/own/config.toml"] {
        scratch.write(file, "[file_policy]\n");
    }
    let links = [
        ("ws/jp-confine.toml", "via/e/../../conf/policy"),
        ("home/.config/jp-confine", "../../ws/dot/x/../own"),
    ];
    for (link, to) in links {
        symlink(to, scratch.path(link)).expect("a link");
    }
    let script = "for it in via/e via side/e side dot/x dot; do
                    echo x > $it/file; mv $it moved; rm -rf $it; ln -sfn /tmp $it; done; exit 0";
    let line = ["-p", "side/e/../../conf/extra", "--", "sh", "-c", script];
    let run = product(&scratch, &line).run();
    run.assert_ok();
    for dir in ["ws/via/e", "ws/side/e", "ws/dot/x"] {
        let found = scratch.path(dir).symlink_metadata().expect("it is there");
        assert!(found.is_dir(), "{dir}: {run}");
    }
    for file in ["ws/conf/policy", "ws/conf/extra", "ws/dot/own/config.toml"] {
        assert_eq!(scratch.read(file), "[file_policy]\n", "{file}: {run}");
    }
    let line = ["--", "sh", "-c", "echo x > via/e/new && mkdir via/e/dir && rm -r via/e/dir"];
    product(&scratch, &line).run().assert_ok();
    assert_eq!(scratch.read("ws/via/e/new"), "x\n");
}

/// A program that may not read the policy is told the reason, and not that nobody may change the policy.
#[test]
fn who_may_not_read_the_policy_is_told_why() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'file'\nread = true\n");
    scratch.write(
        "home/.config/jp-confine/config.toml",
        &scratch.expand("[profiles.own]\ndeny = ['$WS']\n"),
    );
    let kept = "the workspace's policy file, never writable from inside";
    for (profile, reads) in [
        ("none", "access.fs is declared, and no rule covers this"),
        ("own", &scratch.expand("profile own: $WS")),
    ] {
        let tell = |line: &[&str]| product(&scratch, &[line, &["jp-confine.toml"]].concat()).run();
        let run = tell(&["--profile", profile, "--", "cat"]);
        run.assert_code(1).assert_stderr(reads);
        assert!(!run.stderr.contains(kept), "{run}");
        let explained = tell(&["--profile", profile, "explain"]);
        explained.assert_stdout(&format!("read     deny   {reads}"));
        explained.assert_stdout(&format!("update   deny   {kept}"));
    }
}

/// A run cannot create a policy file for the next run.
#[test]
fn no_policy_can_be_planted() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("ws/.git")).expect("a marker");
    let script =
        scratch.expand("echo > jp-confine.toml; mkdir -p $HOME/.config/jp-confine; exit 0");
    product(&scratch, &["--", "sh", "-c", &script]).run().assert_ok();
    assert!(!scratch.path("ws/jp-confine.toml").exists());
    assert!(!scratch.path("home/.config/jp-confine").exists());
}

#[test]
fn the_secret_is_not_in_the_events() {
    let scratch = Scratch::new();
    let log = scratch.path("events.jsonl");
    let script = scratch.expand("cat $OUT/secret");
    product(&scratch, &["--events", log.to_str().expect("UTF-8"), "--", "sh", "-c", &script]).run();
    assert!(!scratch.read("events.jsonl").contains(SECRET));
}

/// If a parent closed the library's descriptors, the program gets the run's page from the supervisor. That is no
/// denial.
#[test]
fn closed_descriptors_are_no_denial() {
    if !have("python3") {
        return skip("no python3");
    }
    let scratch = Scratch::new();
    let script = "import subprocess; subprocess.run(['mkdir', 'made'], close_fds=True)";
    let run = product(&scratch, &["--", "python3", "-c", script]).run();
    run.assert_ok();
    assert!(scratch.ws().join("made").exists() && !run.stderr.contains("denied"), "{run}");
}

/// A person who followed the suggestion does not get it again.
#[test]
fn sensitive_files_are_warned_of_until_they_are_denied() {
    for place in [".env", "apps/web/config/.env"] {
        let scratch = Scratch::new();
        scratch.write(&format!("ws/{place}"), "TOPSECRET");
        let run =
            |options: &[&str]| product(&scratch, &[options, &["--", "true"][..]].concat()).run();
        let told = format!("programs here may read {place};");
        run(&[]).assert_ok().assert_stderr(&told);
        run(&["--mount", "m=../out/dir"]).assert_ok().assert_stderr(&told);
        let denied = run(&["--deny", place]);
        assert!(!denied.assert_ok().stderr.contains(".env"), "{denied}");
        let removed = product(&scratch, &["--", "rm", place]).run();
        assert!(!removed.assert_ok().stderr.contains(".env"), "{removed}");
    }
}

/// Types in a shell the command that a run of `script` printed after `before`, followed by `rest`. Returns the output
/// of another run of the script.
fn paste(scratch: &Scratch, script: &str, before: &str, rest: &str) -> String {
    let run = || product(scratch, &["--", "sh", "-c", script]).run().stderr;
    let told = run();
    let (_, command) = told.split_once(before).unwrap_or_else(|| panic!("{before}: {told}"));
    let command = command.lines().next().unwrap_or_default();
    let line = command.replacen("jp-confine", PRODUCT, 1) + rest;
    Run::sh(scratch, &line).mode(Mode::Bare).run().assert_ok();
    run()
}

/// Names in suggested commands are words of a shell, and no options. So nobody runs anything by committing a name.
#[test]
fn commands_that_are_told_can_be_typed() {
    let names = ["a b", "x; touch pwned #", "it's", "$HOME", "-dash", "`touch pwned`"];
    for name in names {
        let scratch = Scratch::new();
        symlink(scratch.out(), scratch.ws().join(name)).expect("linked");
        let rule = format!("[[access.fs]]\npath = {name:?}\nexternal = true\nread = true\n");
        let rest = "[[access.fs]]\npath = '.'\nread = true\n";
        scratch.write("ws/jp-confine.toml", &(rule + rest));
        let before = "if it is meant: ";
        assert!(!paste(&scratch, "true", before, "").contains(before), "{name}");
        product(&scratch, &["approvals", "revoke", &format!("./{name}")]).run().assert_ok();
        let script = format!("cat './{}/secret'", name.replace('\'', r"'\''"));
        assert!(!paste(&scratch, &script, "allow: ", "").contains("denied"), "{name}");

        let pattern = format!("/**/{name}");
        let policy = format!("[file_policy]\nread_paths = [{pattern:?}]\n");
        scratch.write("ws/jp-confine.toml", &policy);
        let before = "to allow it: ";
        assert!(!paste(&scratch, "true", before, "").contains(before), "{name}");

        std::fs::remove_file(scratch.ws().join("jp-confine.toml")).expect("removed");
        std::fs::remove_file(scratch.ws().join(name)).expect("removed");
        scratch.write(&format!("ws/{name}/.env"), "TOPSECRET");
        paste(&scratch, "true", "to keep one from them: ", " -- sh -c '! cat ./*/.env'");
        assert!(!scratch.ws().join("pwned").exists(), "{name}");
    }
}

/// A rule on the file itself is a permanent grant: nobody is prompted, and everybody is warned (spec §10).
#[test]
fn a_rule_that_names_a_sensitive_file_is_warned_of() {
    let scratch = Scratch::new();
    scratch.write("ws/.env", "TOPSECRET");
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.env'\nread = true\n");
    let events = scratch.path("out/events");
    let events = events.to_str().expect("UTF-8");
    let told = "because rules name them: rule `.env`";
    let run =
        |options: &[&str]| product(&scratch, &[options, &["--", "cat", ".env"]].concat()).run();
    run(&["--events", events]).assert_ok().assert_stderr(told);
    let log = std::fs::read_to_string(events).expect("events");
    assert!(log.lines().any(|line| line.contains("warning") && line.contains(told)), "{log}");
    run(&["--dry-run"]).assert_ok().assert_stderr(told);
    assert!(!run(&["-q"]).assert_ok().stderr.contains(told));
}

/// A program that fills the disk keeps no denial from the report. Without a supervisor it can, and the report says so.
#[test]
fn denials_on_a_full_disk() {
    if !rustix::process::geteuid().is_root() || !have("unshare") {
        return skip("only root can mount");
    }
    let scratch = Scratch::new();
    let fill = "head -c 400000 /dev/zero > $TMPDIR/f; cat $OUT/secret";
    for (enforce, expected) in [
        ("layered", "denied read $OUT/secret by cat"),
        ("cooperative", "no room is left for the record of denials"),
    ] {
        let script = format!(
            "mount -t tmpfs -o size=256k none $WS/../tmp || exit 77; \
             exec {PRODUCT} --enforce {enforce} -- sh -c '{fill}'"
        );
        let script = scratch.expand(&script);
        let args = ["-m", "--propagation", "private", "sh", "-c", &script];
        let outcome = Run::new(&scratch, "unshare", &args).mode(Mode::Bare).run();
        if outcome.code() == 77 || outcome.stderr.contains("unshare failed") {
            return skip("nothing can be mounted");
        }
        outcome.assert_no_secret().assert_stderr("No space left on device");
        outcome.assert_stderr(&scratch.expand(expected));
    }
}

/// A program in memory has no path, and is reported nevertheless.
#[test]
fn programs_in_memory_are_told_of() {
    if !have("python3") {
        return skip("no python3");
    }
    let scratch = Scratch::new();
    let script = "import os\nfd = os.memfd_create('m')\nos.write(fd, open('/bin/true', 'rb').read())\n\
                  try: os.execve(fd, ['true'], {})\nexcept PermissionError: exit('refused')";
    let run = product(&scratch, &["--", "python3", "-c", script]).run();
    run.assert_code(1).assert_stderr("refused").assert_stderr("denied execute /memfd:m (deleted)");
}

#[test]
fn events_that_cannot_be_written() {
    let scratch = Scratch::new();
    let script = scratch.expand("cat $OUT/secret");
    let outcome = Run::sh(&scratch, &script).mode(Mode::Confined).flags(&["--events", "/dev/full"]);
    outcome.run().assert_stderr("events could not be written to /dev/full: No space left");
}

/// The outer run does not report what a nested launcher looks up for itself. It does report other programs of that
/// name.
#[test]
fn what_a_launcher_inside_looks_up_for_itself_is_no_news() {
    let scratch = Scratch::new();
    scratch.write("home/.config/jp-confine/config.toml", "");
    std::fs::create_dir_all(scratch.path("home/.local/share/jp-confine/workspaces")).expect("made");
    scratch.copy_program(Path::new(PRODUCT), "ws/inner");
    scratch.write("ws/dir/file", "");
    let outer = ["--deny", "dir", "-x", PRODUCT, "--"];
    for program in [PRODUCT, "./inner"] {
        let run = product(&scratch, &[&outer[..], &[program, "--", "false"]].concat()).run();
        assert!(!run.assert_code(1).stderr.contains("denial"), "{run}");
    }
    scratch.copy_program(Path::new("/bin/cat"), "ws/jp-confine");
    let config = scratch.expand("$HOME/.config/jp-confine/config.toml");
    let other = product(&scratch, &["--", "./jp-confine", &config]).run();
    other.assert_code(1).assert_stderr("config/jp-confine/config.toml by jp-confine");
}

/// The target of a symlink is also reported by the name that was used, because the denial may be about that name alone.
#[test]
fn what_a_link_leads_to_is_named_by_the_link_too() {
    let scratch = Scratch::new();
    let (pattern, rule) = (
        "[file_policy]\ndeny_paths = ['**/*.pem']\n",
        "[[access.fs]]\npath = '.'\nread = true\n
        [[access.fs]]\npath = 'fork'\nread = true\nexternal = true\n",
    );
    scratch.write("ws/dir/note", "x");
    symlink("note", scratch.path("ws/dir/k.pem")).expect("linked");
    symlink("../out", scratch.path("ws/fork")).expect("linked");
    for (policy, path, route) in
        [(pattern, "dir/note", "dir/k.pem"), (rule, "$OUT/secret", "fork/secret")]
    {
        scratch.write("ws/jp-confine.toml", policy);
        let denied = product(&scratch, &["--", "cat", route]).run();
        denied.assert_stderr(&scratch.expand(&format!("denied read {path} via {route} by cat\n")));
        let why = product(&scratch, &["why", "--last"]).run();
        why.assert_stdout(&format!("\n  reached by {route}\n"));
    }
    scratch.write("ws/jp-confine.toml", pattern);
    let explained = product(&scratch, &["explain", "dir/k.pem"]).run();
    explained.assert_stdout("`**/*.pem` of deny_paths matches");
}

/// Makes eight thousand denials of long paths, each in a directory of its own, and then says so.
fn many_denials(scratch: &Scratch) -> String {
    let long = vec!["d".repeat(200); 8].join("/");
    scratch.expand(&format!(
        "i=0; while [ $i -lt 8000 ]; do true < $OUT/{long}/$i/x; i=$((i + 1)); done 2>/dev/null; \
         echo end > done; exit 1"
    ))
}

#[test]
fn a_report_of_many_denials_is_soon_there() {
    let scratch = Scratch::new();
    let script = many_denials(&scratch);
    let run = product(&scratch, &["--", "sh", "-c", &script]).limit(Duration::from_secs(100)).run();
    run.assert_code(1).assert_stderr("8000 denials");
    product(&scratch, &["why", "--last"]).run().assert_stdout("8000 denials in the last run");
}

/// A person who waits for the report can interrupt it, too.
#[test]
fn a_report_can_be_interrupted() {
    let scratch = Scratch::new();
    let script = many_denials(&scratch);
    let mut command = product(&scratch, &["--", "sh", "-c", &script]).command();
    let mut launcher = command.stderr(Stdio::null()).spawn().expect("started");
    scratch.await_file("ws/done");
    std::thread::sleep(Duration::from_millis(200));
    let pid = rustix::process::Pid::from_child(&launcher);
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let status = wait(&mut launcher, Duration::from_secs(30), "a launcher that was interrupted");
    assert_eq!(status.code(), Some(1));
}
