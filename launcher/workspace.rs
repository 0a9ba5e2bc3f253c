//! Which directory is the workspace (spec §18, `-C`).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::failure::Failure;

/// The policy file of a workspace.
pub(crate) const FILE: &str = "jp-confine.toml";

/// The workspace root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Its canonical form, which everything is compared with (spec §4.3).
    pub(crate) root: PathBuf,
    /// The way it was reached by, where that leads through a link.
    pub(crate) spelled: Option<PathBuf>,
}

impl Workspace {
    /// Where what belongs to this workspace and this user is kept, outside of it:
    /// `jp-confine/workspaces/<id>` of the user's data (spec §8.1). `None` where the user has no place
    /// for data.
    ///
    /// `<id>` is the FNV-1a hash of the root's bytes, 64 bits wide, and for people its last component.
    pub(crate) fn data_dir(&self, context: &Context) -> Option<PathBuf> {
        let hash =
            self.root.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let name = self.root.file_name().unwrap_or_default().as_bytes().iter();
        let name: String =
            name.map(|byte| if plain(byte) { char::from(*byte) } else { '_' }).collect();
        let data = context.data_home.as_ref()?;
        Some(data.join("jp-confine/workspaces").join(format!("{hash:016x}-{name}")))
    }
}

/// The workspace that `named` (`-C`) or the working directory selects.
///
/// Unnamed, the nearest directory upwards that holds `jp-confine.toml` or `.git`, else the working
/// directory; the root directory and the home directory are too much to grant unasked, and refused.
pub(crate) fn find(context: &Context, named: Option<&Path>) -> Result<Workspace, Failure> {
    if let Some(named) = named {
        return at(&context.spelled_cwd.join(named)).map_err(|error| {
            Failure::own(format!("the workspace {} cannot be used: {error}", named.display()))
        });
    }
    let too_much =
        |dir: &Path| dir.parent().is_none() || context.canonical_home.as_deref() == Some(dir);
    let marked = |dir: &&Path| {
        !too_much(dir)
            && [FILE, ".git"].iter().any(|mark| dir.join(mark).symlink_metadata().is_ok())
    };
    let root = context.cwd.ancestors().find(marked).unwrap_or(&context.cwd);
    if too_much(root) {
        return Err(Failure::advised(
            format!(
                "{} would be the workspace, and the program could change all of it",
                root.display()
            ),
            "go to a project directory, or name this one with -C",
        ));
    }
    Ok(Workspace { root: root.to_owned(), spelled: spelling_of(context, root) })
}

fn at(spelled: &Path) -> std::io::Result<Workspace> {
    let root = spelled.canonicalize()?;
    if !root.is_dir() {
        return Err(std::io::Error::from(std::io::ErrorKind::NotADirectory));
    }
    let spelled = lexical(spelled);
    Ok(Workspace { spelled: (spelled != root).then_some(spelled), root })
}

/// How the shell spells `root`, an ancestor of the working directory: `$PWD` less as many
/// components as the working directory lies below it, where that denotes the same place.
fn spelling_of(context: &Context, root: &Path) -> Option<PathBuf> {
    let below = context.cwd.strip_prefix(root).ok()?.components().count();
    let spelled = context.spelled_cwd.ancestors().nth(below)?;
    (spelled != root && spelled.canonicalize().ok()? == root).then(|| spelled.to_owned())
}

/// `path` without `.` and trailing slashes; kept as it is where it has `..`, because those are the
/// kernel's to resolve.
fn lexical(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_workspace_is_told_apart_by_its_root() {
        let mut context = Context::bare(Path::new("/"));
        let dir = |context: &Context, root: &str| {
            Workspace { root: root.into(), spelled: None }.data_dir(context)
        };
        assert_eq!(dir(&context, "/a"), None);
        context.data_home = Some("/data".into());
        for (root, id) in [
            ("/", "af63a24c860189fe-"),
            ("/a", "07d66707b49cd92d-a"),
            ("/home/me/my crate\u{e9}", "9b16833a27b780a4-my_crate__"),
        ] {
            let expected = Path::new("/data/jp-confine/workspaces").join(id);
            assert_eq!(dir(&context, root), Some(expected), "{root}");
        }
    }
}
