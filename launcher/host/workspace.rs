//! Finds the workspace (spec §18, `-C`).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::Root;
use jp_confine_engine::control;

use crate::error::Failure;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::host::invocation::CommandHint;
use crate::host::workspace_markers::Marks;
use crate::text::quote;

/// The policy file of a workspace.
pub(crate) const FILE: &str = jp_confine_engine::control::POLICY_FILE;

/// The workspace root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Its canonical path, which everything is compared with (spec §4.3). In a view of an outer run, the real one.
    pub(crate) root: PathBuf,
    /// The path that it was reached by, if that leads through a symlink.
    pub(crate) spelled: Option<PathBuf>,
    /// The directory in which the command was typed.
    pub(crate) here: CommandHint,
    /// Its mark, if the next run would have a larger workspace without it.
    pub(crate) mark: Option<PathBuf>,
}

impl Workspace {
    /// The workspace at `root`, for a command that was typed there.
    #[cfg(test)]
    pub(crate) fn bare(root: &Path) -> Self {
        Self { root: root.to_owned(), spelled: None, here: CommandHint::INSIDE, mark: None }
    }

    /// The directory for this user's data about this workspace, out of reach of every run. It may not exist yet. `None`
    /// if no home directory is known.
    pub(crate) fn data_dir(&self, context: &Context) -> Option<PathBuf> {
        let (name, hash) = self.name_and_hash();
        let id = format!("{hash:016x}-{name}");
        Some(context.homes.data.as_ref()?.join("jp-confine/workspaces").join(id))
    }

    /// The name of the directory for the caches of this workspace.
    pub(crate) fn cache_id(&self) -> String {
        let (name, hash) = self.name_and_hash();
        format!("{name}-{hash:016x}")
    }

    /// The last name of its path without unusual characters, and a hash of the path.
    fn name_and_hash(&self) -> (String, u64) {
        let name = self.root.file_name().unwrap_or_default().as_bytes();
        let kept = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let plain = |byte: &u8| if kept(byte) { char::from(*byte) } else { '_' };
        (name.iter().map(plain).collect(), fnv1a(self.root.as_os_str().as_bytes()))
    }

    /// The path that no program may change, so that this stays the workspace, and its description.
    pub(crate) fn kept(&self) -> Option<(PathBuf, String)> {
        let kept = control::standing(self.mark.as_ref()?)?;
        Some((kept, "the workspace's mark, which a run has to leave".to_owned()))
    }

    /// The root, for resolving paths.
    ///
    /// # Errors
    /// It is no directory, or not any more.
    pub(crate) fn opened(&self) -> Result<Root, Failure> {
        Root::known(self.root.clone()).map_err(|error| Failure::own(error.to_string()))
    }

    /// The name of the workspace in files in [`Self::data_dir`], which tells apart two workspaces with one hash.
    pub(crate) fn label(&self) -> String {
        quote::printable(self.root.as_os_str().as_bytes())
    }
}

/// 64-bit FNV-1a: the same on every machine and in every version.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The workspace that `named` (`-C`) or the working directory selects.
///
/// Without `-C`, it is the nearest directory upwards that holds `jp-confine.toml` or `.git`, else the working
/// directory. But a program of a run could have created such a mark below a policy file. The next run would then follow
/// no policy, or one that the program wrote. So these rules apply, too (`docs/decisions/0033`):
///
/// - If there are policy files upwards, the farthest directory with one is the workspace.
/// - A nearer policy file is an error, until `-C` names the workspace.
/// - A symlink that leads out of a workspace is an error, in `-C` and on the way to the working directory.
/// - The root directory and the home directory are an error without `-C`: they are too much to grant unasked.
pub(crate) fn find(context: &Context, named: Option<&Path>) -> Result<Workspace, Failure> {
    let marks = Marks::of(context);
    let found = match named {
        Some(named) => at(context, named).map_err(|error| {
            Failure::own(format!("the workspace {} cannot be used: {error}", quote::place(named)))
        }),
        None => around(context, marks),
    }?;
    let spelled =
        named.map_or_else(|| context.spelled_cwd.clone(), |dir| context.spelled_cwd.join(dir));
    // Without `-C` the path is usually canonical, and has no symlinks to look for.
    if spelled != context.cwd
        && let Some((link, holder)) = marks.led_out(&spelled, &found.root)
    {
        return Err(led(&link, &holder, &found.root));
    }
    data_dirs::refuse_inside(context, &found.root)?;
    let mark = marks.needed(&found.root);
    Ok(Workspace { mark, root: context.outer_views.real(found.root), ..found })
}

/// The workspace that the working directory is in.
fn around(context: &Context, marks: Marks<'_>) -> Result<Workspace, Failure> {
    if let Some(mark) = marks.of_a_stranger(&context.cwd) {
        return Err(of_a_stranger(&mark, &context.cwd));
    }
    let root = marks.workspace_of(&context.cwd).unwrap_or(&context.cwd);
    let inner = context.cwd.ancestors().find(|dir| marks.has_policy(dir));
    if let Some(inner) = inner.filter(|inner| *inner != root && inner.starts_with(root)) {
        return Err(one_of(inner, root));
    }
    if marks.is_too_much(root) {
        return Err(Failure::advised(
            format!(
                "{} would be the workspace, and the program could change all of it",
                quote::place(root)
            ),
            "go to a project directory, or name this one with -C",
        ));
    }
    let here = CommandHint::of(&context.cwd, root, None);
    let spelled = spelling_of(context, root);
    Ok(Workspace { root: root.to_owned(), spelled, here, mark: None })
}

/// The failure for another user's `mark`. That user may have written the policy, so it is not applied. It is not
/// ignored, either, since it may be meant.
fn of_a_stranger(mark: &Path, cwd: &Path) -> Failure {
    let dir = mark.parent().unwrap_or(mark);
    let shown = quote::path(&mark.to_string_lossy());
    let named = quote::operand(dir.as_os_str().as_bytes());
    let trust = format!("if you trust that: -C {named}");
    let way_out = if dir == cwd {
        format!("{trust}, or go to a directory of your own")
    } else {
        format!("name the workspace: -C . for this directory alone, or {trust}")
    };
    let problem = "is another user's, in a directory that everybody may write to";
    Failure::advised(format!("{shown} {problem}"), way_out)
}

/// The failure for a symlink out of a workspace: a program that writes in the workspace could choose the next one.
fn led(link: &Path, holder: &Path, root: &Path) -> Failure {
    let [link, holder] = [link, holder].map(|path| quote::quoted(path.as_os_str().as_bytes()));
    let root = quote::operand(root.as_os_str().as_bytes());
    Failure::advised(
        format!(
            "{link} is a link out of the workspace {holder} that what ran there could have made"
        ),
        format!("if its target is meant to be the workspace: -C {root}"),
    )
}

/// The failure for two policy files: a program that could have created one must not choose which of them applies.
fn one_of(inner: &Path, outer: &Path) -> Failure {
    let shown = quote::path(&inner.to_string_lossy());
    let [inner, outer] = [inner, outer].map(|dir| quote::operand(dir.as_os_str().as_bytes()));
    Failure::advised(
        format!("there is a {FILE} in {shown} and one above it"),
        format!("name the workspace: -C {outer}, or if you wrote the other: -C {inner}"),
    )
}

fn at(context: &Context, named: &Path) -> std::io::Result<Workspace> {
    let spelled = context.spelled_cwd.join(named);
    let root = spelled.canonicalize()?;
    if !root.is_dir() {
        return Err(std::io::Error::from(std::io::ErrorKind::NotADirectory));
    }
    let spelled = lexical(&spelled);
    let here = CommandHint::of(&context.cwd, &root, Some(named));
    let spelled = (spelled != root).then_some(spelled);
    Ok(Workspace { root, spelled, here, mark: None })
}

/// How the shell spells `root`, an ancestor of the working directory. This is `$PWD` without the components below
/// `root`, if that names the same directory.
fn spelling_of(context: &Context, root: &Path) -> Option<PathBuf> {
    let below = context.cwd.strip_prefix(root).ok()?.components().count();
    let spelled = context.spelled_cwd.ancestors().nth(below)?;
    (spelled != root && spelled.canonicalize().ok()? == root).then(|| spelled.to_owned())
}

/// `path` without `.` and trailing slashes. Each `..` stays, because only the kernel can resolve it.
fn lexical(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workspace_has_a_directory_of_its_own() {
        let mut context = Context::bare(Path::new("/"));
        context.homes.data = Some("/d".into());
        let dir = |root: &str| Workspace::bare(Path::new(root)).data_dir(&context);
        // The hash of nothing is the offset basis (draft-eastlake-fnv, 5.1).
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        let one = dir("/srv/a b\u{e9}").expect("known");
        let name = one.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(one.starts_with("/d/jp-confine/workspaces") && name.ends_with("-a_b__"), "{name}");
        assert_ne!(dir("/srv/one"), dir("/srv/two"));
        assert_ne!(dir("/srv/x/one"), dir("/srv/y/one"));
    }
}
