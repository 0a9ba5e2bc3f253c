//! All output fits a terminal of 80 columns, as far as words allow it.

use std::fmt::Write as _;

use crate::run::{PRODUCT, Run};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

const POLICY: &str = "\
[[access.fs]]
path = '.'
read = true
execute = true

[[access.fs]]
path = 'a/folder/with/an/ordinary/name/for/sources'
read = true
write = true

[[access.fs]]
path = 'the-fork-of-a-dependency'
external = true
read = true
write = true

[[access.fs]]
path = 'another-fork-of-a-dependency'
external = true
read = true

[access.commands.sh]

[access.commands.cat]
args = [['file', 'another', '**'], ['a/folder/with/an/ordinary/name/for/sources/of.things']]

[file_policy]
deny_paths = ['**/a/folder/that/nobody/should/see/**']
prompt_paths = ['<workspace>/infrastructure/production/**']
read_paths = ['/srv/data/of/other/projects/**']
";

/// Commands that print something. `J` is the product.
const COMMANDS: &[&str] = &[
    "J -v -- sh -c 'exec 2>/dev/null; cat file >infrastructure; cat $LONG/secret; \
     cat $LONG/other; echo >$LONG/new; echo >a/new; echo >/etc/passwd; cat the-fork-of-a-dependency/f; \
     /bin/ls -l --all $LONG; mv a/folder $LONG/moved'",
    "J why --last",
    "J mounts",
    "J approvals approve the-fork-of-a-dependency",
    "J explain the-fork-of-a-dependency/f",
    "J explain a/folder/with/an/ordinary/name/for/sources/of.things",
    "J explain $LONG/secret",
    "J explain net https://api.example.org/v1/resources/of/somebody/else",
    "J explain command cat file",
    "J doctor",
    "J authorize read $LONG/secret relative/path $PWD/file $PWD/the-fork-of-a-dependency/f",
    "J check delete a/folder/with/an/ordinary/name/for/sources/of.things a/new ../up /etc/passwd",
    "J -v --dry-run --deny a/new -- true",
    "J --no-net learn --force -- sh -c 'cat file $LONG/secret 2>/dev/null'",
    "J -p $LONG/missing.toml -- true",
    "J --mount x=$LONG:rw -- true",
    "J --mount x=$LONG/missing -- true",
    "J --no-mount=nothing-that-is-there -- true",
    "J --events /nowhere/that/anybody/knows/of/in/this/tree/events.jsonl -- true",
    "J -r a/folder/that/is/missing/in/this/workspace/today -- true",
    "J --net http://api.example.org/some/path/that/is/long -- true",
    "J -- $LONG/secret",
];

/// Whether a line is too long, and could have been broken. A quotation is one word.
fn is_too_long(line: &str) -> bool {
    let quoted = |word: &str| word.starts_with(['"', '\'', '`', '(']);
    let line = line.trim_start();
    line.chars().count() > 76 && line.contains(' ') && !quoted(line)
}

/// A line without the title of the window, which a long run sets and a terminal does not draw.
fn seen(line: &str) -> String {
    let mut parts = line.split("\x1b]");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| line + part.split_once("\x1b\\").map_or("", |(_, rest)| rest))
}

#[test]
fn lines_fit_a_terminal() {
    let scratch = Scratch::new();
    let long = scratch.path("out/of/the/workspace/and/rather/deep");
    scratch.write("ws/jp-confine.toml", POLICY);
    for file in ["secret", "other", "f"] {
        scratch.write(&format!("out/of/the/workspace/and/rather/deep/{file}"), "x\n");
    }
    scratch.write("ws/a/folder/with/an/ordinary/name/for/sources/of.things", "x\n");
    std::os::unix::fs::symlink(&long, scratch.path("ws/the-fork-of-a-dependency")).expect("linked");
    let mut script = String::new();
    for command in COMMANDS {
        let command = command.replacen('J', &format!("{PRODUCT} --non-interactive"), 1);
        let _ = writeln!(
            script,
            "echo '## '; {}",
            command.replace("$LONG", long.to_str().expect("UTF-8"))
        );
    }
    let run = Run::new(&scratch, "sh", &["-c", &script]).mode(crate::run::Mode::Bare);
    let mut terminal = Terminal::start(&run.env("NO_COLOR", "1"));
    terminal.end();
    let screen = terminal.screen();
    let parts = screen.split("## ").skip(1).zip(COMMANDS);
    assert_eq!(parts.clone().count(), COMMANDS.len(), "{screen}");
    let long: Vec<String> = parts
        .flat_map(|(part, command)| {
            let lines = part.lines().map(seen);
            let lines = lines.filter(|line| line.chars().count() > 80 && is_too_long(line));
            lines.map(move |line| format!("{command}:\n{line}\n"))
        })
        .collect();
    assert!(long.is_empty(), "{}\n{screen}", long.concat());
}
