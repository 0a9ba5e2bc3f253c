//! What decides what may be done, and which nothing that is held to a policy may change (spec §8.1): the policy
//! file of a workspace, and the folders in which jp-confine keeps what a user configured and approved.

use std::borrow::ToOwned as _;
use std::collections::BTreeSet;
use std::env;
use std::path::{Component, Path, PathBuf};
use std::vec;
use std::vec::Vec;

use uzers::os::unix::UserExt as _;

use crate::canonical::{self, Op, ResolveError, Resolved, Root};
use crate::workspace::POLICY_FILE;

/// A path that nobody may change, and what it is.
pub type Kept = (PathBuf, &'static str);

const CONFIGURATION: &str = "the user's configuration, never writable from inside";

const CONFIGURATION_OF: &str = "jp-confine's configuration";
const DATA_OF: &str = "what jp-confine keeps for the user";

/// Where they usually are, below the home.
const CONFIGURATIONS: &str = ".config";
const DATA: &str = ".local/share";

/// Kept in a directory that has nothing else to be kept and must stay where it is, there or not: the rest of it is as
/// free as without.
const ANCHOR: &str = ".jp-confine";

/// The directories of a user, absolute; `None` where nobody says.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// `$HOME`, which `~` stands for; the password file is not consulted for that (spec §9.1).
    pub user: Option<PathBuf>,
    /// What is protected as a home: `$HOME`, if that is an absolute path, and whatever the environment says the
    /// directory that the password file has for the user.
    pub protected: Vec<PathBuf>,
    /// The directory that the password file has for the user.
    pub account: Option<PathBuf>,
    /// For configuration: `$XDG_CONFIG_HOME` or `~/.config`.
    pub config: Option<PathBuf>,
    /// For data: `$XDG_DATA_HOME` or `~/.local/share`.
    pub data: Option<PathBuf>,
}

impl Homes {
    /// Those that the environment of this process names.
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

    /// Where the environment has the user's directories be: each with what is in it, and the variable that says so. Not
    /// those below the home that the password file has: no run of this user's ever writes there.
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

    /// The product's own folders in them, there or not, and what each is for; also those where they usually are, as
    /// the next run may look for them there.
    pub fn folders(&self) -> impl Iterator<Item = Kept> {
        let usual = |below| self.protected.iter().map(move |home| home.join(below));
        let of_configuration = folders_in(self.config.iter().cloned().chain(usual(CONFIGURATIONS)));
        let of_data = folders_in(self.data.iter().cloned().chain(usual(DATA)));
        let why = "jp-confine's own data, never writable from inside";
        of_configuration
            .map(|folder| (folder, CONFIGURATION))
            .chain(of_data.map(move |folder| (folder, why)))
    }

    /// The file in which the user configured it, there or not.
    #[must_use]
    pub fn configuration(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join("jp-confine/config.toml"))
    }

    /// What nobody may change of the folders, and of that file, which may be kept elsewhere.
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

/// The directory as it is called without `..`, which only the kernel knows behind a link; one that is not there as it is.
fn without_parents(directory: PathBuf) -> PathBuf {
    let goes_back = directory.components().any(|part| part == Component::ParentDir);
    let found = goes_back.then(|| directory.canonicalize().ok()).flatten();
    found.unwrap_or(directory)
}

/// The product's own folders in these directories.
fn folders_in(homes: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = PathBuf> {
    let mut known = BTreeSet::new();
    let folders = homes.map(|home| home.join("jp-confine"));
    folders.filter(move |folder| known.insert(folder.clone()))
}

/// The user's directory by the password file.
fn of_account() -> Option<PathBuf> {
    let user = uzers::get_user_by_uid(rustix::process::geteuid().as_raw())?;
    Some(user.home_dir().to_owned()).filter(|home| home.is_absolute())
}

/// What nobody may change of the policy file of a workspace.
pub fn policy_file(root: &Root) -> impl Iterator<Item = Kept> {
    let file = Path::new(POLICY_FILE);
    let kept = kept(&root.as_path().join(file), root.resolve(file, Op::Content));
    kept.into_iter().map(|path| (path, "the workspace's policy file, never writable from inside"))
}

/// What nobody may change of `place`, absolute: where it leads, canonical, and what holds every link on the way, and
/// every directory that a `..` leads out of, because another one in its place would lead elsewhere.
#[must_use]
pub fn way(place: &Path) -> Vec<PathBuf> {
    kept(place, canonical::resolve(Path::new("/"), place, Op::Content))
}

/// What nobody may change so that something stays at `place`, absolute, its parent canonical: it itself, or of a
/// directory that it is there.
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
            // What is kept in a directory keeps that from going elsewhere.
            for directory in left {
                if !kept.iter().any(|path| path.starts_with(&directory)) {
                    kept.push(directory.join(ANCHOR));
                }
            }
            kept
        }
        // Something else stands in the way, and is held where it is.
        Err(_) if is_plain(place) => vec![place.to_owned()],
        Err(_) => Vec::new(),
    }
}

/// Whether an absolute path has no `..`.
fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The links on the way to a folder, where it leads, and a file in it that is kept elsewhere.
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

    /// The directories that a `..` leads out of stay where they are, and nothing else in them is kept.
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
