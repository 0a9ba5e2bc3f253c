//! Runs the commands that README, tutorial and cookbook show, and compares their output with the shown one.
//!
//! A fenced block of the language `console` has commands after `$ `, continued after `> `, each with its output. The blocks
//! of a page run in their order, as an ordinary user with bash, in a home of the page's own. Each begins with
//! the working directory and the variables of the one before it. Comments on lines of their own say more:
//!
//! - `<!-- needs: git npm -->`: without one of these programs the page is skipped;
//! - `<!-- run: COMMAND -->`: runs this where the blocks run, and shows nothing of it;
//! - `<!-- types: y n -->`: the next block runs in a terminal, where a person types these answers to its prompts.
//!
//! `UPDATE_DOCS=1` writes the real output into the pages. [`Place::shown`] replaces what differs.
//! Where lines break does not count, since that depends on the length of paths. With a home as short as the shown one,
//! lines break as they do for a reader: `JP_CONFINE_TEST_FOLDER=/d`.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::layers::Holder;
use crate::run::{PRODUCT, SYSTEM_PATH, have, skip};
use crate::scratch::NOBODY;
use crate::sys::leave_terminal;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The home that pages show.
const HOME: &str = "/home/me";

/// Precedes each command's output. No command prints it (it is ASCII's record separator).
const MARK: char = '\x1e';

/// Begins each block with the working directory and the variables at the end of the one before it.
const KEEP: &str =
    ". \"$STATE\"; trap '{ export -p; echo \"cd \\\"$PWD\\\"\"; } > \"$STATE\"' EXIT\n";

/// A command, and the output that the page shows.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    /// The number of the command's first line in the page, from 0.
    line: usize,
    command: String,
    output: Vec<String>,
}

/// Commands that run in one shell.
#[derive(Debug, Default, PartialEq)]
struct Block {
    commands: Vec<Shown>,
    /// The answers to prompts. A block without answers runs without a terminal.
    answers: Vec<String>,
}

/// The value of a line `<!-- KEY: VALUE -->`.
fn comment<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix("<!-- ")?.strip_prefix(key)?.strip_prefix(": ")?.strip_suffix(" -->")
}

/// The blocks of a page. A hidden command is a block, too.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut answers = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in page.lines().enumerate() {
        if let Some(mut block) = open.take() {
            if text == "```" {
                blocks.push(block);
                continue;
            }
            let more = if text == ">" { Some("") } else { text.strip_prefix("> ") };
            match (text.strip_prefix("$ "), more, block.commands.last_mut()) {
                (Some(command), ..) => {
                    let command = command.to_owned();
                    block.commands.push(Shown { line, command, output: Vec::new() });
                }
                (_, Some(more), Some(last)) if last.output.is_empty() => {
                    let _ = write!(last.command, "\n{more}");
                }
                (.., Some(last)) => last.output.push(text.to_owned()),
                _ => panic!("line {}: output before the first command", line + 1),
            }
            open = Some(block);
        } else if text == "```console" {
            open = Some(Block { answers: std::mem::take(&mut answers), ..Block::default() });
        } else if let Some(typed) = comment(text, "types") {
            answers = typed.split_whitespace().map(str::to_owned).collect();
        } else if let Some(command) = comment(text, "run") {
            let hidden = Shown { line, command: command.to_owned(), output: Vec::new() };
            blocks.push(Block { commands: vec![hidden], answers: Vec::new() });
        }
    }
    blocks
}

/// Where the commands of a page run: a home, a directory with `jp-confine`, and files of the test's own.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        leave_terminal();
        let mut builder = tempfile::Builder::new();
        let root = builder.prefix("").rand_bytes(3).tempdir_in(Holder::current().folder());
        let place = Self { root: root.expect("a directory for a page") };
        fs::create_dir_all(place.home().join(".ssh")).expect("a home");
        fs::create_dir(place.path("bin")).expect("a directory on PATH");
        symlink(PRODUCT, place.path("bin/jp-confine")).expect("the product on PATH");
        fs::write(place.home().join(".ssh/id_ed25519"), "a private key\n").expect("a key");
        fs::write(place.home().join(".bashrc"), "# settings\n").expect("settings");
        fs::write(place.path("state"), "cd\n").expect("a file");
        if is_root() {
            let all = ["", "h", "h/.ssh", "h/.ssh/id_ed25519", "h/.bashrc", "state"];
            for name in all.map(|name| place.path(name)) {
                std::os::unix::fs::chown(name, Some(NOBODY), Some(NOBODY)).expect("chown");
            }
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.path("h")
    }

    /// The command that runs a block: as an ordinary user, and for a minute at most.
    fn command(&self, block: &Block) -> Command {
        let mut script = KEEP.to_owned();
        for shown in &block.commands {
            let command = shown.command.replace(HOME, self.home().to_str().expect("UTF-8"));
            let _ = writeln!(script, "printf '\\036'\n{command}");
        }
        fs::write(self.path("script"), script).expect("a script");
        let path = self.path("script");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60"]);
        if block.answers.is_empty() {
            command.args(["bash", "-c", "exec bash \"$0\" 2>&1 < /dev/null"]).arg(&path);
        } else {
            let line = format!("stty rows 33 cols 101; exec bash {}", path.display());
            command.args(["script", "-q", "-e", "-f", "-c", &line, "/dev/null"]);
        }
        command.env_clear().env("LANG", "C.UTF-8").env("TERM", "dumb").env("SHELL", "/bin/bash");
        command.env("HOME", self.home()).env("USER", "me").env("STATE", self.path("state"));
        command.env("PATH", format!("{}:{SYSTEM_PATH}", self.path("bin").display()));
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The real output of each command of the block, as a page shows it.
    fn run(&self, block: &Block) -> Vec<Vec<String>> {
        let mut command = self.command(block);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash");
        let mut keys = child.stdin.take().expect("piped");
        let mut screen = child.stdout.take().expect("piped");
        let mut answers = block.answers.iter();
        let (mut output, mut bytes) = (Vec::new(), [0; 4096]);
        while let length @ 1.. = screen.read(&mut bytes).expect("output") {
            output.extend_from_slice(&bytes[..length]);
            // A prompt waits at the end of its line.
            if output.ends_with(b": ")
                && let Some(answer) = answers.next()
            {
                writeln!(keys, "{answer}").expect("a terminal to type at");
            }
        }
        child.wait().expect("the end of the block");
        let output = String::from_utf8_lossy(&output).replace('\r', "");
        let parts = output.split(MARK).skip(1);
        parts.map(|part| self.shown(part).trim_end().lines().map(str::to_owned).collect()).collect()
    }

    /// Replaces what differs from run to run: the home, the number of a process that asks, the number of
    /// uses that `learn` counts, and Python's version.
    fn shown(&self, text: &str) -> String {
        let text = text.replace(self.home().to_str().expect("UTF-8"), HOME);
        let text = numbers_replaced(&text, "(", ") wants to", "4711");
        let text = numbers_replaced(&text, "learned from ", " uses", "70");
        numbers_replaced(&text, "python3.", "", "11")
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The text with `with` in the place of all numbers between `before` and `after`.
pub(crate) fn numbers_replaced(text: &str, before: &str, after: &str, with: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|it: char| !it.is_ascii_digit());
        let rest = end.filter(|&end| end > 0).map(|end| &part[end..]);
        match rest.filter(|rest| rest.starts_with(after)) {
            Some(rest) => out.extend([before, with, rest]),
            None => out.extend([before, part]),
        }
    }
    out
}

/// Words without what is between them: the length of paths decides where lines break, and whether there is a `;` instead.
fn words(lines: &[String]) -> String {
    let all = lines.iter().flat_map(|line| line.split_whitespace()).filter(|word| *word != "\\");
    all.map(|word| word.trim_end_matches(';')).collect::<Vec<_>>().join(" ")
}

/// The page with the real output, and a description of each difference.
fn checked(page: &str) -> (String, String) {
    let place = Place::new();
    let mut lines: Vec<Option<String>> = page.lines().map(|line| Some(line.to_owned())).collect();
    let mut differences = String::new();
    for block in blocks(page) {
        let real = place.run(&block);
        let line = block.commands.first().map_or(0, |shown| shown.line + 1);
        assert_eq!(real.len(), block.commands.len(), "line {line}: not all was run: {real:?}");
        for (shown, real) in block.commands.iter().zip(real) {
            if words(&shown.output) == words(&real) {
                continue;
            }
            let Shown { line, command, output } = shown;
            let (was, is) = (output.join("\n"), real.join("\n"));
            let _ = writeln!(
                differences,
                "line {}: {command}\n-- shown\n{was}\n-- real\n{is}\n",
                line + 1
            );
            let last = line + command.lines().count() - 1;
            let typed = lines[last].clone().expect("a command");
            lines[last] = Some([vec![typed], real].concat().join("\n"));
            lines[last + 1..=last + output.len()].fill(None);
        }
    }
    (lines.into_iter().flatten().map(|line| line + "\n").collect(), differences)
}

/// Pages with commands to run: the README, and all below `docs` that have some.
fn pages() -> Vec<(PathBuf, String)> {
    let mut open = vec![Path::new(ROOT).join("docs")];
    let mut pages = vec![Path::new(ROOT).join("README.md")];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(directory).expect("documents").flatten();
        let (directories, files): (Vec<_>, Vec<_>) =
            entries.map(|entry| entry.path()).partition(|path| path.is_dir());
        open.extend(directories);
        pages
            .extend(files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    pages.sort();
    let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).expect("a page"));
    pages.into_iter().map(read).filter(|(_, page)| !blocks(page).is_empty()).collect()
}

/// Whether this machine has all layers, as the pages assume.
fn has_all_layers() -> bool {
    let doctor = Command::new(PRODUCT).arg("doctor").output().expect("the product");
    String::from_utf8_lossy(&doctor.stdout).contains("layered      complete")
}

#[test]
fn commands_give_the_shown_output() {
    if !has_all_layers() {
        return skip("the machine lacks a layer");
    }
    let mut all = String::new();
    for (path, page) in pages() {
        let needed = page.lines().filter_map(|line| comment(line, "needs"));
        if !needed.flat_map(str::split_whitespace).chain(["bash", "script"]).all(have) {
            continue;
        }
        let (real, differences) = checked(&page);
        if !differences.is_empty() && std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, real).expect("the page");
        } else if !differences.is_empty() {
            let _ = write!(all, "{}, {differences}", path.display());
        }
    }
    assert!(all.is_empty(), "look at it, then run with UPDATE_DOCS=1:\n{all}");
}

/// Every block of a page with a prompt, a hidden command and wrong output is run, and what is wrong is found.
#[test]
fn another_output_is_found_and_replaced() {
    let page = "<!-- run: mkdir demo; cd demo; echo 1 > file -->\n```console\n$ echo one &&\n> pwd\none\n/home/me/demo\n\
                $ cat file\n2\n$ echo same\nsame\n```\n<!-- types: yes -->\n```console\n\
                $ read -rp 'well? (12) wants to: ' it; echo $it\nwell? (4711) wants to: no\nno\n```\n";
    if !["bash", "script"].into_iter().all(have) {
        return;
    }
    let (real, differences) = checked(page);
    assert_eq!(
        real,
        page.replace("\n2\n", "\n1\n").replace(": no\nno\n", ": yes\nyes\n"),
        "{differences}"
    );
    assert_eq!(differences.matches("-- real").count(), 2, "{differences}");
    assert!(checked(&real).1.is_empty());
}
