//! Finds the places in the user's own files for another pattern or profile, so that it counts and existing ones still
//! do. Used by suggestions.

use std::path::Path;

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::tier::Tier;
use serde::{Deserialize, Serialize};

use crate::config::decode::{File, Trust};
use crate::config::edit::rule_text;
use crate::config::layers::Layers;
use crate::config::profile_keys::KEYS;
use crate::host::context::Context;

/// How much of a list exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Begun {
    /// Not even its table.
    Nothing,
    /// Its table. A file can have only one.
    Table,
    /// The list itself, maybe empty. A file can have only one, and a list in another file would replace it (spec §9.4).
    List,
}

/// A list in a file of the user, to which a pattern can be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnList {
    pub(crate) file: String,
    /// The table that it is in: `file_policy`, or that of a tool.
    pub(crate) table: String,
    /// The key of the list.
    pub(crate) key: String,
    pub(crate) begun: Begun,
}

impl OwnList {
    /// Start of the name of a profile's table.
    const PROFILES: &str = "profiles.";

    /// The profile that it belongs to.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.table.strip_prefix(Self::PROFILES)
    }

    /// Whether both lists have to be started in the same table.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let place = |it: &Self| (it.file.clone(), it.table.clone(), it.begun);
        self.begun != Begun::List && place(self) == place(other)
    }
}

/// A profile of the user that the run uses, or a new one, to be named with `--profile`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnProfile {
    pub(crate) file: String,
    pub(crate) name: String,
    /// The keys that it has. `None` for a new profile.
    pub(crate) keys: Option<Vec<String>>,
    /// For a new profile: the profiles of the run, which it would replace.
    pub(crate) includes: Vec<String>,
}

impl OwnProfile {
    /// The list for its `key`.
    pub(crate) fn list(&self, key: &str) -> OwnList {
        let table = format!("{}{}", OwnList::PROFILES, rule_text::key(&self.name));
        let begun = match &self.keys {
            None => Begun::Nothing,
            Some(keys) if keys.iter().any(|known| known == key) => Begun::List,
            Some(_) => Begun::Table,
        };
        OwnList { file: self.file.clone(), table, key: key.to_owned(), begun }
    }
}

/// The user's lists and profile that can grant something outside the workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLists {
    lists: Vec<(Tier, OwnList)>,
    /// The profile, if there is a place for one.
    pub(crate) profile: Option<OwnProfile>,
}

impl OwnLists {
    /// The places in a configuration that has no list yet.
    #[cfg(test)]
    pub(crate) fn of_nobody() -> Self {
        let list = |tier: Tier| {
            let (file, table) = ("/c/config.toml".to_owned(), "file_policy".to_owned());
            (tier, OwnList { file, table, key: tier.field().to_owned(), begun: Begun::Nothing })
        };
        let (file, name) = ("/c/config.toml".to_owned(), "mine".to_owned());
        let profile = OwnProfile { file, name, keys: None, includes: vec!["c".to_owned()] };
        Self { lists: vec![list(Tier::Read), list(Tier::Write)], profile: Some(profile) }
    }

    /// The list of `tier`, if there is a place for one.
    pub(crate) fn get(&self, tier: Tier) -> Option<&OwnList> {
        self.lists.iter().find(|(of, _)| *of == tier).map(|(_, list)| list)
    }
}

impl Layers {
    /// The lists that count for `tool`, if one is named, in a run with the `picked` profiles. A list that does not
    /// exist yet is placed in the user's configuration.
    pub(crate) fn own_lists(
        &self,
        context: &Context,
        tool: Option<&str>,
        picked: &[String],
    ) -> OwnLists {
        let user_file = context.configuration();
        let user_file = user_file.as_deref();
        let list = |tier| Some((tier, self.own_list(tool, user_file, tier)?));
        let new = || {
            let (file, name) = (user_file?.to_str()?.to_owned(), self.new_profile());
            Some(OwnProfile { file, name, keys: None, includes: picked.to_owned() })
        };
        OwnLists {
            lists: [Tier::Read, Tier::Write].into_iter().filter_map(list).collect(),
            profile: self.known_profile(picked).or_else(new),
        }
    }

    /// The first of the `picked` profiles that a file of the user defines.
    fn known_profile(&self, picked: &[String]) -> Option<OwnProfile> {
        let defines = |file: &&File, name: &String| {
            file.trust == Trust::User && file.profiles.iter().any(|it| it.name == *name)
        };
        picked.iter().find_map(|name| {
            let file = self.files().iter().rev().find(|file| defines(file, name))?;
            let keys = KEYS.iter().map(|(key, _)| (*key).to_owned());
            let keys = keys.filter(|key| file.has(&["profiles", name, key]));
            Some(OwnProfile {
                file: file.source.name.to_string(),
                name: name.clone(),
                keys: Some(keys.collect()),
                includes: Vec::new(),
            })
        })
    }

    /// A name that no profile of the user has.
    fn new_profile(&self) -> String {
        let known = self.profiles();
        let is_new = |name: &String| known.iter().all(|profile| profile.name != *name);
        let more = (2..).map(|number| format!("mine-{number}"));
        std::iter::once("mine".to_owned()).chain(more).find(is_new).unwrap_or_default()
    }

    fn own_list(&self, tool: Option<&str>, file: Option<&Path>, tier: Tier) -> Option<OwnList> {
        let key = || tier.field().to_owned();
        let begun = |policy: &Option<FilePolicy>| {
            policy.as_ref().is_some_and(|policy| !policy.list(tier).is_empty())
        };
        let own = || self.files().iter().rev().filter(|file| file.trust == Trust::User);
        let of_tool = |file: &File| {
            let named = file.tools.iter().find(|it| Some(it.name.as_str()) == tool);
            named.filter(|it| begun(&it.tiers)).map(|it| table_of(&it.name))
        };
        let of_file = |file: &File| begun(&file.tiers).then(|| "file_policy".to_owned());
        let found = |table: &dyn Fn(&File) -> Option<String>| {
            own().find_map(|file| {
                let (file, table) = (file.source.name.to_string(), table(file)?);
                Some(OwnList { file, table, key: key(), begun: Begun::List })
            })
        };
        // A new list goes where it grants the least: to the tool alone, or to a file that has such lists already.
        let new_in = |known: &File, keys: &[&str], table: String| {
            let begun = if known.has(&[keys, &[tier.field()]].concat()) {
                Begun::List
            } else if known.has(keys) {
                Begun::Table
            } else {
                Begun::Nothing
            };
            OwnList { file: known.source.name.to_string(), table, key: key(), begun }
        };
        let new_of_tool = || {
            let tool = tool?;
            let has = |file: &&File| file.is_toml() && file.tools.iter().any(|it| it.name == tool);
            Some(new_in(own().find(has)?, &["tools", tool, "file_policy"], table_of(tool)))
        };
        let new_of_file = || {
            let has = |file: &&File| file.is_toml() && file.tiers.is_some();
            Some(new_in(own().find(has)?, &["file_policy"], "file_policy".to_owned()))
        };
        let new = || {
            let (file, table) = (file?.to_str()?.to_owned(), "file_policy".to_owned());
            Some(OwnList { file, table, key: key(), begun: Begun::Nothing })
        };
        found(&of_tool)
            .or_else(|| found(&of_file))
            .or_else(new_of_tool)
            .or_else(new_of_file)
            .or_else(new)
    }
}

/// The name of the table of a tool's own lists.
fn table_of(tool: &str) -> String {
    format!("tools.{}.file_policy", rule_text::key(tool))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// The places in runs for `tool`, with these user files: the configuration, and one given with `--policy`.
    fn lists(tool: Option<&str>, config: &str, named: &str) -> OwnLists {
        lists_of(tool, config, named, "c")
    }

    /// Like [`lists`], in runs with this profile.
    fn lists_of(tool: Option<&str>, config: &str, named: &str, profile: &str) -> OwnLists {
        let place = tempfile::tempdir().expect("a directory");
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("config/jp-confine")).expect("a directory");
        fs::create_dir(path("work")).expect("a directory");
        fs::write(path("config/jp-confine/config.toml"), config).expect("written");
        fs::write(path("named.toml"), named).expect("written");
        let mut context = Context::bare(&path("work"));
        context.homes.config = Some(path("config"));
        let policies: Vec<PathBuf> = vec![path("named.toml")];
        let layers = Layers::load(&context, &path("work"), &policies).expect("good layers");
        layers.own_lists(&context, tool, &[profile.to_owned()])
    }

    /// The place for a pattern of `tier`.
    fn place(tier: Tier, tool: Option<&str>, config: &str, named: &str) -> (String, Begun) {
        let lists = lists(tool, config, named);
        let list = lists.get(tier).expect("a place");
        let file = Path::new(&list.file).file_name().expect("a name").to_string_lossy();
        (format!("{file} {}", list.table), list.begun)
    }

    /// It replaces no existing profile, and is used in place of those of the run.
    #[test]
    fn a_new_profile_has_a_name_of_its_own() {
        let (mine, second) = ("[profiles.mine]\nread = ['/a']\n", "[profiles.mine-2]\n");
        for (config, named, name) in
            [("", "", "mine"), (mine, "", "mine-2"), ("", mine, "mine-2"), (mine, second, "mine-3")]
        {
            let profile = lists(None, config, named).profile.expect("a place");
            assert_eq!((profile.name.as_str(), profile.includes), (name, vec!["c".to_owned()]));
            assert!(profile.file.ends_with("config/jp-confine/config.toml"), "{}", profile.file);
        }
    }

    /// If the run uses a profile of the user, entries are added to that one.
    #[test]
    fn a_profile_of_the_run_is_added_to() {
        let (mine, second) = ("[profiles.mine]\nread = ['/a']\n", "[profiles.mine]\nexec = []\n");
        for (named, file, key, other) in
            [("", "config.toml", "read", "exec"), (second, "named.toml", "exec", "read")]
        {
            let profile = lists_of(None, mine, named, "mine").profile.expect("a place");
            assert_eq!((profile.name.as_str(), &profile.includes), ("mine", &Vec::new()));
            assert!(profile.file.ends_with(file), "{}", profile.file);
            assert_eq!(profile.list(key).begun, Begun::List);
            assert_eq!(profile.list(other).begun, Begun::Table);
        }
    }

    /// A list replaces the one below it, so the pattern belongs into the list that counts.
    #[test]
    fn patterns_belong_in_the_list_that_counts() {
        let (read, write) = ("[file_policy]\nread_paths = ['/a']\n", Tier::Write);
        let of_tool = "[tools.t.file_policy]\nread_paths = ['/b']\n";
        let rows = [
            (place(Tier::Read, None, "", ""), ("config.toml file_policy", Begun::Nothing)),
            (place(Tier::Read, None, read, ""), ("config.toml file_policy", Begun::List)),
            (place(write, None, read, ""), ("config.toml file_policy", Begun::Table)),
            (
                place(Tier::Read, None, "[file_policy]\nread_paths = []\n", ""),
                ("config.toml file_policy", Begun::List),
            ),
            (place(Tier::Read, None, read, read), ("named.toml file_policy", Begun::List)),
            (place(Tier::Read, None, of_tool, ""), ("config.toml file_policy", Begun::Nothing)),
            (
                place(write, Some("t"), of_tool, ""),
                ("config.toml tools.t.file_policy", Begun::Table),
            ),
            (
                place(write, Some("t"), "[tools.t]\n", read),
                ("config.toml tools.t.file_policy", Begun::Nothing),
            ),
            (place(write, None, "", read), ("named.toml file_policy", Begun::Table)),
            (
                place(Tier::Read, Some("t"), of_tool, read),
                ("config.toml tools.t.file_policy", Begun::List),
            ),
        ];
        for (seen, (table, begun)) in rows {
            assert_eq!(seen, (table.to_owned(), begun));
        }
    }
}
