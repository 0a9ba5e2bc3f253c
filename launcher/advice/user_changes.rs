//! Turns suggestions into changes of the user's own files, which open places outside the workspace: patterns, and a
//! profile (spec §9.4, §18).

use jp_confine_engine::tier::Tier;

use crate::advice::advisor::Written;
use crate::config::edit::change::{Addition, Change};
use crate::config::edit::user_lists::{OwnList, OwnLists};
use crate::config::profile_keys::{KEYS, keys_for};

/// The patterns and entries of `written` as changes of the user's own files, one for each list.
pub(super) fn changes(lists: &OwnLists, written: &Written) -> Vec<Change> {
    let of_tier = |tier: Tier| {
        let own = written.patterns.iter().filter(|(of, _)| *of == tier);
        Some(change(lists.get(tier)?.clone(), own.map(|(_, text)| text)))
    };
    let all = [Tier::Read, Tier::Write].into_iter().filter_map(of_tier);
    let all = all.chain(of_profile(lists, written));
    all.filter(|one| !one.add.is_empty()).collect()
}

/// The changes of the profile, one for each key, if it has anything to grant.
fn of_profile(lists: &OwnLists, written: &Written) -> Vec<Change> {
    let Some(profile) = lists.profile.as_ref().filter(|_| !written.entries.is_empty()) else {
        return Vec::new();
    };
    let under = |key: &str| {
        let has_key = |caps| keys_for(caps).iter().any(|(one, _)| *one == key);
        let own = written.entries.iter().filter(|(_, caps)| has_key(*caps));
        change(profile.list(key), own.map(|(path, _)| path))
    };
    let includes = change(profile.list("includes"), &profile.includes);
    std::iter::once(includes).chain(KEYS.map(|(key, _)| under(key))).collect()
}

fn change<'t>(list: OwnList, texts: impl IntoIterator<Item = &'t String>) -> Change {
    let add = texts.into_iter().cloned().map(Addition::Text).collect();
    Change { file: list.file, list: list.keys, add }
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::Capabilities;

    use super::*;

    #[test]
    fn a_profile_is_a_table_of_its_own() {
        let entries = vec![
            ("/usr/a".to_owned(), Capabilities::READ.union(Capabilities::EXECUTE)),
            ("/usr/b".to_owned(), Capabilities::UPDATE.union(Capabilities::EXECUTE)),
            ("/etc/c".to_owned(), Capabilities::CREATE),
        ];
        let patterns = vec![(Tier::Read, "/srv/d".to_owned())];
        let written = Written { patterns, entries, ..Written::default() };
        let changes = changes(&OwnLists::of_nobody(), &written);
        let told: Vec<String> = changes
            .iter()
            .map(|one| format!("{}: {:?}", one.list.join("."), one.add).replace("Text", ""))
            .collect();
        assert_eq!(
            told,
            [
                "file_policy.read_paths: [(\"/srv/d\")]",
                "profiles.mine.includes: [(\"c\")]",
                "profiles.mine.exec: [(\"/usr/a\"), (\"/usr/b\")]",
                "profiles.mine.update: [(\"/usr/b\")]",
                "profiles.mine.write: [(\"/etc/c\")]",
            ]
        );
    }
}
