//! Policies that somebody else wrote or compiled: a host's `Context`, what `compile` prints, and JP's own files.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::cli_status::product;
use crate::cli_vfs::SPEAK;
use crate::run::{Mode, Run};
use crate::scratch::Scratch;

/// A tree with a symlink `fork` to `out/dir`, and rules of all kinds.
fn tree() -> Scratch {
    let scratch = Scratch::new();
    symlink(scratch.path("out/dir"), scratch.path("ws/fork")).expect("a link");
    symlink(scratch.path("out"), scratch.path("ws/dropped")).expect("a link");
    scratch.write(
        "out/policy.toml",
        "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\ndelete = false\n\
         [[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n\
         [[access.fs]]\npath = 'dropped'\nexternal = true\nread = true\n\
         [[access.net]]\nhost = 'MÜNCHEN.example'\nallow = true\n\
         [[access.env]]\nname = 'AWS_*'\nread = true\n\
         [access.commands.sh]\n[access.commands.cat]\nargs = [['dir/**']]\n\
         [file_policy]\ndeny_paths = ['**/hidden']\nprompt_paths = ['**/asked']\n",
    );
    product(&scratch, &["approvals", "approve", "fork", "-p", "../out/policy.toml"])
        .run()
        .assert_ok();
    scratch
}

/// The answers of `check` about everything that [`tree`] has rules for.
fn answers(scratch: &Scratch, options: &[&str]) -> Vec<String> {
    let check = |words: &[&str]| {
        let line = [options, &["check"], words].concat();
        let run = product(scratch, &line).run();
        format!("{words:?}: {} {}", run.code(), run.stdout.lines().count())
    };
    let caps = ["read", "create", "update", "delete"];
    let paths =
        [".", "dir", "dir/new", "dir/hidden", "dir/asked", "fork", "fork/inner", "dropped/secret"];
    let of_paths = caps.iter().flat_map(|cap| paths.iter().map(move |path| [*cap, *path]));
    let others = [
        ["net", "https://xn--mnchen-3ya.example/"],
        ["net", "https://other.example/"],
        ["env", "AWS_REGION"],
        ["env", "EDITOR"],
        ["command", "sh"],
        ["command", "true"],
    ];
    of_paths.chain(others).map(|words| check(&words)).collect()
}

#[test]
fn what_compile_prints_is_a_policy() {
    let scratch = tree();
    let before = answers(&scratch, &["-p", "../out/policy.toml"]);
    let run = product(&scratch, &["-p", "../out/policy.toml", "compile"]).run();
    run.assert_ok().assert_stdout("xn--mnchen-3ya.example").assert_stdout("\"file_policy\"");
    scratch.write("out/compiled.json", &run.stdout);
    assert_eq!(answers(&scratch, &["-p", "../out/compiled.json"]), before);
    let again = product(&scratch, &["-p", "../out/compiled.json", "compile"]).run();
    let rules = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        ["fs", "net", "env", "commands", "file_policy"].map(|key| value[key].clone())
    };
    assert_eq!(rules(&again.stdout), rules(&run.stdout));
}

/// The target in a file that anybody could have committed is nobody's approval.
#[test]
fn a_received_target_counts_where_the_file_has_the_users_trust() {
    let scratch = tree();
    let policy = scratch.expand(
        r#"{"fs": [{"lexical_path": "", "read": true},
            {"lexical_path": "fork", "external": true, "approved_target": "$OUT/dir", "read": true},
            {"lexical_path": "dropped"}], "net": [], "env": []}"#,
    );
    product(&scratch, &["approvals", "revoke", "fork"]).run().assert_ok();
    scratch.write("out/wire.json", &policy);
    scratch.write("ws/wire.json", &policy);
    let check =
        |file: &str, path: &str| product(&scratch, &["-p", file, "check", "read", path]).run();
    check("../out/wire.json", "fork/inner").assert_ok();
    check("wire.json", "fork/inner").assert_code(1);
    for file in ["../out/wire.json", "wire.json"] {
        check(file, "file").assert_ok();
        check(file, "dropped/secret").assert_code(1);
    }
    product(&scratch, &["approvals", "list"]).run().assert_stderr("nothing outside");
    scratch.write("out/wire.json", r#"{"fs": [], "sandbox": {}}"#);
    check("../out/wire.json", "file").assert_code(125).assert_stderr("unknown key `sandbox`");
}

#[test]
fn a_hosts_context_names_workspace_and_rules() {
    let scratch = tree();
    let context = scratch.expand(
        r#"{"root": "$WS", "action": "run", "workspace_id": "w", "conversation_id": 7,
            "access": {"fs": [{"lexical_path": "dir", "read": true, "write": null}]}}"#,
    );
    scratch.write("out/context.json", &context);
    let check = |path: &str| {
        let line = ["--context", "../context.json", "check", "read", path];
        let from_file = product(&scratch, &line).cwd(&scratch.path("out/dir")).run();
        let line = ["--context", "-", "check", "read", path];
        let from_stdin =
            product(&scratch, &line).cwd(&scratch.out()).input(context.as_bytes()).run();
        assert_eq!(from_file.code(), from_stdin.code(), "{from_file}\n{from_stdin}");
        from_file.code()
    };
    assert_eq!([check("dir/inner"), check("file")], [0, 1]);
    let run = |input: &str, more: &[&str]| {
        let line = [&["--context", "-"], more, &["--", "cat", "file"]].concat();
        product(&scratch, &line).input(input.as_bytes()).run()
    };
    run(&scratch.expand(r#"{"root": "$WS", "access": null}"#), &[]).assert_ok();
    run(&context, &[]).assert_code(1).assert_stderr("denied read");
    for (input, why) in
        [("{}", "root"), (r#"{"root": "ws"}"#, "not absolute"), ("[]", "--context -")]
    {
        run(input, &[]).assert_code(125).assert_stderr(why);
    }
    run(&context, &["-C", "."]).assert_code(125);
    let served = run(&context, &["vfs"]);
    served.assert_code(125).assert_stderr("can be read only once");
}

#[test]
fn inside_a_run_the_policy_is_in_the_status() {
    let scratch = tree();
    let line = ["-p", "../out/policy.toml", "-x", crate::run::PRODUCT, "--", "sh", "-c"];
    let script = format!("{} status --json", crate::run::PRODUCT);
    scratch.write("out/policy.toml", "[[access.fs]]\npath = 'dir'\nread = true\n");
    let run = product(&scratch, &[&line[..], &[&script]].concat()).run();
    run.assert_ok();
    let status: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(status["access"]["fs"][0]["lexical_path"], "dir", "{status}");
    assert_eq!(status["access"]["fs"][0]["read"], true, "{status}");
}

type Files = &'static [(&'static str, &'static str)];

/// Files, whether `a` and `b` may then be read with `-p persona.toml`, and a warning.
const EXTENDING: &[(Files, [bool; 2], &str)] = &[
    (&[("persona.toml", "[style]\nreasoning.display = 'full'\n")], [true, true], ""),
    (
        &[
            ("persona.toml", "extends = ['skill/*.toml']\n[assistant]\nname = 'x'\n"),
            ("skill/a.toml", "[[conversation.tools.t.access.fs]]\npath = 'a'\nread = true\n"),
        ],
        [true, false],
        "",
    ),
    (
        &[
            (
                "persona.toml",
                "extends = ['first.toml', {path = 'last.toml', strategy = 'after'}]\n\
                              [[conversation.tools.t.access.fs]]\npath = 'a'\nread = true\n",
            ),
            ("first.toml", "[[conversation.tools.t.access.fs]]\npath = 'a'\n"),
            (
                "last.toml",
                "conversation.tools.t.access.fs = {strategy = 'replace', value = [{path = 'b', read = true}]}",
            ),
        ],
        [false, true],
        "",
    ),
    (
        &[
            ("persona.toml", "[assistant]\n"),
            (
                "config.d/deep/x.toml",
                "[[conversation.tools.t.access.fs]]\npath = 'b'\nread = true\n",
            ),
            ("config.d/README.md", "no policy"),
        ],
        [false, true],
        "",
    ),
    (
        &[("persona.toml", "extends = ['none.toml']\n[conversation.tools.t]\n")],
        [true, true],
        "extends none.toml, which is no file",
    ),
];

#[test]
fn files_that_a_jp_file_extends_count() {
    for (files, expected, warning) in EXTENDING {
        let scratch = Scratch::new();
        scratch.write("ws/a", "");
        scratch.write("ws/b", "");
        scratch.write("ws/jp-confine.toml", "[tools.t]\n");
        for (name, text) in *files {
            scratch.write(&format!("out/{name}"), text);
        }
        let options = ["-p", "../out/persona.toml", "--tool", "t", "check", "read"];
        for (path, expected) in ["a", "b"].iter().zip(expected) {
            let run = product(&scratch, &[&options[..], &[path]].concat()).run();
            assert_eq!(run.code() == 0, *expected, "{files:?} {path}: {run}");
            run.assert_stderr(warning);
        }
    }
}

/// A file, and why it is refused with `-p`.
const REFUSED: &[(&str, &str)] = &[
    ("extends = ['p.toml']\n[conversation]\n", "extends itself"),
    ("extends = ['[']\n[conversation]\n", "is no pattern"),
    ("extends = 7\n[conversation]\n", "expected a list"),
    ("[[conversation.tools.'*'.access.fs]]\npath = '.'\n", "would count for no tool"),
    ("[tools.'*'.file_policy]\ndeny_paths = ['**']\n", "would count for no tool"),
    ("[conversation.tools.t]\ncommand = 'a \"b'\n", "paired quotes"),
];

#[test]
fn what_would_be_ignored_is_refused() {
    for (text, why) in REFUSED {
        let scratch = Scratch::new();
        scratch.write("out/p.toml", text);
        let run = product(&scratch, &["-p", "../out/p.toml", "check", "read", "file"]).run();
        run.assert_code(125).assert_stderr(why);
    }
    let scratch = Scratch::new();
    scratch.write("out/p.toml", "[conversation.tools.'*']\nrun = 'ask'\n");
    product(&scratch, &["-p", "../out/p.toml", "check", "read", "file"]).run().assert_ok();
    scratch.write("ws/jp-confine.toml", "[conversation]\n[style]\n");
    product(&scratch, &["check", "read", "file"]).run().assert_ok();
    scratch.write("ws/jp-confine.toml", "[style]\n");
    let run = product(&scratch, &["check", "read", "file"]).run();
    run.assert_code(125).assert_stderr("unknown key `style`");
    scratch.write("ws/jp-confine.toml", "extends = ['x']\n[conversation]\n");
    let run = product(&scratch, &["check", "read", "file"]).run();
    run.assert_code(125).assert_stderr("counts in files that are named");
}

/// A word in more than one form: as a line, as words, in parts, and for a shell.
#[test]
fn the_file_service_starts_the_command_of_the_tool() {
    let scratch = Scratch::new();
    let script = format!("{SPEAK}tell result '{{\"content\":\"done '$1'\"}}'");
    scratch.write("ws/script", &script);
    let path = scratch.path("ws/script").display().to_string();
    let forms = [
        format!("'sh {path} \"o-k\"'"),
        format!("['sh', '{path}', 'o-k']"),
        format!("{{program = 'sh', args = ['{path}', 'o-k']}}"),
        format!("{{program = 'exec sh', args = ['{path}', 'o-k'], shell = true}}"),
    ];
    for form in &forms {
        scratch.write("ws/jp-confine.toml", &format!("[tools.t]\ncommand = {form}\n"));
        let run = product(&scratch, &["-x", &path, "--tool", "t", "vfs"]).run();
        assert_eq!(run.assert_ok().stdout, "done o-k\n", "{form}");
    }
    scratch.write("ws/jp-confine.toml", "[tools.t]\ncommand = 'x {{tool}}'\n[tools.u]\n");
    for (options, why) in [
        (&["--tool", "t", "vfs"][..], "parts that its host fills in"),
        (&["--tool", "u", "vfs"], "no policy file has a `command`"),
        (&["vfs"], "no tool is named"),
    ] {
        product(&scratch, options).run().assert_code(125).assert_stderr(why);
    }
    let typed = Run::new(&scratch, "true", &[]).flags(&["--tool", "t", "vfs"]);
    typed.mode(Mode::Confined).run().assert_stderr("without a result");
}
