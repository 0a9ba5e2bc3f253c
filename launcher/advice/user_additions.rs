//! Turns suggestions into additions to the user's own files, which open places outside the workspace: patterns, and a
//! profile (spec §9.4, §18).

use jp_confine_engine::tier::Tier;
use serde::{Deserialize, Serialize};

use crate::advice::advisor::Written;
use crate::config::edit::rule_text;
use crate::config::edit::user_lists::{Begun, OwnList, OwnLists};
use crate::config::profile_keys::{KEYS, keys_for};
use crate::text::quote;
use crate::text::wrap;

/// Patterns to add to one list, or the entries of one list of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Addition {
    #[serde(flatten)]
    list: OwnList,
    patterns: Vec<String>,
}

impl Addition {
    /// The number of patterns to add.
    pub(crate) fn count(&self) -> usize {
        self.patterns.len()
    }
}

/// The patterns and entries of `written` as additions to the user's own files, one for each list.
pub(crate) fn additions(lists: &OwnLists, written: &Written) -> Vec<Addition> {
    let of_tier = |tier: Tier| {
        let own = written.patterns.iter().filter(|(of, _)| *of == tier);
        let patterns = own.map(|(_, text)| text.clone()).collect();
        Some(Addition { list: lists.get(tier)?.clone(), patterns })
    };
    let all = [Tier::Read, Tier::Write].into_iter().filter_map(of_tier);
    let all = all.chain(of_profile(lists, written));
    all.filter(|one| !one.patterns.is_empty()).collect()
}

/// The additions to the profile, one for each key, if it has anything to grant.
fn of_profile(lists: &OwnLists, written: &Written) -> Vec<Addition> {
    let Some(profile) = lists.profile.as_ref().filter(|_| !written.entries.is_empty()) else {
        return Vec::new();
    };
    let under = |key: &str| {
        let has_key = |caps| keys_for(caps).iter().any(|(one, _)| *one == key);
        let own = written.entries.iter().filter(|(_, caps)| has_key(*caps));
        Addition { list: profile.list(key), patterns: own.map(|(path, _)| path.clone()).collect() }
    };
    let includes = Addition { list: profile.list("includes"), patterns: profile.includes.clone() };
    std::iter::once(includes).chain(KEYS.map(|(key, _)| under(key))).collect()
}

/// Merges the additions to the same list.
pub(crate) fn together<'a>(additions: impl Iterator<Item = &'a Addition>) -> Vec<Addition> {
    let mut all: Vec<Addition> = Vec::new();
    for one in additions {
        match all.iter_mut().find(|known| known.list == one.list) {
            Some(known) => {
                let new = one.patterns.iter().filter(|it| !known.patterns.contains(it));
                let new: Vec<String> = new.cloned().collect();
                known.patterns.extend(new);
            }
            None => all.push(one.clone()),
        }
    }
    let place = |it: &Addition| (it.list.table.clone(), it.list.key.clone());
    all.sort_by_key(place);
    all
}

/// For people: the places, with `before` in front of the first, and the text to add there. Each line starts with
/// `indent`. Only all additions together suffice.
pub(crate) fn lines(indent: &str, before: &str, additions: &[Addition]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, Addition { list, patterns }) in additions.iter().enumerate() {
        let shares_table = |other: &Addition| other.list.is_beside(list);
        if !additions.iter().take(index).any(shares_table) {
            let file = quote::path(&list.file);
            let before = if lines.is_empty() { before } else { "and add to" };
            let place = format!("{before} {}", place(list)).trim_end().to_owned();
            let place = match list.profile() {
                Some(name) => {
                    vec![
                        place,
                        file + ",",
                        format!("for runs with --profile {}:", quote::quoted(name.as_bytes())),
                    ]
                }
                None => vec![place, file + ":"],
            };
            lines.extend(wrap::fitted(indent, &place, " "));
            if list.begun == Begun::Nothing {
                lines.push(format!("{indent}  [{}]", list.table));
            }
        }
        let text = match list.begun {
            Begun::List => rule_text::items(patterns),
            Begun::Nothing | Begun::Table => rule_text::list(&list.key, patterns),
        };
        lines.extend(text.lines().map(|line| format!("{indent}  {line}")));
    }
    lines
}

/// The part of the file that the patterns are added to.
fn place(OwnList { table, key, begun, .. }: &OwnList) -> String {
    match begun {
        Begun::Nothing => String::new(),
        Begun::Table => format!("[{table}] in"),
        Begun::List => format!("{key} of [{table}] in"),
    }
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::Capabilities;

    use super::*;

    fn addition(key: &str, begun: Begun, patterns: &[&str]) -> Addition {
        let (file, table) = ("/h/config.toml".to_owned(), "file_policy".to_owned());
        let list = OwnList { file, table, key: key.to_owned(), begun };
        Addition { list, patterns: patterns.iter().map(|&text| text.to_owned()).collect() }
    }

    #[test]
    fn what_is_there_is_added_to() {
        let told = |additions: &[Addition]| lines("  ", "or add to", additions).join("\n");
        let read = |begun| addition("read_paths", begun, &["/a"]);
        let write = |begun| addition("write_paths", begun, &["/b", "/c"]);
        assert_eq!(
            told(&[read(Begun::Nothing), write(Begun::Nothing)]),
            "  or add to /h/config.toml:\n    [file_policy]\n    read_paths = [\"/a\"]\n    \
             write_paths = [\"/b\", \"/c\"]"
        );
        assert_eq!(
            told(&[read(Begun::List), write(Begun::Table)]),
            "  or add to read_paths of [file_policy] in /h/config.toml:\n    \"/a\",\n  and add to \
             [file_policy] in /h/config.toml:\n    write_paths = [\"/b\", \"/c\"]"
        );
    }

    #[test]
    fn a_profile_is_a_table_of_its_own() {
        let entries = vec![
            ("/usr/a".to_owned(), Capabilities::READ.union(Capabilities::EXECUTE)),
            ("/usr/b".to_owned(), Capabilities::UPDATE.union(Capabilities::EXECUTE)),
            ("/etc/c".to_owned(), Capabilities::CREATE),
        ];
        let patterns = vec![(Tier::Read, "/srv/d".to_owned())];
        let written = Written { patterns, entries, ..Written::default() };
        let additions = additions(&OwnLists::of_nobody(), &written);
        let told = lines("  ", "or add to", &together(additions.iter())).join("\n");
        assert_eq!(
            told,
            "  or add to /c/config.toml:\n    [file_policy]\n    read_paths = [\"/srv/d\"]\n  \
             and add to /c/config.toml, for runs with --profile mine:\n    [profiles.mine]\n    \
             exec = [\"/usr/a\", \"/usr/b\"]\n    includes = [\"c\"]\n    update = [\"/usr/b\"]\n    \
             write = [\"/etc/c\"]"
        );
    }

    #[test]
    fn patterns_for_one_list_are_one_addition() {
        let (first, second) = (
            addition("read_paths", Begun::Table, &["/a", "/b"]),
            addition("read_paths", Begun::Table, &["/b", "/c"]),
        );
        let all = together([&first, &second].into_iter());
        assert_eq!(all, [addition("read_paths", Begun::Table, &["/a", "/b", "/c"])]);
    }
}
