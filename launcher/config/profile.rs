//! Defines tables of ready-made grants: the runtime baseline and the tool profiles (spec §12.1).
//!
//! A table is TOML with these keys, all optional:
//!
//! | key | meaning |
//! |---|---|
//! | `read` | paths to read |
//! | `exec` | paths to read and execute |
//! | `update` | paths to read and, if they exist, to update |
//! | `write` | paths to read, create, update and delete |
//! | `deny` | paths to deny, whatever is granted above them |
//! | `except` | `"PATH" = ["PATTERN"]`: exceptions from the grant on PATH (`*` within a name) |
//! | `make` | directories that a run creates before it begins, if the program is one of `programs` |
//! | `builds` | such directories in the workspace, by name, if the run may create them and nothing beside them |
//! | `view` | `"FROM" = "TO"`: programs that name FROM get the directory TO, read and execute if it ends in `:ro` |
//! | `cache` | `"FROM" = "NAME"`: programs that name FROM get the directory NAME of the workspace's own caches |
//! | `variables` | `NAME = "DIRECTORY"`: variables with the path of a directory of the workspace's own caches |
//! | `seeds` | `"DIRECTORY" = { from, link, copy, skip }`: fills such a directory with what FROM has (see [`Seeds`]) |
//! | `programs` | names of programs that select this profile |
//! | `includes` | further profiles that it includes; `*` stands for those of all tools |
//!
//! A path is absolute, or begins with `~` (the home directory), `${NAME}` or `${NAME:-PATH}` (an environment variable,
//! and its default). An entry is ignored if its variable or home is unknown, or if it is not absolute once expanded.
//! It is also ignored if its path does not exist, with two exceptions:
//!
//! - It grants creation: a lock file is granted before its first use.
//! - It lies below an entry of the same table that grants creation: then it removes that grant there.
//!
//! A default may itself be a variable: `${NAME:-${OTHER:-PATH}/REST}`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jp_confine_engine::Capabilities;

use crate::config::written_view::WrittenView;

/// One table of ready-made grants, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Its name. Empty for the baseline.
    pub(crate) name: String,
    /// The user wrote it.
    pub(crate) own: bool,
    pub(crate) programs: Vec<String>,
    pub(crate) includes: Vec<String>,
    /// Capabilities and path, in the order of the table. `deny` has no capability.
    pub(crate) entries: Vec<(Capabilities, String)>,
    /// Path of an entry, and the patterns of its exceptions.
    pub(crate) except: Vec<(String, Vec<String>)>,
    /// Directories to create.
    pub(crate) make: Vec<String>,
    /// Names of directories to create in the workspace.
    pub(crate) builds: Vec<String>,
    /// Views, in the order of the table.
    pub(crate) views: Vec<WrittenView>,
    /// Directories of tools' caches, each with the name of the workspace's own one.
    pub(crate) caches: Vec<(String, PathBuf)>,
    /// Variables, each with the name of such a directory.
    pub(crate) variables: Vec<(String, PathBuf)>,
    pub(crate) seeds: Vec<Seeds>,
}

/// What one of the workspace's own caches has from the user's cache.
///
/// A pattern is a path below the user's directory. `*` stands for part of a name, and `**` for any directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seeds {
    /// The name of the workspace's own directory.
    pub(crate) cache: PathBuf,
    /// The user's directory, like an entry.
    pub(crate) from: String,
    /// Files and directories that never change. Runs get symlinks to them.
    pub(crate) links: Vec<String>,
    /// Files that tools update.
    pub(crate) copies: Vec<String>,
    /// Names, or paths with a slash, that no pattern reaches.
    pub(crate) skips: Vec<String>,
}

impl Seeds {
    /// The directories, below the user's one, that symlinks lead into.
    pub(crate) fn sources(&self) -> BTreeSet<PathBuf> {
        let fixed = |pattern: &String| {
            let names = pattern.split('/').take_while(|name| !name.contains('*'));
            names.collect::<PathBuf>()
        };
        self.links.iter().map(fixed).collect()
    }
}

impl Profile {
    /// Whether the profile is for `program`, which may end with a version (`python3.12`).
    pub(crate) fn claims(&self, program: &str) -> bool {
        let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        self.programs.iter().any(|name| name == program || name == plain)
    }

    /// The names of directories that its tools create in the workspace under another name first.
    pub(crate) fn workspace_folders(&self) -> impl Iterator<Item = &str> {
        let is_name =
            |name: &&String| !name.contains('/') && !matches!(name.as_str(), "" | "." | "..");
        self.builds.iter().filter(is_name).map(String::as_str)
    }

    /// The same profile with all rights on the user's own caches.
    pub(crate) fn sharing_caches(&self) -> Self {
        let mut shared = self.clone();
        let all = |(from, _)| (Capabilities::ALL, from);
        shared.entries.extend(std::mem::take(&mut shared.caches).into_iter().map(all));
        shared
    }

    /// Whether an entry lies below one that grants creation.
    pub(crate) fn narrows(&self, entry: &str) -> bool {
        let is_above = |(caps, above): &(Capabilities, String)| {
            let below = entry.strip_prefix(above.as_str());
            caps.contains(Capabilities::CREATE) && below.is_some_and(|rest| rest.starts_with('/'))
        };
        self.entries.iter().any(is_above)
    }
}
