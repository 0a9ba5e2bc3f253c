//! Finds the places where the built-in list of auto-run files begins. Looks at the disk once, before a run.

mod git;

use std::borrow::ToOwned as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec;
use std::vec::Vec;

use crate::autorun::list::Place;
use crate::canonical::{self, Op};
use crate::control::Homes;

/// Most directories between a workspace and the working directory that are looked at.
const DEEP: usize = 32;

/// The directories around a run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The canonical workspace. For files that are not on a disk it is the root directory, which has no repository.
    pub workspace: &'a Path,
    /// The canonical working directory of the command.
    pub cwd: &'a Path,
    /// The homes, and the directories in them.
    pub homes: &'a Homes,
    /// The directories of `PATH`, in which the user's shell finds commands. Relative ones do not count.
    pub commands: &'a [PathBuf],
}

/// The places where the list begins. Looks at the disk.
#[must_use]
pub fn find(around: Surroundings<'_>) -> Vec<(Place, PathBuf)> {
    let Surroundings { workspace, cwd, homes, commands } = around;
    let mut bases = vec![(Place::Top, workspace.to_owned())];
    if cwd.starts_with(workspace) {
        let between = cwd.ancestors().take_while(|dir| *dir != workspace).take(DEEP);
        bases.extend(between.map(|dir| (Place::Top, dir.to_owned())));
    }
    if workspace.join("HEAD").symlink_metadata().is_err() {
        bases.push((Place::Bare, workspace.to_owned()));
    } else {
        bases.push((Place::Repository, workspace.to_owned()));
    }
    add_repository(around, &mut bases);
    let in_homes = |below: &'static str| homes.protected.iter().map(move |home| home.join(below));
    let of_config = homes.config.iter().cloned().chain(in_homes(".config"));
    let of_data = homes.data.iter().cloned().chain(in_homes(".local/share"));
    bases.extend(homes.protected.iter().cloned().map(|path| (Place::Home, led(path))));
    bases.extend(of_config.map(|path| (Place::Config, led(path))));
    bases.extend(of_data.map(|path| (Place::Data, led(path))));
    bases.extend(outside(workspace, commands).map(|path| (Place::Commands, path)));
    bases.sort();
    bases.dedup();
    bases
}

/// The directories of commands outside the workspace. Commands inside are the project's own, as in `node_modules/.bin`
/// and an activated `.venv/bin`. A directory around the workspace is left out, because it would make all of the
/// workspace need prompts.
fn outside<'a>(workspace: &'a Path, commands: &'a [PathBuf]) -> impl Iterator<Item = PathBuf> + 'a {
    let absolute = commands.iter().filter(|path| path.is_absolute());
    let places = absolute.map(|path| led(path.clone()));
    places.filter(move |path| !path.starts_with(workspace) && !workspace.starts_with(path))
}

/// The target of the path, or the path itself if it cannot be resolved.
fn led(path: PathBuf) -> PathBuf {
    canonical::resolve(Path::new("/"), &path, Op::Content).map_or(path, |found| found.path)
}

/// Adds the places of the workspace's repository, wherever that is.
fn add_repository(around: Surroundings<'_>, bases: &mut Vec<(Place, PathBuf)>) {
    let name = around.workspace.join(".git");
    let Ok(found) = name.symlink_metadata() else { return };
    let mut common = name.clone();
    if !found.is_dir() {
        let Some(own) = git::directory(&name) else { return };
        common = git::common_directory(&own);
        bases.extend([&own, &common].map(|path| (Place::Repository, path.clone())));
    }
    add_named(around, &common.join("config"), bases);
    let of_user = [
        around.homes.user.as_ref().map(|home| home.join(".gitconfig")),
        around.homes.config.as_ref().map(|config| config.join("git/config")),
    ];
    for file in of_user.into_iter().flatten() {
        add_named(around, &file, bases);
    }
}

/// Adds the places that git obeys because a configuration names them: the directory of hooks, and included
/// configurations.
fn add_named(around: Surroundings<'_>, file: &Path, bases: &mut Vec<(Place, PathBuf)>) {
    let Ok(text) = fs::read(file) else { return };
    let home = around.homes.user.as_deref();
    let place = |value: String, base: &Path| {
        let path = match value.strip_prefix("~/") {
            Some(rest) => home?.join(rest),
            None => base.join(value),
        };
        Some(led(path))
    };
    let named = git::Named::of(&String::from_utf8_lossy(&text));
    let beside = file.parent().unwrap_or(file);
    for hooks in named.hooks.into_iter().filter_map(|value| place(value, around.workspace)) {
        // husky keeps starters in `_`, for the hooks in the directory above.
        let of_husky = hooks.file_name().is_some_and(|name| name == "_");
        let whole = hooks.parent().filter(|_| of_husky).map(Path::to_owned);
        bases.push((Place::Hooks, whole.unwrap_or(hooks)));
    }
    let included = named.included.into_iter().filter_map(|value| place(value, beside));
    bases.extend(included.map(|path| (Place::Included, path)));
}
