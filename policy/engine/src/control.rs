//! The control files: they decide what is allowed, and nothing under a policy may change them (spec §8.1). They are the
//! policy file of a workspace, and the directories in which jp-confine keeps configuration and approvals.

use std::borrow::ToOwned as _;
use std::collections::BTreeSet;
use std::env;
use std::path::{Component, Path, PathBuf};
use std::vec;
use std::vec::Vec;

use uzers::os::unix::UserExt as _;

use crate::canonical::{self, Op, ResolveError, Resolved, Root};

/// A path that nobody may change, and a description of it.
pub type Kept = (PathBuf, &'static str);

const CONFIGURATION: &str = "the user's configuration, never writable from inside";

const CONFIGURATION_OF: &str = "jp-confine's configuration";
const DATA_OF: &str = "what jp-confine keeps for the user";

/// The usual places, below the home directory.
const CONFIGURATIONS: &str = ".config";
const DATA: &str = ".local/share";

/// A name to keep in a directory that must stay in place, whether or not the name exists. Everything else in the
/// directory stays free.
const ANCHOR: &str = ".jp-confine";

/// The directories of a user, absolute. `None` if nothing names one.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// `$HOME`, which `~` stands for. The password file is not consulted for that (spec §9.1).
    pub user: Option<PathBuf>,
    /// Directories that are protected as a home: `$HOME`, if absolute, and always the directory that the password file
    /// has for the user.
    pub protected: Vec<PathBuf>,
    /// The directory that the password file has for the user.
    pub account: Option<PathBuf>,
    /// For configuration: `$XDG_CONFIG_HOME` or `~/.config`.
    pub config: Option<PathBuf>,
    /// For data: `$XDG_DATA_HOME` or `~/.local/share`.
    pub data: Option<PathBuf>,
}

impl Homes {
    /// The directories that the environment of this process names.
    #[must_use]
    pub fn of_environment() -> Self {
        let absolute =
            |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let named = |name| absolute(name).map(without_parents);
        let user = named("HOME");
        let usual = |below| user.as_ref().map(|home| home.join(below));
        let config = named("XDG_CONFIG_HOME").or_else(|| usual(CONFIGURATIONS));
        let data = named("XDG_DATA_HOME").or_else(|| usual(DATA));
        let account = of_account();
        let mut protected: Vec<PathBuf> = user.iter().cloned().chain(account.clone()).collect();
        protected.dedup();
        Self { user, protected, account, config, data }
    }

    /// The user's directories that the environment names, each with its content and the variable that names it. Leaves
    /// out the usual ones below the home in the password file, because no run of this user ever writes there.
    pub fn named(&self) -> impl Iterator<Item = (&Path, &'static str, &'static str)> {
        let configuration = (&self.config, CONFIGURATIONS, CONFIGURATION_OF, "XDG_CONFIG_HOME");
        let data = (&self.data, DATA, DATA_OF, "XDG_DATA_HOME");
        [configuration, data].into_iter().filter_map(|(directory, below, what, variable)| {
            let directory = directory.as_deref()?;
            let home = self.user.as_deref().filter(|home| home.join(below) == directory);
            let is_usual = self.account.as_ref().is_some_and(|home| home.join(below) == directory);
            let (directory, variable) = home.map_or((directory, variable), |home| (home, "HOME"));
            (!is_usual).then_some((directory, what, variable))
        })
    }

    /// The product's own directories, whether or not they exist, and the purpose of each. Includes the usual places,
    /// because the next run may look there.
    pub fn folders(&self) -> impl Iterator<Item = Kept> {
        let usual = |below| self.protected.iter().map(move |home| home.join(below));
        let of_configuration = folders_in(self.config.iter().cloned().chain(usual(CONFIGURATIONS)));
        let of_data = folders_in(self.data.iter().cloned().chain(usual(DATA)));
        let why = "jp-confine's own data, never writable from inside";
        of_configuration
            .map(|folder| (folder, CONFIGURATION))
            .chain(of_data.map(move |folder| (folder, why)))
    }

    /// The file with the user's configuration, whether or not it exists.
    #[must_use]
    pub fn configuration(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join("jp-confine/config.toml"))
    }

    /// The paths that nobody may change, so that the directories and the configuration file stay. That file may be kept
    /// elsewhere.
    #[must_use]
    pub fn kept(&self) -> Vec<Kept> {
        let mut kept: Vec<Kept> = Vec::new();
        let file = self.configuration().map(|file| (file, CONFIGURATION));
        for (place, why) in self.folders().chain(file) {
            for path in way(&place) {
                if !kept.iter().any(|(known, _)| path.starts_with(known)) {
                    kept.push((path, why));
                }
            }
        }
        kept
    }
}

/// The directory's path without `..`, which only the kernel resolves correctly after a symlink. If it does not exist,
/// the path is returned unchanged.
fn without_parents(directory: PathBuf) -> PathBuf {
    let goes_back = directory.components().any(|part| part == Component::ParentDir);
    let found = goes_back.then(|| directory.canonicalize().ok()).flatten();
    found.unwrap_or(directory)
}

/// The product's own directories below these.
fn folders_in(homes: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    let mut known = BTreeSet::new();
    let folders = homes.map(|home| home.join("jp-confine"));
    folders.filter(move |folder| known.insert(folder.clone()))
}

/// The user's directory in the password file.
fn of_account() -> Option<PathBuf> {
    let user = uzers::get_user_by_uid(rustix::process::geteuid().as_raw())?;
    Some(user.home_dir().to_owned()).filter(|home| home.is_absolute())
}

/// The paths that nobody may change, so that the policy file of a workspace stays.
pub fn policy_file(root: &Root) -> impl Iterator<Item = Kept> {
    let file = Path::new(POLICY_FILE);
    let kept = kept(&root.as_path().join(file), root.resolve(file, Op::Content));
    kept.into_iter().map(|path| (path, "the workspace's policy file, never writable from inside"))
}

/// The paths that nobody may change, so that `place`, absolute, stays. They are its canonical target, each symlink on
/// the way, and a name in each directory that a `..` leads out of. Another symlink or directory there would lead
/// elsewhere.
#[must_use]
pub fn way(place: &Path) -> Vec<PathBuf> {
    kept(place, canonical::resolve(Path::new("/"), place, Op::Content))
}

/// The path that nobody may change, so that an entry stays at `place`. `place` is absolute, and its parent is
/// canonical. The path is `place` itself, or a name in it if it is a directory.
#[must_use]
pub fn standing(place: &Path) -> Option<PathBuf> {
    let there = place.symlink_metadata().ok()?;
    Some(if there.is_dir() { place.join(ANCHOR) } else { place.to_owned() })
}

fn kept(place: &Path, resolved: Result<Resolved, ResolveError>) -> Vec<PathBuf> {
    match resolved {
        Ok(Resolved { path, steps, left, .. }) => {
            let mut kept: Vec<PathBuf> = steps.into_iter().map(|step| step.link).collect();
            kept.push(path);
            // A path kept in a directory also keeps the directory in place.
            for directory in left {
                if !kept.iter().any(|path| path.starts_with(&directory)) {
                    kept.push(directory.join(ANCHOR));
                }
            }
            kept
        }
        // Something else is in the way, and is kept in place.
        Err(_) if is_plain(place) => vec![place.to_owned()],
        Err(_) => Vec::new(),
    }
}

/// Whether an absolute path has no `..`.
fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
}

/// The policy file of a workspace. Nothing under a policy may change it (spec §8.1).
pub const POLICY_FILE: &str = "jp-confine.toml";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The symlinks on the way to a directory, its target, and a file in it that is kept elsewhere.
    #[test]
    fn what_leads_to_them_is_kept_too() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("canonical");
        for name in ["real/jp-confine", "dotfiles", "data"] {
            fs::create_dir_all(top.join(name)).expect("made");
        }
        symlink("real", top.join("config")).expect("linked");
        symlink("../../dotfiles/c", top.join("real/jp-confine/config.toml")).expect("linked");
        let homes = Homes {
            config: Some(top.join("config")),
            data: Some(top.join("data")),
            ..Homes::default()
        };
        let kept: Vec<PathBuf> = homes.kept().into_iter().map(|(path, _)| path).collect();
        let expected = ["config", "real/jp-confine", "data/jp-confine", "dotfiles/c"];
        assert_eq!(kept, expected.map(|path| top.join(path)));
    }

    /// The next run may have another `HOME`.
    #[test]
    fn folders_are_kept_in_every_home() {
        let [home, account] = ["/none/h", "/none/a"].map(PathBuf::from);
        let homes = Homes {
            config: Some(home.join(CONFIGURATIONS)),
            data: Some("/none/d".into()),
            protected: vec![home, account],
            ..Homes::default()
        };
        let folders: Vec<PathBuf> = homes.folders().map(|(folder, _)| folder).collect();
        let expected = ["h/.config", "a/.config", "d", "h/.local/share", "a/.local/share"];
        let expected = expected.map(|it| Path::new("/none").join(it).join("jp-confine"));
        assert_eq!(folders, expected);
    }

    /// The directories that a `..` leads out of stay in place, and nothing else in them is kept.
    #[test]
    fn what_is_left_on_the_way_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("canonical");
        for name in ["conf", "via/e", "via/f/deep"] {
            fs::create_dir_all(top.join(name)).expect("made");
        }
        fs::write(top.join("conf/p"), "").expect("written");
        symlink("via/f/deep", top.join("l")).expect("linked");
        let kept = |place: &str| {
            let below = |path: PathBuf| path.strip_prefix(&top).expect("inside").to_owned();
            way(&top.join(place)).into_iter().map(below).collect::<Vec<PathBuf>>()
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(kept("via/e/../../conf/p"), paths(&["conf/p", "via/e/.jp-confine"]));
        let through = ["l", "conf/p", "via/f/deep/.jp-confine"];
        assert_eq!(kept("l/../../../conf/p"), paths(&through));
        assert_eq!(kept("conf/../conf/p"), paths(&["conf/p"]), "it holds the directory, too");
    }
}
