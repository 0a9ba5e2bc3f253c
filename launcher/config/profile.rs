//! Tables of ready-made grants: the runtime baseline and the tool profiles (spec §12.1).
//!
//! A table is TOML with these keys, all optional:
//!
//! | key | meaning |
//! |---|---|
//! | `read` | paths to read |
//! | `exec` | paths to read and execute |
//! | `update` | paths to read and to change where they exist |
//! | `write` | paths to read, create, update and delete |
//! | `deny` | paths to keep away from, whatever is granted above them |
//! | `except` | `"PATH" = ["PATTERN"]`: what to leave out of the grant on PATH (`*` within a name) |
//! | `make` | folders that a run makes before it begins, if the program is one of `programs` |
//! | `builds` | the same in the workspace, by name, where the run may make them and nothing beside them |
//! | `programs` | names of programs that select this profile |
//! | `includes` | further profiles that it brings along |
//!
//! A path is absolute, or begins with `~` (the home directory), `${NAME}` or `${NAME:-PATH}` (an
//! environment variable and what stands for it when it is unset). Entries whose variable or home is
//! unknown, or that are not absolute once expanded, say nothing. So do entries that do not exist,
//! unless they grant creation: a lock file is granted before its first use. And unless they lie below an entry of the
//! same table that does: then they take that away there.

use jp_confine_policy::Capabilities;

/// One table of ready-made grants, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Its name; empty for the baseline.
    pub(crate) name: String,
    /// A person wrote it.
    pub(crate) own: bool,
    pub(crate) programs: Vec<String>,
    pub(crate) includes: Vec<String>,
    /// Capabilities and path, in the order of the table; no capability for `deny`.
    pub(crate) entries: Vec<(Capabilities, String)>,
    /// Path of an entry and the patterns left out of it.
    pub(crate) except: Vec<(String, Vec<String>)>,
    /// Folders to make.
    pub(crate) make: Vec<String>,
    /// Names of folders to make in the workspace.
    pub(crate) builds: Vec<String>,
}

impl Profile {
    /// Whether the profile is for `program`, be it with a version at its end (`python3.12`).
    pub(crate) fn claims(&self, program: &str) -> bool {
        let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        self.programs.iter().any(|name| name == program || name == plain)
    }

    /// The names of folders in the workspace that its tools make by way of another name.
    pub(crate) fn workspace_folders(&self) -> impl Iterator<Item = &str> {
        let is_name =
            |name: &&String| !name.contains('/') && !matches!(name.as_str(), "" | "." | "..");
        self.builds.iter().filter(is_name).map(String::as_str)
    }

    /// Whether an entry lies below one that lets things be made.
    pub(crate) fn narrows(&self, entry: &str) -> bool {
        let is_above = |(caps, above): &(Capabilities, String)| {
            let below = entry.strip_prefix(above.as_str());
            caps.contains(Capabilities::CREATE) && below.is_some_and(|rest| rest.starts_with('/'))
        };
        self.entries.iter().any(is_above)
    }
}
