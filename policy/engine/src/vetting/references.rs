//! Follows variables that name a remote. If no remote has the name, git takes it for a path: a directory of that name
//! in the workspace, whose hooks a push starts.

use std::collections::HashSet;
use std::vec::Vec;

use super::addresses::is_ordinary;
use crate::git_config::ConfigEntry;
use crate::vetting::facts::Facts;

/// Adds to `names` the variables that would lead elsewhere although they may be in the table. Returns the remotes that
/// are added.
pub(super) fn compare(
    old: &[ConfigEntry<'_>],
    new: &[ConfigEntry<'_>],
    facts: &Facts<'_>,
    names: &mut Vec<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let (before, after) = (remotes(old), remotes(new));
    for entry in old.iter().filter(|entry| is_url(entry)) {
        let remote = entry.name.subsection.as_deref().unwrap_or_default();
        let is_gone = before.contains(remote) && !after.contains(remote);
        if is_gone && !(facts.is_own_remote)(remote) {
            names.push(entry.name.shown());
        }
    }
    let dangles = |entry: &&ConfigEntry<'_>, remotes: &HashSet<&[u8]>| {
        reference(entry).is_some_and(|value| {
            value != b"." && !remotes.contains(value) && !is_ordinary(value, facts)
        })
    };
    let known: Vec<_> = old.iter().filter(|entry| dangles(entry, &before)).collect();
    let is_new = |entry: &&ConfigEntry<'_>| {
        !known.iter().any(|it| it.name == entry.name && it.value == entry.value)
    };
    let dangling = new.iter().filter(|entry| dangles(entry, &after)).filter(is_new);
    names.extend(dangling.map(|entry| entry.name.shown()));
    after.difference(&before).map(|name| name.to_vec()).collect()
}

/// The remotes that have an address.
fn remotes<'e>(entries: &'e [ConfigEntry<'_>]) -> HashSet<&'e [u8]> {
    let mut remotes = HashSet::new();
    for entry in entries.iter().filter(|entry| is_url(entry)) {
        let name = entry.name.subsection.as_deref().unwrap_or_default();
        // An empty address cancels those before it.
        let is_empty = entry.value.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            remotes.remove(name)
        } else {
            remotes.insert(name)
        };
    }
    remotes
}

fn is_url(entry: &ConfigEntry<'_>) -> bool {
    entry.name.section == b"remote" && entry.name.subsection.is_some() && entry.name.key == b"url"
}

/// The remote that a variable names, if it names one.
fn reference<'e>(entry: &'e ConfigEntry<'_>) -> Option<&'e [u8]> {
    let name = &entry.name;
    let names_one = match (name.section.as_slice(), name.subsection.is_some()) {
        (b"branch", true) => matches!(name.key.as_slice(), b"remote" | b"pushremote"),
        (b"remote", false) => name.key == b"pushdefault",
        (b"checkout", false) => name.key == b"defaultremote",
        (b"extensions", false) => name.key == b"partialclone",
        _ => false,
    };
    if names_one { entry.value.as_deref() } else { None }
}
