//! Finds the places in the user's own files for another pattern or profile, so that it counts and existing ones still
//! do. Used by suggestions.

use std::path::Path;

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::tier::Tier;

use crate::config::decode::{File, Trust};
use crate::config::layers::Layers;
use crate::host::context::Context;

/// A list in a file of the user, to which a pattern can be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnList {
    pub(crate) file: String,
    /// The keys that lead to it: those of `file_policy`, of a tool's own, or of a profile, and its own.
    pub(crate) keys: Vec<String>,
}

impl OwnList {
    fn of(file: &str, keys: &[&str]) -> Self {
        Self { file: file.to_owned(), keys: keys.iter().map(|&key| key.to_owned()).collect() }
    }
}

/// A profile of the user that the run uses, or a new one, to be named with `--profile`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnProfile {
    pub(crate) file: String,
    pub(crate) name: String,
    /// For a new profile: the profiles of the run, which it would replace.
    pub(crate) includes: Vec<String>,
}

impl OwnProfile {
    /// The list for its `key`.
    pub(crate) fn list(&self, key: &str) -> OwnList {
        OwnList::of(&self.file, &["profiles", &self.name, key])
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
        let list =
            |tier: Tier| (tier, OwnList::of("/c/config.toml", &["file_policy", tier.field()]));
        let (file, name) = ("/c/config.toml".to_owned(), "mine".to_owned());
        let profile = OwnProfile { file, name, includes: vec!["c".to_owned()] };
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
            Some(OwnProfile { file, name, includes: picked.to_owned() })
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
            let file = file.source.name.to_string();
            Some(OwnProfile { file, name: name.clone(), includes: Vec::new() })
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
        let key = tier.field();
        let has = |policy: &Option<FilePolicy>| {
            policy.as_ref().is_some_and(|policy| !policy.list(tier).is_empty())
        };
        let own = || self.files().iter().rev().filter(|file| file.trust == Trust::User);
        let named = |file: &File| {
            let tool = file.tools.iter().find(|it| Some(it.name.as_str()) == tool)?;
            Some((tool.tiers.clone(), vec!["tools".to_owned(), tool.name.clone()]))
        };
        let in_file = |file: &File, table: Vec<String>| {
            let list = table.into_iter().chain(["file_policy", key].map(str::to_owned));
            OwnList { file: file.source.name.to_string(), keys: list.collect() }
        };
        let of_tool = |file: &File| named(file).filter(|(tiers, _)| has(tiers));
        let of_file = |file: &&File| has(&file.tiers);
        // A list in another file would replace one that counts. A new list goes where it grants the least: to the tool
        // alone, or to a file that has such lists already.
        own()
            .find_map(|file| Some(in_file(file, of_tool(file)?.1)))
            .or_else(|| Some(in_file(own().find(of_file)?, Vec::new())))
            .or_else(|| own().find_map(|file| Some(in_file(file, named(file)?.1))))
            .or_else(|| Some(in_file(own().find(|file| file.tiers.is_some())?, Vec::new())))
            .or_else(|| Some(OwnList::of(file?.to_str()?, &["file_policy", key])))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::config::policy_files::Named;

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
        let layers =
            Layers::load(&context, &path("work"), Named { files: &policies, context: None })
                .expect("good layers");
        layers.own_lists(&context, tool, &[profile.to_owned()])
    }

    /// The place for a pattern of `tier`.
    fn place(tier: Tier, tool: Option<&str>, config: &str, named: &str) -> String {
        let lists = lists(tool, config, named);
        let list = lists.get(tier).expect("a place");
        let file = Path::new(&list.file).file_name().expect("a name").to_string_lossy();
        format!("{file} {}", list.keys.join("."))
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
        for (named, file) in [("", "config.toml"), (second, "named.toml")] {
            let profile = lists_of(None, mine, named, "mine").profile.expect("a place");
            assert_eq!((profile.name.as_str(), &profile.includes), ("mine", &Vec::new()));
            assert!(profile.file.ends_with(file), "{}", profile.file);
        }
    }

    /// A list replaces the one below it, so the pattern belongs into the list that counts.
    #[test]
    fn patterns_belong_in_the_list_that_counts() {
        let (read, write) = ("[file_policy]\nread_paths = ['/a']\n", Tier::Write);
        let of_tool = "[tools.t.file_policy]\nread_paths = ['/b']\n";
        let empty = "[file_policy]\nread_paths = []\n";
        for (tier, tool, config, named, expected) in [
            (Tier::Read, None, "", "", "config.toml file_policy.read_paths"),
            (Tier::Read, None, read, "", "config.toml file_policy.read_paths"),
            (write, None, read, "", "config.toml file_policy.write_paths"),
            (Tier::Read, None, empty, "", "config.toml file_policy.read_paths"),
            (Tier::Read, None, read, read, "named.toml file_policy.read_paths"),
            (Tier::Read, None, of_tool, "", "config.toml file_policy.read_paths"),
            (write, Some("t"), of_tool, "", "config.toml tools.t.file_policy.write_paths"),
            (write, Some("t"), "[tools.t]\n", read, "config.toml tools.t.file_policy.write_paths"),
            (write, None, "", read, "named.toml file_policy.write_paths"),
            (Tier::Read, Some("t"), of_tool, read, "config.toml tools.t.file_policy.read_paths"),
        ] {
            assert_eq!(place(tier, tool, config, named), expected);
        }
    }
}
