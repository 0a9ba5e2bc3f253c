//! Turns the built-in profiles into Rust at build time, so that no run has to read TOML for them. Used by `build.rs`. A
//! test in `launcher/config/built_in.rs` compares the outcome with what the launcher itself reads.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, str};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The keys of lists of entries, with the capabilities that each grants.
const GRANTS: [(&str, &str); 5] = [
    ("read", "READ"),
    ("exec", "READ.union(Capabilities::EXECUTE)"),
    ("update", "READ.union(Capabilities::UPDATE)"),
    ("write", "READ.union(Capabilities::WRITE)"),
    ("deny", "NONE"),
];

/// The keys of lists of words, and of tables whose values are words.
const LISTS: [&str; 4] = ["programs", "includes", "make", "builds"];
const PAIRS: [&str; 3] = ["view", "cache", "variables"];

/// The file beside the profiles that is none.
const HOSTS: &str = "hosts.toml";

/// Rust for all profiles in a directory.
pub(crate) fn compile_all(directory: &Path) -> String {
    let entries = fs::read_dir(directory).expect("profiles");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| !file.ends_with(HOSTS));
    files.sort_unstable();
    let compiled: Vec<String> = files.iter().map(|file| compile(file)).collect();
    format!("const ALL: [BuiltIn; {}] = [{}];", compiled.len(), compiled.join(", "))
}

/// Rust for the table in the file `NAME.toml`.
fn compile(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a profile is in UTF-8");
    let table = DeTable::parse(&text).expect("a profile is TOML").into_inner();
    let known = |key: &str| {
        let of_tables = ["except", "seeds"].contains(&key) || PAIRS.contains(&key);
        of_tables || LISTS.contains(&key) || GRANTS.iter().any(|(grant, _)| *grant == key)
    };
    let unknown = table.keys().find(|key| !known(key.get_ref()));
    assert!(unknown.is_none(), "{}: {unknown:?} is no key of a profile", file.display());

    let name = file.file_stem().and_then(OsStr::to_str).expect("a name in UTF-8");
    let name = if name == "baseline" { "" } else { name };
    let mut rust = format!("BuiltIn {{ name: {name:?}, entries: &[{}],", entries(&table));
    for key in LISTS {
        write!(rust, "{key}: &{:?},", words(&table, key)).expect("a string grows");
    }
    for key in PAIRS {
        let pairs: Vec<_> = in_order(&table, key).map(|(key, value)| (key, word(value))).collect();
        write!(rust, "{key}: &{pairs:?},").expect("a string grows");
    }
    let except =
        in_order(&table, "except").map(|(path, list)| format!("({path:?}, &{:?}),", list_of(list)));
    let seeds = in_order(&table, "seeds").map(|(cache, seeds)| {
        let DeValue::Table(seeds) = seeds else { panic!("seeds are tables") };
        let from = word(seeds.get("from").expect("seeds come from somewhere").get_ref());
        let [link, copy, skip] = ["link", "copy", "skip"].map(|key| words(seeds, key));
        format!(
            "BuiltInSeeds {{ cache: {cache:?}, from: {from:?}, link: &{link:?}, copy: &{copy:?}, skip: &{skip:?} }},"
        )
    });
    let (except, seeds): (String, String) = (except.collect(), seeds.collect());
    write!(rust, "except: &[{except}], seeds: &[{seeds}] }}").expect("a string grows");
    rust
}

/// The entries of all lists of grants, in the order of the file.
fn entries(table: &DeTable<'_>) -> String {
    let mut entries: Vec<(usize, String)> = Vec::new();
    for (key, caps) in GRANTS {
        let Some(DeValue::Array(list)) = table.get(key).map(Spanned::get_ref) else { continue };
        entries.extend(list.iter().map(|path| {
            (path.span().start, format!("(Capabilities::{caps}, {:?}),", word(path.get_ref())))
        }));
    }
    entries.sort_unstable();
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// The keys and values of a table in the table, in the order of the file.
fn in_order<'t>(
    table: &'t DeTable<'_>,
    key: &str,
) -> impl Iterator<Item = (&'t str, &'t DeValue<'t>)> {
    let mut pairs: Vec<_> = match table.get(key).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => table.iter().collect(),
        Some(_) => panic!("{key} is a table"),
        None => Vec::new(),
    };
    pairs.sort_unstable_by_key(|(key, _)| key.span().start);
    pairs.into_iter().map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
}

fn words<'t>(table: &'t DeTable<'_>, key: &str) -> Vec<&'t str> {
    table.get(key).map_or_else(Vec::new, |list| list_of(list.get_ref()))
}

fn list_of<'t>(list: &'t DeValue<'_>) -> Vec<&'t str> {
    let DeValue::Array(list) = list else { panic!("a list of words") };
    list.iter().map(|value| word(value.get_ref())).collect()
}

fn word<'t>(value: &'t DeValue<'_>) -> &'t str {
    value.as_str().expect("a word")
}
