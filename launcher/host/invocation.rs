//! Writes the commands that messages suggest, as they must be typed in the current directory.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::text::quote;

/// The directory in which a person typed a command, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandHint {
    /// The value of `-C`, if it was typed.
    named: Option<PathBuf>,
    /// The way from the working directory to the workspace. It is empty, or ends in a slash.
    way: Option<String>,
}

impl CommandHint {
    /// In the workspace itself.
    #[cfg(test)]
    pub(crate) const INSIDE: Self = Self { named: None, way: Some(String::new()) };

    /// In the directory `cwd`, for the workspace at `root`, which was `named` or found. `cwd` and `root` are canonical.
    pub(crate) fn of(cwd: &Path, root: &Path, named: Option<&Path>) -> Self {
        Self { named: named.map(Path::to_owned), way: way(cwd, root) }
    }

    /// The jp-confine command with these `words` for the workspace.
    pub(crate) fn command(&self, words: &str) -> String {
        match &self.named {
            Some(named) => {
                format!("jp-confine -C {} {words}", quote::operand(named.as_os_str().as_bytes()))
            }
            None => format!("jp-confine {words}"),
        }
    }

    /// The command that approves the target of `name`, or the pattern `name`.
    pub(crate) fn approval(&self, name: &str) -> String {
        self.command(&format!("approvals approve {}", quote::operand(name.as_bytes())))
    }

    /// The commands that approve these, one after the other.
    pub(crate) fn approvals(&self, names: &[String]) -> String {
        names.iter().map(|name| self.approval(name)).collect::<Vec<_>>().join(" && ")
    }

    /// A workspace-relative `name`, made relative to the working directory, for options that take it so.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        self.way.as_ref().map(|way| format!("{way}{name}"))
    }
}

/// The way from one canonical directory to another.
fn way(from: &Path, to: &Path) -> Option<String> {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other);
    let shared = shared.count();
    let up = "../".repeat(from.components().count() - shared);
    let down: PathBuf = to.components().skip(shared).collect();
    let down = down.to_str()?;
    Some(if down.is_empty() { up } else { format!("{up}{down}/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_from_where_a_person_stands() {
        for (cwd, root, name) in [
            ("/w", "/w", "fork"),
            ("/w/a/b", "/w", "../../fork"),
            ("/", "/w/x", "w/x/fork"),
            ("/w/a", "/w/b", "../b/fork"),
        ] {
            let here = CommandHint::of(Path::new(cwd), Path::new(root), None);
            assert_eq!(here.name("fork").as_deref(), Some(name), "{cwd} {root}");
        }
    }

    #[test]
    fn commands_name_the_workspace_as_it_was_typed() {
        let from = |named| CommandHint::of(Path::new("/"), Path::new("/w"), named);
        assert_eq!(from(None).approval("a b"), "jp-confine approvals approve 'a b'");
        for (named, word) in [("w", "w"), ("a b", "'a b'"), ("-w", "./-w")] {
            let here = from(Some(Path::new(named)));
            assert_eq!(here.command("why --last"), format!("jp-confine -C {word} why --last"));
        }
    }
}
