//! The table of variables that may change in git's configuration, and their allowed values.

use std::vec::Vec;

use super::addresses::{is_ordinary, is_remote_name};
use crate::git_config::Name;
use crate::vetting::facts::Facts;

/// The condition for a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// None: git reads it as a name or a text.
    Text,
    /// It is one of these.
    OneOf(&'static [&'static str]),
    /// It is true or false.
    Switch,
    /// The address of a repository that starts no program but ssh.
    Address,
    /// It does not begin with a dash.
    Refspec,
    /// The name of a remote, or an address. [`super::references`] checks what it names.
    Remote,
    /// A directory of the workspace, from the repository of a submodule.
    Worktree,
}

/// Whether a section has a subsection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Named,
}

use Check::{Address, OneOf, Refspec, Remote, Switch, Text, Worktree};
use Kind::{Named, Plain};

/// Every key of a section.
const ANY: &str = "*";

/// Section, kind, key, check. The first row that fits counts.
const TABLE: &[(&str, Kind, &str, Check)] = &[
    ("branch", Named, "remote", Remote),
    ("branch", Named, "pushremote", Remote),
    ("branch", Named, ANY, Text),
    ("branch", Plain, ANY, Text),
    ("remote", Named, "url", Address),
    ("remote", Named, "pushurl", Address),
    ("remote", Named, "fetch", Refspec),
    ("remote", Named, "tagopt", OneOf(&["--tags", "--no-tags"])),
    ("user", Plain, ANY, Text),
    ("submodule", Plain, "active", Text),
    ("submodule", Named, "active", Switch),
    ("submodule", Named, "url", Address),
    // A value with an exclamation mark is a command.
    ("submodule", Named, "update", OneOf(&["checkout", "rebase", "merge", "none"])),
    ("core", Plain, "bare", Switch),
    ("core", Plain, "repositoryformatversion", OneOf(&["0", "1"])),
    ("core", Plain, "filemode", Switch),
    ("core", Plain, "ignorecase", Switch),
    ("core", Plain, "symlinks", Switch),
    ("core", Plain, "logallrefupdates", OneOf(&["true", "false", "always"])),
    ("core", Plain, "precomposeunicode", Switch),
    ("core", Plain, "sparsecheckout", Switch),
    ("core", Plain, "sparsecheckoutcone", Switch),
    ("core", Plain, "worktree", Worktree),
    ("index", Plain, "sparse", Switch),
    ("extensions", Plain, "objectformat", OneOf(&["sha1", "sha256"])),
    ("extensions", Plain, "compatobjectformat", OneOf(&["sha1", "sha256"])),
    ("extensions", Plain, "refstorage", OneOf(&["files", "reftable"])),
    ("extensions", Plain, "preciousobjects", Switch),
    ("extensions", Plain, "worktreeconfig", Switch),
    ("extensions", Plain, "relativeworktrees", Switch),
    ("extensions", Plain, "noop", Text),
];

/// The condition for a variable's values, if it may change at all.
pub(super) fn check(name: &Name, facts: &Facts<'_>) -> Option<Check> {
    let kind = if name.subsection.is_some() { Named } else { Plain };
    let fits = |row: &&(&str, Kind, &str, Check)| {
        row.0.as_bytes() == name.section
            && row.1 == kind
            && (row.2 == ANY || row.2.as_bytes() == name.key)
    };
    let check = TABLE.iter().find(fits)?.3;
    (check != Worktree || is_of_submodule(facts)).then_some(check)
}

/// Whether a new value passes.
pub(super) fn passes(check: Check, name: &Name, value: &[u8], facts: &Facts<'_>) -> bool {
    let subsection = name.subsection.as_deref().unwrap_or_default();
    if name.section == b"remote" && !is_remote_name(subsection) {
        return false;
    }
    let is_one_of = |all: &[&str]| all.iter().any(|one| one.as_bytes() == value);
    match check {
        Text => !value.contains(&0),
        OneOf(all) => is_one_of(all),
        Switch => is_one_of(&["true", "false"]),
        Address => is_ordinary(value, facts),
        Refspec => !value.starts_with(b"-") && value.iter().all(|byte| *byte > b' '),
        Remote => is_remote_name(value) || value == b"." || is_ordinary(value, facts),
        Worktree => is_worktree(value, facts),
    }
}

/// Whether the file belongs to a submodule's repository, which is below that of the workspace.
fn is_of_submodule(facts: &Facts<'_>) -> bool {
    let directory = facts.directory.strip_prefix(facts.workspace).unwrap_or(facts.directory);
    let mut names = directory.split(|&byte| byte == b'/');
    names.by_ref().any(|name| name.ends_with(b".git")) && names.any(|name| name == b"modules")
}

/// Whether a relative path leads from a submodule's repository to a directory below the workspace. No repository may be
/// in it, because git writes the checked-out files there.
fn is_worktree(value: &[u8], facts: &Facts<'_>) -> bool {
    let mut place: Vec<_> = facts.directory.split(|&byte| byte == b'/').collect();
    let mut names = value.split(|&byte| byte == b'/').peekable();
    while names.next_if_eq(&&b".."[..]).is_some() {
        place.pop();
    }
    let below: Vec<_> = names.collect();
    let is_ordinary = |name: &&[u8]| {
        let is_git = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b".git"));
        let is_short_name = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"git~"));
        !is_git && !is_short_name && !matches!(*name, b"" | b"." | b"..")
    };
    if value.starts_with(b"/") || below.is_empty() || !below.iter().all(is_ordinary) {
        return false;
    }
    place.extend(below);
    let workspace: Vec<_> = facts.workspace.split(|&byte| byte == b'/').collect();
    match place.strip_prefix(workspace.as_slice()) {
        Some(inside) => !inside.is_empty() && inside.iter().all(is_ordinary),
        None => false,
    }
}
