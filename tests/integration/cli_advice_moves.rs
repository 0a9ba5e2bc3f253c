//! Advice about folders that are to move, with all that is in them. As in `cli_advice.rs` it is taken from `why --last`,
//! and followed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli_advice::{READ, denials, texts};
use crate::cli_status::product;
use crate::run::Outcome;
use crate::scratch::Scratch;

/// Rules that grant everything, and less in one folder.
const CLOSED: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n
[[access.fs]]\npath = 'dir/closed'\nread = true\n";
/// Rules that grant everything but to execute.
const CHANGE: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
/// Rules that grant less where the folder is to go, and one on what could be in it there.
const INSIDE: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'moved'\nread = true\ncreate = true\nupdate = true\n
[[access.fs]]\npath = 'moved/other'\nread = true\n";
/// The same, and not all in the folder may be read.
const UNREAD: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'dir/file'\nwrite = true\n
[[access.fs]]\npath = 'moved'\nread = true\ncreate = true\nupdate = true\n
[[access.fs]]\npath = 'moved/other'\nread = true\n";
/// Nothing is granted where it is to go but what could be in it there.
const ABSENT: &str = "[[access.fs]]\npath = 'dir'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'lib/dir/file'\nread = true\ncreate = true\nupdate = true\n";
/// As much is granted there, and what is asked about elsewhere.
const NAMED: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n
[[access.fs]]\npath = 'moved/.env'\nread = true\n";
/// No rules: whatever is in the workspace is free.
const NONE: &str = "";

/// What some advice is for.
#[derive(Clone, Copy, Debug)]
enum For {
    Options,
    Both,
    /// Nobody would be asked where it is to go: it may be copied.
    Neither,
}

/// Rules, patterns of `write_paths`, options that are typed, what is refused then, and what is advised.
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
        case.configure(&BTreeMap::new());
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

    /// Writes the user's own configuration: lists by their tables and keys, beside the patterns that it has.
    fn configure(&self, lists: &BTreeMap<(String, String), Vec<String>>) {
        let own = ("file_policy".to_owned(), "write_paths".to_owned());
        let mut lists = lists.clone();
        let patterns = self.row.1.iter().map(|it| format!("{:?}", self.scratch.expand(it)));
        lists.entry(own).or_default().extend(patterns);
        let list = |((table, key), list): (&(String, String), &Vec<String>)| {
            format!("{table}.{key} = [{}]\n", list.join(", "))
        };
        let text: String = lists.iter().map(list).collect();
        self.scratch.write("home/.config/jp-confine/config.toml", &text);
    }

    /// Does what is advised to be written into files, and gives the options that it takes then.
    fn write_down(&self, advice: &[Value]) -> &'static str {
        let rules = texts(advice, "toml").join("\n");
        self.scratch.write("ws/jp-confine.toml", &format!("{}\n{rules}", self.row.0));
        let mut lists: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for one in advice.iter().filter_map(|one| one["patterns"].as_array()).flatten() {
            let [table, key] =
                ["table", "key"].map(|it| one[it].as_str().expect("words").to_owned());
            let words = one["patterns"].as_array().expect("a list");
            lists.entry((table, key)).or_default().extend(words.iter().map(Value::to_string));
        }
        assert!(!rules.is_empty() || !lists.is_empty(), "nothing to write down: {self:?}");
        self.configure(&lists);
        if lists.keys().any(|(table, _)| table == "profiles.mine") { "--profile mine" } else { "" }
    }
}

/// The first of what is advised lets the folder go.
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

/// So does what is advised to be written down.
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

/// No option is advised that would be in vain, no pattern named that there is not, and none that opens taken out.
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
