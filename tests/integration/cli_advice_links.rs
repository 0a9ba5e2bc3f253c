//! Suggestions about names that are symlinks by the time of the suggestion.

use std::os::unix::fs::symlink;

use crate::cli_advice::{self, allow, attempt, denials, rules, texts, tree};
use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, have};
use crate::scratch::Scratch;

/// Follows the last suggestions for `script`, as rules and as options. Both must allow it. `restart` restores the
/// files, with these rules added.
fn both_ways_do(scratch: &Scratch, script: &str, restart: impl Fn(&str)) {
    let advice = denials(scratch);
    let options = texts(&advice, "options").join(" ");
    restart(&rules(&advice));
    attempt(scratch, script).assert_ok();
    restart("");
    let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
    let run = Run::new(scratch, "sh", &["-c", &line, script]);
    run.mode(Mode::Bare).run().assert_ok();
}

/// A suggestion does not follow a symlink that the run itself created. It applies to the symlink's name, for a run that
/// starts from the same files.
#[test]
fn a_link_made_since_is_not_followed() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'new'\nread = true\ncreate = true\n
[[access.fs]]\npath = 'new/link'\nread = true\ncreate = true\n";
    for script in [
        "ln -s dir new; rm new",
        "ln -s dir new; touch -h new",
        "mkdir new; ln -s ../dir new/link; touch -h new/link",
    ] {
        let scratch = tree();
        let restart = |rules: &str| {
            Run::sh(&scratch, "rm -rf new").mode(Mode::Bare).run().assert_ok();
            scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
        };
        restart("");
        let denied = attempt(&scratch, script);
        assert_ne!(denied.code(), 0, "{script}: allowed from the start");
        denied.assert_stderr("first remove the link new");
        both_ways_do(&scratch, script, restart);
    }
}

/// An option that names a symlink applies to its target, and does not make the symlink itself visible. A program that
/// looks through the symlink needs that. So the suggestion is a pattern, which applies to the name.
#[test]
fn what_is_looked_at_through_a_link_is_opened_by_its_name() {
    for files in [&["h"][..], &["h", "i", "k"]] {
        let scratch = tree();
        for name in files {
            scratch.write(&format!("home/data/{name}"), "x");
        }
        symlink("data", scratch.path("home/lk")).expect("linked");
        let looked: Vec<String> = files.iter().map(|name| format!("ls -l ~/lk/{name}")).collect();
        let script = looked.join(" && ");
        assert_ne!(attempt(&scratch, &looked.join("; ")).code(), 0, "allowed from the start");
        let advice = denials(&scratch);
        assert_eq!(texts(&advice, "options"), Vec::<String>::new());
        let why = product(&scratch, &["why", "--last"]).run();
        assert!(!why.stdout.contains("jp-confine -r"), "{why}");
        allow(&scratch);
        attempt(&scratch, &script).assert_ok();
    }
}

/// A rule on a directory does not cover the sensitive names in it.
#[test]
fn a_link_under_a_sensitive_name_is_made_by_leave_of_that() {
    for script in ["ln -s dir .env.new", "ln -sf dir .env.old", "ln -s ../out/dir .env.new"] {
        let scratch = tree();
        let restart = |rule: &str| {
            Run::sh(&scratch, "rm -f .env.*").mode(Mode::Bare).run().assert_ok();
            scratch.write("ws/.env.old", "old");
            let policy = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
            scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rule}"));
        };
        restart("");
        assert_ne!(attempt(&scratch, script).code(), 0, "{script}: allowed from the start");
        both_ways_do(&scratch, script, restart);
    }
}

/// Nobody is prompted for a path that a rule or an option names. A file that is sensitive only by the name of a symlink
/// can still be deleted.
#[test]
fn what_a_sensitive_link_leads_to_is_allowed_by_leave_of_that() {
    for script in ["cat .env", "cat .env && echo x >> .env", "echo x > .env.new"] {
        let scratch = tree();
        scratch.write("ws/cfg/prod", "KEY=1\n");
        symlink("cfg/prod", scratch.ws().join(".env")).expect("linked");
        symlink("cfg/new", scratch.ws().join(".env.new")).expect("linked");
        let restart = |rule: &str| {
            Run::sh(&scratch, "rm -f cfg/new").mode(Mode::Bare).run().assert_ok();
            let policy = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
            scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rule}"));
        };
        restart("");
        assert_ne!(attempt(&scratch, script).code(), 0, "{script}: allowed from the start");
        let rules = rules(&denials(&scratch));
        both_ways_do(&scratch, script, restart);
        restart(&rules);
        attempt(&scratch, "rm -f cfg/prod cfg/new").assert_ok();
    }
}

/// Once a symlink exists, a rule on its name applies to its target. So a program that creates symlinks needs a grant on
/// the directory each time.
#[test]
fn a_link_is_made_by_leave_of_its_directory() {
    let read = "[[access.fs]]\npath = '.'\nread = true\n";
    let external = "delete = true\n[[access.fs]]\npath = 'lnk'\nexternal = true\nread = true\n";
    for (rules, script) in [
        ("", "ln -s ../out/dir lnk"),
        ("", "ln -s dir lnk"),
        (external, "rm -f lnk; ln -s ../out lnk"),
    ] {
        let scratch = tree();
        let restart = |added: &str| {
            Run::sh(&scratch, "rm -f lnk").mode(Mode::Bare).run().assert_ok();
            if rules == external {
                symlink("../out/dir", scratch.ws().join("lnk")).expect("linked");
            }
            scratch.write("ws/jp-confine.toml", &format!("{read}{rules}{added}"));
        };
        restart("");
        if rules == external {
            product(&scratch, &["approvals", "approve", "lnk"]).run().assert_ok();
        }
        assert_ne!(attempt(&scratch, script).code(), 0, "{script}: allowed from the start");
        let advice = cli_advice::rules(&denials(&scratch));
        assert!(!advice.contains("lnk"), "{advice}");
        restart(&advice);
        attempt(&scratch, script).assert_ok();
        if rules.is_empty() {
            attempt(&scratch, "true").assert_ok();
        }
    }
}

/// A grant on a name behind a symlink applies to the target. So there is nothing to grant if the symlink dangles.
#[test]
fn what_a_link_leads_nowhere_with_cannot_be_allowed() {
    let scratch = Scratch::new();
    scratch.write("out/dir/file", "x");
    symlink("../nothere", scratch.ws().join("dangling")).expect("linked");
    symlink("../out", scratch.ws().join("fork")).expect("linked");
    let external = |path| format!("[[access.fs]]\npath = '{path}'\nexternal = true\n");
    let rules = format!("{}read = true\n{}", external("fork"), external("fork/secret"));
    scratch
        .write("ws/jp-confine.toml", &format!("[[access.fs]]\npath = '.'\nread = true\n{rules}"));
    product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
    for script in ["echo x > dangling/new", "echo x > dangling/new/file", "mkdir dangling/new"] {
        let run = attempt(&scratch, script);
        assert_ne!(run.code(), 0, "{script}: allowed");
        run.assert_stderr("its link leads to nothing on this machine, so that");
        assert!(!run.stderr.contains("allow: ") && !run.stderr.contains("path ="), "{run}");
    }
    // A `..` on the way changes nothing about the place that is missing.
    for script in ["cat fork/secret/file", "cat fork/dir/../secret/file"] {
        attempt(&scratch, script);
        let denials = denials(&scratch);
        let options = texts(&denials, "options").join(" ");
        assert_eq!(options, scratch.expand("-r $OUT/secret"), "{script}");
    }
}

/// If a program may not know that a file is missing, its denial has the path as spelled. The suggestion has the target
/// of the symlink.
#[test]
fn what_is_not_there_behind_a_link_is_allowed_where_that_leads() {
    for script in [
        "touch lnk/new",
        "python3 -c 'import os; os.truncate(\"lnk/new\", 0)'",
        "python3 -c 'import os; os.utime(\"lnk/new\")'",
        "touch lnk/none/new",
    ] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path("home/dir")).expect("made");
        symlink("../home/dir", scratch.ws().join("lnk")).expect("linked");
        scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'file'\nread = true\n");
        let run = attempt(&scratch, script);
        assert_ne!(run.code(), 0, "{script}: allowed");
        assert!(!run.stderr.contains("its link leads to nothing"), "{run}");
        let denials = denials(&scratch);
        let options = texts(&denials, "options");
        assert!(!options.is_empty(), "{script}: {run}");
        for options in options {
            let line: Vec<&str> = options.split(' ').chain(["--", "sh", "-c", script]).collect();
            let again = product(&scratch, &line).run();
            assert!(!again.stderr.contains("denied"), "{script}: {again}");
        }
    }
}

/// Anything else in the place of a symlink that an external rule needs would deny every later run.
#[test]
fn where_an_external_rule_lacks_its_link_nothing_else_is_made() {
    let rule = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
    let rules = format!("{rule}[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n");
    for script in ["mkdir fork", "mkdir fork/inner", "echo x > fork", "mkdir -p q && mv -T q fork"]
    {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", &rules);
        let run = attempt(&scratch, script);
        assert_ne!(run.code(), 0, "{script}: allowed");
        run.assert_stderr("make that, as with --mount fork=PATH, or take the rule out");
        assert!(!run.stderr.contains("allow: ") && !run.stderr.contains("path ="), "{run}");
        scratch.write("ws/jp-confine.toml", rule);
        attempt(&scratch, &script.replace("mkdir fork/", "mkdir -p fork/")).assert_ok();
    }
}

/// A rule does not count until its symlink's target is approved. The symlink itself belongs to its directory.
#[test]
fn a_link_that_is_not_approved_goes_once_it_is() {
    for script in ["rm fork", "mv fork fork2"] {
        let scratch = tree();
        symlink("../out/dir", scratch.ws().join("fork")).expect("linked");
        let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\nwrite = true\n";
        scratch.write("ws/jp-confine.toml", policy);
        let workspace = scratch.ws();
        let workspace = workspace.to_str().expect("UTF-8");
        let denied = attempt(&scratch, script);
        denied
            .assert_stderr("first: jp-confine approvals approve fork")
            .assert_stderr(&format!("then allow: jp-confine -w {workspace}\n"));
        product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
        product(&scratch, &["-w", workspace, "--", "sh", "-c", script]).run().assert_ok();
    }
}

/// Until its target is approved, nothing else gets the symlink's name. The suggestion for that works by options and by
/// rules.
#[test]
fn a_link_that_is_not_approved_is_replaced_once_it_is() {
    let rule = |path| format!("[[access.fs]]\npath = '{path}'\nread = true\n");
    let external = |path| format!("{}external = true\n", rule(path));
    let inside = format!("{}create = true\nupdate = true\n", rule("."));
    let policy = format!("{inside}\n{}\n{}\n", external("fork"), external("other"));
    let rows: [(&str, &[&str]); 3] = [
        ("mv -fT x fork", &["fork"]),
        ("ln -sfn x fork", &["fork"]),
        ("mv -T fork other", &["fork", "other"]),
    ];
    for (script, names) in rows {
        for by_options in [true, false] {
            let scratch = tree();
            for link in ["fork", "other"] {
                symlink("../out/dir", scratch.ws().join(link)).expect("linked");
            }
            scratch.write("ws/x", "x");
            scratch.write("ws/jp-confine.toml", &policy);
            let denied = attempt(&scratch, script);
            assert_ne!(denied.code(), 0, "{script}: allowed from the start");
            let approvals: Vec<String> =
                names.iter().map(|name| format!("jp-confine approvals approve {name}")).collect();
            denied.assert_stderr(&format!("first: {}\n", approvals.join(" && ")));
            let advice = denials(&scratch);
            for name in names {
                product(&scratch, &["approvals", "approve", name]).run().assert_ok();
            }
            let mut options = String::new();
            if by_options {
                options = [texts(&advice, "then"), texts(&advice, "options")].concat().join(" ");
            } else {
                let rules = rules(&advice);
                scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
            }
            let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
            let again = Run::new(&scratch, "sh", &["-c", &line, script]).mode(Mode::Bare).run();
            assert_eq!(again.code(), 0, "{script}: {options}: {again}");
        }
    }
}

/// The symlink itself exists. It can be changed once there is no rule on it.
#[test]
fn a_dangling_link_changes_without_its_rule() {
    let rule = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
    for script in ["rm fork", "mv fork other", "touch x; mv -f x fork", "touch -h fork"] {
        let scratch = Scratch::new();
        symlink("../nothere", scratch.ws().join("fork")).expect("linked");
        let rules = format!("{rule}[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n");
        scratch.write("ws/jp-confine.toml", &rules);
        let run = attempt(&scratch, script);
        assert_ne!(run.code(), 0, "{script}: allowed");
        run.assert_stderr(
            "the rule is for what its link leads to, which is not there: take the rule out",
        );
        assert!(!run.stderr.contains("allow: ") && !run.stderr.contains("path ="), "{run}");
        scratch.write("ws/jp-confine.toml", rule);
        attempt(&scratch, script).assert_ok();
    }
}

/// External rules below a directory keep it in its place until they are approved. If no more grants are needed then,
/// only the approvals are suggested.
#[test]
fn approvals_alone_are_advised_where_they_do() {
    let rule = |path| format!("[[access.fs]]\npath = '{path}'\nread = true\nwrite = true\n");
    let external = |path| format!("{}external = true\n", rule(path));
    let exchange = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); \
        raise SystemExit(-libc.renameat2(-100, b'fork', -100, b'other', 2))";
    let rows: [(&str, &[&str]); 3] = [
        ("mv -T sub sub2", &["sub/link"]),
        ("mv -T fork other", &["fork", "other"]),
        (&format!("python3 -c \"{exchange}\""), &["fork", "other"]),
    ];
    for (script, names) in rows {
        if script.starts_with("python3") && !have("python3") {
            continue;
        }
        let scratch = tree();
        Run::sh(&scratch, "mkdir sub").mode(Mode::Bare).run().assert_ok();
        let mut policy = rule(".");
        for name in names {
            symlink(scratch.path("out/dir"), scratch.ws().join(name)).expect("linked");
            policy.push_str(&external(name));
        }
        scratch.write("ws/jp-confine.toml", &policy);
        let denied = attempt(&scratch, script);
        assert_ne!(denied.code(), 0, "{script}: allowed from the start");
        let approvals: Vec<String> =
            names.iter().map(|name| format!("jp-confine approvals approve {name}")).collect();
        denied.assert_stderr(&format!("allow: {}\n", approvals.join(" && ")));
        let why = product(&scratch, &["why", "--last"]).run();
        why.assert_stdout(&format!("allow: {}\n", approvals.join(" && ")));
        for name in names {
            product(&scratch, &["approvals", "approve", name]).run().assert_ok();
        }
        attempt(&scratch, script).assert_ok();
    }
}

/// An option allows it for one run without an approval. The permanent setting needs the approved symlink.
#[test]
fn what_an_approval_lets_be_written_is_advised_beside_the_option() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    let scratch = tree();
    scratch.write("out/file", "x");
    symlink(scratch.path("out/file"), scratch.ws().join("fork")).expect("linked");
    scratch.write("ws/jp-confine.toml", policy);
    let script = "echo y > fork";
    let denied = attempt(&scratch, script);
    assert_ne!(denied.code(), 0, "allowed from the start");
    let approve = "what is added to files counts after: jp-confine approvals approve fork";
    denied.assert_stderr(approve);
    let told = product(&scratch, &["why", "--last"]).run().stdout;
    assert!(told.contains(approve) && !told.contains("nothing to write down"), "{told}");
    let advice = denials(&scratch);
    let (options, rules) = (texts(&advice, "options").join(" "), rules(&advice));
    let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
    Run::new(&scratch, "sh", &["-c", &line, script]).mode(Mode::Bare).run().assert_ok();
    product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
    scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
    attempt(&scratch, script).assert_ok();
}

/// Suggested commands work where they are read. They name the workspace, unless it is found from below or from itself.
#[test]
fn commands_that_are_named_are_about_the_workspace_of_the_run() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n
[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    for (place, named) in [("", "-C ws "), ("ws/dir", ""), ("out", "-C '../w s' "), ("ws", "")] {
        let scratch = tree();
        symlink("ws", scratch.path("w s")).expect("linked");
        symlink("../out/dir", scratch.ws().join("fork")).expect("linked");
        scratch.write("out/dir/one", "");
        scratch.write("ws/jp-confine.toml", policy);
        let place = scratch.path(place);
        let typed = |line: &str| {
            let line = line.replacen("jp-confine", PRODUCT, 1);
            Run::new(&scratch, "sh", &["-c", &line]).mode(Mode::Bare).cwd(&place).run()
        };
        let read = format!("jp-confine {named}-- cat {}/fork/one", scratch.ws().display());
        let denied = typed(&read);
        assert_ne!(denied.code(), 0, "{named}: allowed from the start");
        let approve = format!("jp-confine {named}approvals approve fork\n");
        let why = format!("jp-confine {named}why --last\n");
        for words in ["if it is meant: ", "allow: "] {
            denied.assert_stderr(&format!("{words}{approve}"));
        }
        denied.assert_stderr(&format!("details: {why}"));
        typed(&why).assert_ok().assert_stdout(&format!("allow: {approve}"));
        typed(&approve).assert_ok();
        typed(&read).assert_ok();
    }
}

/// For the whole target of an external rule, one more rule on its symlink grants more, without another approval. For a
/// part of it, a profile does.
#[test]
fn a_rule_on_a_link_that_leads_out_is_advised_where_it_grants_too_little() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    for script in [
        "sed -i s/a/b/ fork/one",
        "sed -i s/a/b/ $OUT/dir/one",
        "for name in one two three; do echo x > fork/$name; done",
        "touch fork",
    ] {
        let scratch = tree();
        symlink("../out/dir", scratch.ws().join("fork")).expect("linked");
        for name in ["one", "two", "three"] {
            scratch.write(&format!("out/dir/{name}"), "a");
        }
        scratch.write("ws/jp-confine.toml", policy);
        product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
        let denied = attempt(&scratch, script);
        assert_ne!(denied.code(), 0, "{script}: allowed from the start");
        denied.assert_stderr("jp-confine allow");
        let told = product(&scratch, &["why", "--last"]).run().stdout;
        assert!(!told.contains("nothing to write down"), "{told}");
        let told = product(&scratch, &["allow", "1", "--yes"]).run();
        told.assert_ok().assert_stdout("external = true");
        attempt(&scratch, script).assert_ok();
    }
}

/// If two symlinks lead to one place, the rule on the symlink that was used counts, whichever is declared last. The
/// suggestion adds to what that rule grants.
#[test]
fn of_two_links_to_one_place_the_one_taken_is_advised_about() {
    let external =
        |path, caps| format!("[[access.fs]]\npath = '{path}'\nexternal = true\n{caps}\n");
    let (read, write) = ("read = true", "read = true\nwrite = true");
    let (none_read, read_write, nested) = (
        external("one", "") + &external("two", read),
        external("one", read) + &external("two", write),
        external("one/sub", "") + &external("one", read) + &external("two", read),
    );
    for (rules, script, has_rule) in [
        (&none_read, "cat one/file", false),
        (&none_read, "ls one", true),
        (&none_read, "cat one/file; cat one/sub/file; cat one/sub/other; cat one/sub/third", false),
        (&read_write, "chmod 600 one/sub/file", false),
        (&read_write, "echo x >> one/sub/file", false),
        (&read_write, "touch one/sub/new", false),
        // One more rule on the symlink would be the last, and would take away what the other one grants.
        (&read_write, "touch one", false),
        (&read_write, "mktemp one/XXXXXXXXXX", true),
        (&nested, "ls one/sub", true),
        (&nested, "for name in file other third; do cat one/sub/$name; done", true),
    ] {
        let scratch = tree();
        for name in ["file", "sub/file", "sub/other", "sub/third"] {
            scratch.write(&format!("out/other/{name}"), "x");
        }
        symlink("../out/other", scratch.ws().join("one")).expect("linked");
        let behind = if *rules == nested { "../out/other/sub" } else { "../out/other" };
        symlink(behind, scratch.ws().join("two")).expect("linked");
        let policy = format!("[[access.fs]]\npath = '.'\nread = true\n{rules}");
        scratch.write("ws/jp-confine.toml", &policy);
        for link in
            ["one", "one/sub", "two"].iter().filter(|link| rules.contains(&format!("'{link}'")))
        {
            product(&scratch, &["approvals", "approve", link]).run().assert_ok();
        }
        assert_ne!(attempt(&scratch, script).code(), 0, "{script}: allowed from the start");
        let advice = denials(&scratch);
        let options = texts(&advice, "options").join(" ");
        let together = product(&scratch, &["allow", "1", "-y"]).run();
        let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]).mode(Mode::Bare).run();
        assert_eq!(run.code(), 0, "{script}: {options}: {run}");
        let told = together.stdout;
        assert_eq!(told.contains("external = true"), has_rule, "{script}: {told}");
        if has_rule {
            attempt(&scratch, script).assert_ok();
        }
    }
}

/// A mount is a rule on its symlink. It does not apply to a program that came by another one.
#[test]
fn a_mount_is_offered_to_who_came_by_its_link() {
    let policy = "[[access.fs]]\npath = '.'\nread = true\n
[[access.fs]]\npath = 'one'\nexternal = true\nexecute = true\n";
    for (link, is_approved, is_offered) in
        [("one", true, false), ("one", false, false), ("two", true, true)]
    {
        let scratch = tree();
        scratch.write("out/dir/file", "x");
        symlink("../out/dir", scratch.ws().join("one")).expect("linked");
        scratch.write("ws/jp-confine.toml", policy);
        let mount = format!("two={}", scratch.path("out/dir").display());
        product(&scratch, &["--mount", &mount, "--", "true"]).run().assert_ok();
        if is_approved {
            product(&scratch, &["approvals", "approve", "one"]).run().assert_ok();
        }
        let script = format!("cat {link}/file");
        assert_ne!(attempt(&scratch, &script).code(), 0, "{link}: allowed from the start");
        let options = texts(&denials(&scratch), "options").join(" ");
        assert_eq!(options.contains("--mount"), is_offered, "{options}");
        let line = format!("{PRODUCT} {options} -- {script}");
        Run::new(&scratch, "sh", &["-c", &line]).mode(Mode::Bare).run().assert_ok();
    }
}
