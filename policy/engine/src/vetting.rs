//! Judges whether a write of git's configuration is ordinary work. The launcher's supervisor asks before it allows one
//! without a prompt.
//!
//! Many variables make git start programs. So only variables in one table may change, and only to values that are known
//! to be harmless. Everything else must stay unchanged, to the byte.

mod addresses;
mod facts;
mod keys;
mod reach;
mod references;

use std::collections::HashSet;
use std::string::String;
use std::vec::Vec;

pub use self::facts::Facts;
pub use self::reach::{is_guarded, is_out_of_reach};
use crate::git_config::{self, ConfigEntry, Unreadable};

/// A write that needs no prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vetted {
    /// The remotes that it adds.
    pub added: Vec<Vec<u8>>,
}

/// Why a write needs a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unvetted {
    /// Git cannot read the old or the new file.
    Unreadable,
    /// These variables would change, as `git config --list` names them.
    Changes(Vec<String>),
}

/// Whether `new` may replace `old` as a file of git's configuration.
///
/// # Errors
/// The reason for a prompt.
pub fn vet(old: &[u8], new: &[u8], facts: &Facts<'_>) -> Result<Vetted, Unvetted> {
    let [old, new] = [old, new].map(git_config::entries);
    let (old, new) = (old?, new?);
    let mut changes = other_changes(&old, &new, facts);
    let known: HashSet<_> = old.iter().map(|entry| (&entry.name, &entry.value)).collect();
    let is_new = |entry: &&ConfigEntry<'_>| !known.contains(&(&entry.name, &entry.value));
    changes.extend(new.iter().filter(is_new).filter(|entry| !is_harmless(entry, facts)));
    let mut names: Vec<_> = changes.iter().map(|entry| entry.name.shown()).collect();
    let added = references::compare(&old, &new, facts, &mut names);
    if names.is_empty() {
        return Ok(Vetted { added });
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
    Err(Unvetted::Changes(names.iter().map(text).collect()))
}

impl From<Unreadable> for Unvetted {
    fn from(_: Unreadable) -> Self {
        Self::Unreadable
    }
}

/// The changed variables that are in no table. Such variables must stay the same, in the same order, and written the
/// same way.
fn other_changes<'e, 't>(
    old: &'e [ConfigEntry<'t>],
    new: &'e [ConfigEntry<'t>],
    facts: &Facts<'_>,
) -> Vec<&'e ConfigEntry<'t>> {
    let others = |all: &'e [ConfigEntry<'t>]| -> Vec<_> {
        all.iter().filter(|entry| keys::check(&entry.name, facts).is_none()).collect()
    };
    let (old, new) = (others(old), others(new));
    if old == new {
        return Vec::new();
    }
    let only = |these: &[&'e ConfigEntry<'t>], those: &[&'e ConfigEntry<'t>]| -> Vec<_> {
        let those: HashSet<_> = those.iter().map(|entry| (&entry.name, entry.written)).collect();
        let is_alone = |entry: &&&ConfigEntry<'t>| !those.contains(&(&entry.name, entry.written));
        these.iter().filter(is_alone).copied().collect()
    };
    let changed = [only(&new, &old), only(&old, &new)].concat();
    // Only their order or number changed, so any of them may have another value now.
    if changed.is_empty() { [new, old].concat() } else { changed }
}

/// Whether a variable may have a new value.
fn is_harmless(entry: &ConfigEntry<'_>, facts: &Facts<'_>) -> bool {
    // A variable that is in no table was reported before.
    let Some(check) = keys::check(&entry.name, facts) else { return true };
    // Readers other than git may read a second line as a line of its own.
    let is_one_line = !entry.written.1.trim_ascii_end().contains(&b'\n');
    let value = entry.value.as_deref();
    is_one_line && value.is_some_and(|value| keys::passes(check, &entry.name, value, facts))
}

#[cfg(test)]
mod tests;
