//! Suggestions for directories that are to move with their contents. As in `cli_advice.rs`, the tests take them from
//! `why --last`, and follow them.

use serde_json::Value;

use crate::cli_advice::{READ, allow, changes, denials, texts};
use crate::cli_status::product;
use crate::run::Outcome;
use crate::scratch::Scratch;

/// Rules that grant everything, but less in one directory.
const CLOSED: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n
[[access.fs]]\npath = 'dir/closed'\nread = true\n";
/// Rules that grant everything but execute.
const CHANGE: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
/// Rules that grant less at the destination, with one rule on a path that could be inside it.
const INSIDE: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'moved'\nread = true\ncreate = true\nupdate = true\n
[[access.fs]]\npath = 'moved/other'\nread = true\n";
/// The same, but not everything in the directory may be read.
const UNREAD: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'dir/file'\nwrite = true\n
[[access.fs]]\npath = 'moved'\nread = true\ncreate = true\nupdate = true\n
[[access.fs]]\npath = 'moved/other'\nread = true\n";
/// Rules that grant nothing at the destination but a path that could be inside it.
const ABSENT: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'lib/dir/file'\nread = true\ncreate = true\nupdate = true\n";
/// Rules that grant as much at the destination, and name a file there that prompts elsewhere.
const NAMED: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'moved/.env'\nread = true\n";
/// No rules: everything in the workspace is allowed.
const NONE: &str = "";

/// Which suggestions must work.
#[derive(Clone, Copy, Debug)]
enum For {
    Options,
    Both,
    /// None: the destination would not prompt, so the directory may only be copied.
    Neither,
}

/// Rules, patterns of `write_paths`, options, the command that is denied, and the suggestions that must work.
#[derive(Debug)]
struct Row(&'static str, &'static [&'static str], &'static [&'static str], &'static str, For);

const ROWS: &[Row] = &[
    Row(READ, &[], &[], "mv dir moved", For::Both),
    Row(CLOSED, &[], &[], "mv dir/closed moved", For::Both),
    Row(CLOSED, &[], &["-w", "$WS/dir/closed"], "mv dir/closed moved", For::Both),
    Row(CLOSED, &[], &[], "mv dir moved", For::Both),
    Row(CLOSED, &[], &[], "mv $HOME/docs .", For::Both),
    Row(CLOSED, &[], &["-w", "$HOME/docs"], "mv $HOME/docs .", For::Options),
    Row(CLOSED, &["$HOME/docs/**"], &[], "mv $HOME/docs/in .", For::Both),
    Row(CLOSED, &["$HOME/docs"], &[], "mv $HOME/docs .", For::Both),
    Row(CHANGE, &["$HOME/docs"], &[], "mv $HOME/docs .", For::Both),
    Row(CHANGE, &["$HOME/docs/**"], &[], "mv dir $HOME/docs/dir", For::Both),
    Row(CHANGE, &["$HOME/docs", "$HOME/docs/**"], &[], "mv $HOME/docs $HOME/moved", For::Both),
    Row(CHANGE, &["$HOME/docs", "$HOME/docs/**"], &[], "mv $HOME/other $HOME/docs/", For::Both),
    Row(INSIDE, &[], &[], "mv dir moved", For::Both),
    Row(UNREAD, &[], &[], "mv dir moved", For::Both),
    Row(ABSENT, &[], &[], "mv dir lib", For::Both),
    Row(NAMED, &[], &[], "mv dir moved", For::Neither),
    Row(NONE, &[], &["-w", "$HOME/docs"], "mv $HOME/docs $HOME/moved", For::Options),
    Row(NONE, &[], &[], "mv $HOME/docs .", For::Neither),
    Row(NONE, &["$HOME/docs/**"], &[], "mv $HOME/docs/in .", For::Neither),
];

/// A workspace with these rules, a home with these patterns, and a run in it.
#[derive(Debug)]
struct Case {
    scratch: Scratch,
    row: &'static Row,
}

impl Case {
    fn of(row: &'static Row) -> Self {
        let scratch = Scratch::new();
        for name in ["ws/dir/file", "ws/dir/closed/file", "ws/lib/file"] {
            scratch.write(name, "x");
        }
        for name in ["home/docs/in/file", "home/other/file"] {
            scratch.write(name, "x");
        }
        let case = Self { scratch, row };
        case.scratch.write("ws/jp-confine.toml", row.0);
        case.configure();
        assert_ne!(case.run("").code(), 0, "allowed from the start: {case:?}");
        case
    }

    fn run(&self, options: &str) -> Outcome {
        let script = self.scratch.expand(self.row.3);
        let typed = self.row.2.iter().map(|it| self.scratch.expand(it));
        let line = typed.chain(options.split_whitespace().map(str::to_owned));
        let line: Vec<String> =
            line.chain(["--", "sh", "-c", &script].map(str::to_owned)).collect();
        product(&self.scratch, &line.iter().map(String::as_str).collect::<Vec<_>>()).run()
    }

    /// Writes the user's own configuration.
    fn configure(&self) {
        let patterns = self.row.1.iter().map(|it| self.scratch.expand(it)).collect::<Vec<_>>();
        let text = format!("[file_policy]\nwrite_paths = {patterns:?}\n");
        self.scratch.write("home/.config/jp-confine/config.toml", &text);
    }

    /// Writes the suggested settings into files, and returns the options that are still needed.
    fn write_down(&self, advice: &[Value]) -> &'static str {
        allow(&self.scratch);
        let is_profile = |one: &Value| one["list"][0] == "profiles";
        if changes(advice).any(is_profile) { "--profile mine" } else { "" }
    }
}

/// The first suggestion allows the directory to move.
#[test]
fn folders_go_by_the_options_that_are_advised() {
    for row in ROWS.iter().filter(|row| !matches!(row.4, For::Neither)) {
        let case = Case::of(row);
        let advice = denials(&case.scratch);
        let options = texts(&advice, "options").join(" ");
        let again = case.run(&options);
        assert_eq!(again.code(), 0, "{row:?}: {options}: {again}");
    }
}

/// The suggested settings do, too.
#[test]
fn folders_go_by_what_is_advised_to_be_written_down() {
    for row in ROWS.iter().filter(|row| matches!(row.4, For::Both)) {
        let case = Case::of(row);
        let advice = denials(&case.scratch);
        let options = case.write_down(&advice);
        let again = case.run(options);
        assert_eq!(again.code(), 0, "{row:?}: {advice:#?}: {again}");
    }
}

/// No suggestion is in vain. None names a pattern that does not exist, or takes out one that grants.
#[test]
fn no_folder_is_told_to_go_in_vain() {
    for row in ROWS {
        let case = Case::of(row);
        let told = product(&case.scratch, &["why", "--last"]).run();
        assert!(!told.stdout.contains("take the pattern out"), "{row:?}: {told}");
        if matches!(row.4, For::Neither) {
            assert!(told.stdout.contains("a copy takes that question"), "{row:?}: {told}");
            let advice = denials(&case.scratch);
            let of_move = advice.iter().filter(|one| !one["other"].is_null());
            let of_move: Vec<Value> = of_move.cloned().collect();
            assert_eq!(texts(&of_move, "options"), Vec::<String>::new(), "{row:?}");
        }
    }
}
