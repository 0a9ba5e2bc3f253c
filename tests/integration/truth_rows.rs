//! The rows of the truth table: calls, the states that they are made in, and what they need (spec §5.2).

use std::fmt;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::symlink;
use std::path::Path;

const NAMES: [&str; 5] = ["read", "create", "update", "delete", "execute"];
const R: u8 = 1;
const C: u8 = 2;
const U: u8 = 4;
const D: u8 = 8;

/// Every set of capabilities.
pub(crate) const SETS: RangeInclusive<u8> = 0..=31;

/// The anchor of the other rule, relative to the place of a row of [`above`].
pub(crate) const ABOVE: &str = "dir/inner";

/// Names of the capabilities in a set, as a policy file has them.
pub(crate) fn capabilities(set: u8) -> impl Iterator<Item = &'static str> {
    NAMES
        .into_iter()
        .enumerate()
        .filter(move |(bit, _)| set & (1 << bit) != 0)
        .map(|(_, name)| name)
}

/// One call in one state.
pub(crate) struct Row {
    /// The call, for people.
    pub(crate) what: String,
    pub(crate) state: &'static str,
    /// For the attack program, with `{1}` and `{2}` for the two places.
    pub(crate) call: String,
    /// Creates the state at the two places.
    pub(crate) make: fn(&Path, &Path),
    pub(crate) needs: Needs,
    /// Whether all pairs of sets are shown in the document.
    pub(crate) gridded: bool,
    /// Whether a program must copy (`EXDEV`) where only the first rule grants create.
    pub(crate) copied: bool,
}

impl Row {
    /// The answer with these sets. `kernel` is the kernel's answer.
    pub(crate) fn answer<'a>(&self, first: u8, second: u8, kernel: &'a str) -> &'a str {
        match self.needs.are_met(first, second) {
            false => "EACCES",
            true if self.copied && first & C != 0 && second & C == 0 => "EXDEV",
            true => kernel,
        }
    }
}

/// The capabilities that must be granted.
#[derive(Clone, Copy)]
pub(crate) enum Needs {
    /// On the one rule.
    One(u8),
    /// On both rules, and which of them may grant more than the other.
    Two { first: u8, second: u8, gain: Gain },
}

/// Which rule must not grant more than the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gain {
    Any,
    /// The second rule must grant nothing that the first does not.
    NotInSecond,
    /// The first must grant nothing that the second does not.
    NotInFirst,
    /// They must grant the same.
    None,
}

impl Needs {
    pub(crate) const fn are_met(self, at: u8, to: u8) -> bool {
        match self {
            Self::One(needs) => at & needs == needs,
            Self::Two { first, second, gain } => {
                let fits = match gain {
                    Gain::Any => true,
                    Gain::NotInSecond => to & !at == 0,
                    Gain::NotInFirst => at & !to == 0,
                    Gain::None => at == to,
                };
                at & first == first && to & second == second && fits
            }
        }
    }
}

fn letters(set: u8) -> String {
    let letter = |(bit, letter): (usize, char)| if set & (1 << bit) != 0 { letter } else { ' ' };
    let text: String = "rcudx".chars().enumerate().map(letter).filter(|one| *one != ' ').collect();
    if text.is_empty() { "–".to_owned() } else { text }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::One(needs) => f.write_str(&letters(needs)),
            Self::Two { first, second, gain } => {
                let gain = match gain {
                    Gain::Any => "",
                    Gain::NotInSecond => "; the second grants nothing more",
                    Gain::NotInFirst => "; the first grants nothing more",
                    Gain::None => "; both grant the same",
                };
                write!(f, "{} and {}{gain}", letters(first), letters(second))
            }
        }
    }
}

/// All pairs of sets.
pub(crate) struct Grid<'a>(pub(crate) &'a Row);

impl fmt::Display for Grid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for at in SETS {
            write!(f, "{:>5} ", letters(at))?;
            for to in SETS {
                let mark = match self.0.answer(at, to, "ok") {
                    "ok" => "+",
                    "EXDEV" => "c",
                    _ => ".",
                };
                f.write_str(mark)?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

fn nothing(_: &Path, _: &Path) {}

fn file(at: &Path, _: &Path) {
    fs::write(at.join("file"), "inside\n").expect("a file");
}

fn two_files(at: &Path, to: &Path) {
    file(at, to);
    fs::write(to.join("other"), "inside\n").expect("a file");
}

fn file_and_link(at: &Path, to: &Path) {
    file(at, to);
    symlink("file", at.join("link")).expect("a link");
}

fn dangling(at: &Path, _: &Path) {
    symlink("missing", at.join("link")).expect("a link");
}

fn file_and_dangling(at: &Path, to: &Path) {
    file(at, to);
    symlink("missing", to.join("other")).expect("a link");
}

fn directory(at: &Path, _: &Path) {
    fs::create_dir(at.join("dir")).expect("a directory");
}

fn directory_and_link(at: &Path, to: &Path) {
    directory(at, to);
    symlink("dir", at.join("link")).expect("a link");
}

fn full_directory(at: &Path, to: &Path) {
    directory(at, to);
    fs::write(at.join("dir/file"), "inside\n").expect("a file");
}

fn two_directories(at: &Path, to: &Path) {
    directory(at, to);
    fs::create_dir(to.join("other")).expect("a directory");
}

/// Creates a symlink at the first place, to `name` at the second.
fn link_across(at: &Path, to: &Path, name: &str) {
    symlink(to.join(name), at.join("link")).expect("a link");
}

fn link_to_file(at: &Path, to: &Path) {
    fs::write(to.join("other"), "inside\n").expect("a file");
    link_across(at, to, "other");
}

fn link_to_missing(at: &Path, to: &Path) {
    link_across(at, to, "missing");
}

fn inner_file(at: &Path, _: &Path) {
    fs::create_dir(at.join("dir")).expect("a directory");
    fs::write(at.join(ABOVE), "inside\n").expect("a file");
}

/// Every access and flag of open(2) that the policy tells apart, on every kind of object.
pub(crate) fn opening() -> Vec<Row> {
    const ACCESS: [(&str, u8); 3] = [("rdonly", R), ("wronly", U), ("rdwr", R | U)];
    const EXTRA: [&str; 9] = [
        "",
        "+creat",
        "+creat+excl",
        "+trunc",
        "+creat+trunc",
        "+append",
        "+nofollow",
        "+creat+nofollow",
        "+directory",
    ];
    let access = ACCESS
        .into_iter()
        .flat_map(|(access, need)| EXTRA.map(|extra| (format!("{access}{extra}"), need)));
    let path = ["path", "path+nofollow", "path+directory"].map(|flags| (flags.to_owned(), 0));
    access.chain(path).flat_map(|(flags, need)| opening_states(&flags, need)).collect()
}

fn opening_states(flags: &str, access: u8) -> [Row; 6] {
    let has = |flag: &str| flags.split('+').any(|one| one == flag);
    let existing = if has("excl") {
        C
    } else if has("trunc") {
        access | U
    } else {
        access
    };
    let new = if has("creat") { C } else { existing };
    let at_dangling = if has("nofollow") { existing } else { new };
    let row = |state, name: &str, make: fn(&Path, &Path), needs| Row {
        what: format!("`{}`", flags.to_uppercase().replace('+', " ")),
        state,
        call: format!("open_with {flags} {{1}}/{name}"),
        make,
        needs: Needs::One(needs),
        gridded: false,
        copied: false,
    };
    [
        row("file", "file", file, existing),
        row("link to a file", "link", file_and_link, existing),
        row("missing", "missing", nothing, new),
        row("dangling link", "link", dangling, at_dangling),
        row("directory", "dir", directory, existing),
        row("link to a directory", "link", directory_and_link, existing),
    ]
}

fn one(call: &str, state: &'static str, make: fn(&Path, &Path), needs: u8) -> Row {
    let what = format!("`{}`", call.replace("{1}/", "").replace("{1}", "dir"));
    let needs = Needs::One(needs);
    Row { what, state, call: call.to_owned(), make, needs, gridded: false, copied: false }
}

/// Calls that create, delete, move or change something below one rule.
#[rustfmt::skip]
pub(crate) fn one_rule() -> Vec<Row> {
    vec![
        one("open_with wronly+tmpfile {1}", "directory", nothing, C),
        one("open_with rdwr+tmpfile {1}", "directory", nothing, C),
        one("stat {1}/file", "file", file, 0),
        one("access {1}/file", "file", file, 0),
        one("readlink {1}/link", "dangling link", dangling, 0),
        one("opendir {1}/dir", "directory", directory, R),
        one("opendir {1}/dir", "missing", nothing, R),
        one("scandir {1}/dir", "directory", directory, R),
        one("listxattr {1}/file", "file", file, 0),
        one("fopen {1}/file", "file", file, R),
        one("path_reopen {1}/file", "file", file, R),
        one("sys_openat {1}/file", "file", file, R),
        one("fopen_w {1}/file", "file", file, U),
        one("fopen_w {1}/new", "missing", nothing, C),
        one("freopen_w {1}/new", "missing", nothing, C),
        one("creat {1}/file", "file", file, U),
        one("creat {1}/new", "missing", nothing, C),
        one("mkstemp {1}/XXXXXX", "directory", nothing, C),
        one("mkdtemp {1}/XXXXXX", "directory", nothing, C),
        one("mkdir {1}/new", "missing", nothing, C),
        one("mkdir {1}/file", "file", file, 0),
        one("mkdir {1}/link", "dangling link", dangling, 0),
        one("mknod {1}/new", "missing", nothing, C),
        one("mkfifo {1}/new", "missing", nothing, C),
        one("bind {1}/new", "missing", nothing, C),
        one("symlink text {1}/new", "missing", nothing, C),
        one("symlink text {1}/file", "file", file, 0),
        one("symlink text {1}/link", "dangling link", dangling, 0),
        one("link {1}/file {1}/new", "missing", file, C),
        one("link {1}/file {1}/other", "file", two_files, 0),
        one("linkat_follow {1}/link {1}/new", "link to a file", file_and_link, C),
        one("unlink {1}/file", "file", file, D),
        one("unlink {1}/link", "link to a file", file_and_link, D),
        one("unlink {1}/link", "dangling link", dangling, D),
        one("unlink {1}/missing", "missing", nothing, D),
        one("unlink {1}/dir", "directory", directory, D),
        one("rmdir {1}/dir", "directory", directory, D),
        one("rmdir {1}/dir", "directory with a file", full_directory, D),
        one("rmdir {1}/file", "file", file, D),
        one("rmdir {1}/missing", "missing", nothing, D),
        one("remove {1}/file", "file", file, D),
        one("remove {1}/dir", "directory", directory, D),
        one("rename {1}/file {1}/new", "missing", file, D | C),
        one("rename {1}/file {1}/other", "file", two_files, D | U),
        one("rename {1}/file {1}/other", "dangling link", file_and_dangling, D | U),
        one("rename {1}/dir {1}/new", "missing", full_directory, D | C),
        one("rename {1}/dir {1}/other", "directory", two_directories, D | U),
        one("rename_noreplace {1}/file {1}/new", "missing", file, D | C),
        one("rename_noreplace {1}/file {1}/other", "file", two_files, 0),
        one("exchange {1}/file {1}/other", "file", two_files, D | U),
        one("truncate {1}/file", "file", file, U),
        one("truncate {1}/link", "link to a file", file_and_link, U),
        one("chmod {1}/file", "file", file, U),
        one("chown {1}/file", "file", file, U),
        one("utimensat {1}/file", "file", file, U),
    ]
}

fn two(call: &str, state: &'static str, make: fn(&Path, &Path), needs: [u8; 2], gain: Gain) -> Row {
    let what = format!("`{}`", call.replace("{1}", "first").replace("{2}", "second"));
    let [first, second] = needs;
    let needs = Needs::Two { first, second, gain };
    Row { what, state, call: call.to_owned(), make, needs, gridded: false, copied: false }
}

fn gridded(row: Row) -> Row {
    Row { gridded: true, ..row }
}

fn copied(row: Row) -> Row {
    Row { copied: true, ..row }
}

/// Calls that move an entry from below one rule to below another, or that lead there.
#[rustfmt::skip]
pub(crate) fn between() -> Vec<Row> {
    use Gain::{Any, None, NotInSecond};
    vec![
        gridded(two("rename {1}/file {2}/new", "missing", file, [D, C], NotInSecond)),
        gridded(two("rename {1}/file {2}/other", "file", two_files, [D, U], NotInSecond)),
        two("rename {1}/file {2}/other", "dangling link", file_and_dangling, [D, U], NotInSecond),
        two("rename {1}/dir {2}/new", "missing", full_directory, [D, C], NotInSecond),
        copied(two("rename {1}/dir {2}/other", "directory", two_directories, [D, U], NotInSecond)),
        two("rename {1}/link {2}/new", "missing", dangling, [D, C], NotInSecond),
        two("rename_noreplace {1}/file {2}/new", "missing", file, [D, C], NotInSecond),
        two("rename_noreplace {1}/file {2}/other", "file", two_files, [0, 0], Any),
        gridded(two("exchange {1}/file {2}/other", "file", two_files, [D | U, D | U], None)),
        gridded(two("link {1}/file {2}/new", "missing", file, [0, C], NotInSecond)),
        two("link {1}/file {2}/other", "file", two_files, [0, 0], Any),
        two("linkat_follow {1}/link {2}/new", "missing", file_and_link, [0, C], NotInSecond),
        two("open_with rdonly {1}/link", "link to the second", link_to_file, [0, R], Any),
        two("open_with wronly+creat {1}/link", "link to the second", link_to_file, [0, U], Any),
        two("open_with wronly+creat {1}/link", "dangling link to the second", link_to_missing, [0, C], Any),
        two("truncate {1}/link", "link to the second", link_to_file, [0, U], Any),
        two("unlink {1}/link", "link to the second", link_to_file, [D, 0], Any),
    ]
}

/// Calls on a directory that contains another rule's anchor.
#[rustfmt::skip]
pub(crate) fn above() -> Vec<Row> {
    use Gain::{Any, None, NotInFirst};
    vec![
        gridded(two("rename {1}/dir {1}/new", "missing", inner_file, [D | C, D], NotInFirst)),
        gridded(two("rmdir {1}/dir", "directory", directory, [D, D], Any)),
        two("exchange {1}/dir {1}/file", "file", exchange_above, [D | U, D], None),
    ]
}

/// Calls that bring an entry to a name, where another rule's anchor is below that name.
#[rustfmt::skip]
pub(crate) fn onto() -> Vec<Row> {
    use Gain::{Any, NotInSecond};
    vec![
        gridded(copied(two("rename {1}/old {1}/dir", "a directory moves", old_directory, [D | C, 0], NotInSecond))),
        two("rename {1}/file {1}/dir", "a file moves", file, [D | C, 0], NotInSecond),
        two("rename {1}/link {1}/dir", "a symlink moves", dangling, [D | C, C], NotInSecond),
        two("link {1}/file {1}/dir", "a file is linked", file, [C, 0], NotInSecond),
        two("link {1}/link {1}/dir", "a symlink is linked", dangling, [C, C], NotInSecond),
        gridded(two("symlink text {1}/dir", "missing", nothing, [C, C], Any)),
        two("mkdir {1}/dir", "missing", nothing, [C, 0], Any),
        two("bind {1}/dir", "missing", nothing, [C, 0], Any),
    ]
}

fn old_directory(at: &Path, _: &Path) {
    fs::create_dir(at.join("old")).expect("a directory");
    fs::write(at.join("old/inner"), "inside\n").expect("a file");
}

fn exchange_above(at: &Path, to: &Path) {
    inner_file(at, to);
    file(at, to);
}
