//! Which directory is the workspace (spec §18, `-C`).

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::failure::Failure;

/// The policy file of a workspace.
pub(crate) const FILE: &str = jp_confine_policy::workspace::POLICY_FILE;

/// The workspace root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Its canonical form, which everything is compared with (spec §4.3).
    pub(crate) root: PathBuf,
    /// The way it was reached by, where that leads through a link.
    pub(crate) spelled: Option<PathBuf>,
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
