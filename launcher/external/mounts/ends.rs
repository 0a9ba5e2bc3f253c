//! Checks the two ends of a mount: its name in the workspace, and its target outside (spec §8.3).

use std::path::Path;

use camino::Utf8PathBuf;
use jp_confine_engine::canonical::{self, Op, Root};
use jp_confine_engine::lexical;

use crate::external::control_paths;
use crate::host::context::Context;
use crate::text::quote;

/// Storage of the tools' host and of git, where no mount is allowed.
const MANAGED: [&str; 3] = [".jp", ".config/jp", ".git"];

/// The base for looking up names and targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookupBase<'a> {
    pub(crate) context: &'a Context,
    pub(crate) root: &'a Root,
}

impl LookupBase<'_> {
    /// Turns `typed`, relative to the working directory, into a rule path: relative to the workspace and in normal
    /// form. Does not resolve its parents.
    pub(crate) fn name(&self, typed: &str) -> Result<Utf8PathBuf, String> {
        if typed.starts_with('/') {
            return Err("NAME is absolute; it is relative to the working directory".to_owned());
        }
        // Starts at `/`, so that `..` may pass through directories above the working directory.
        let from_top = self.context.cwd.join(typed);
        let from_top = from_top.strip_prefix("/").unwrap_or(&from_top);
        let outside =
            || format!("NAME is outside the workspace {}", quote::place(self.root.as_path()));
        let from_top = lexical::normalise(from_top.as_os_str().as_encoded_bytes());
        let absolute = Path::new("/").join(from_top.map_err(|_| outside())?);
        let name = self.below_root(&absolute).ok_or_else(outside)?;
        let Ok(name) = Utf8PathBuf::from_path_buf(name.to_owned()) else {
            return Err("NAME is not UTF-8, as rules are".to_owned());
        };
        if name.as_str().is_empty() {
            return Err("NAME is the workspace itself".to_owned());
        }
        let is_managed = MANAGED.iter().any(|dir| name.starts_with(dir));
        if is_managed || self.is_controlled(&self.root.as_path().join(&name)) {
            return Err(format!("{} is not yours to mount on", quote::path(name.as_str())));
        }
        Ok(name)
    }

    /// The part of an absolute path below the workspace, which a symlink may stand for (spec §4.3).
    fn below_root<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let root = self.root.as_path();
        let is_root = |dir: &&Path| dir.canonicalize().is_ok_and(|dir| dir == root);
        let through_link = || path.strip_prefix(path.ancestors().find(is_root)?).ok();
        canonical::below(root, path).or_else(through_link)
    }

    /// Whether the product keeps a file of its own at `path`, below it, or above it.
    fn is_controlled(&self, path: &Path) -> bool {
        let control = control_paths::control(self.context, self.root, &[]);
        control.iter().any(|(own, _)| own.starts_with(path) || path.starts_with(own))
    }

    /// The target of `typed`, relative to the working directory and perhaps below `~`. The result is canonical,
    /// existing, and outside the workspace.
    pub(crate) fn target(&self, typed: &Path) -> Result<Utf8PathBuf, String> {
        let typed = self.context.with_home(typed)?;
        let resolved = canonical::resolve(&self.context.cwd, &typed, Op::Content)
            .map_err(|error| error.to_string())?;
        if !resolved.exists {
            return Err(format!("{} does not exist", quote::place(&resolved.path)));
        }
        if self.root.contains(&resolved.path) {
            return Err(format!("{} is inside the workspace", quote::place(&resolved.path)));
        }
        Utf8PathBuf::from_path_buf(resolved.path)
            .map_err(|path| format!("{} is not UTF-8, as rules are", quote::place(&path)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    /// A directory with `ws/sub`, `out/dir`, `out/file`, and symlinks `up` to `out` and `to` to `ws`. `home` is `out`.
    struct Tree {
        dir: tempfile::TempDir,
        top: PathBuf,
    }

    impl Tree {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let top = dir.path().canonicalize().expect("canonical");
            for name in ["ws/sub", "out/dir"] {
                fs::create_dir_all(top.join(name)).expect("made");
            }
            fs::write(top.join("out/file"), "").expect("written");
            symlink("../out", top.join("ws/up")).expect("linked");
            symlink("ws/sub", top.join("in")).expect("linked");
            symlink("ws", top.join("to")).expect("linked");
            Self { dir, top }
        }

        fn with<T>(&self, cwd: &str, ask: impl Fn(&LookupBase<'_>) -> T) -> T {
            let mut context = Context::bare(&self.top.join(cwd));
            context.homes.user = Some(self.top.join("out"));
            context.homes.data = Some(self.top.join("ws/.local/share"));
            let root = Root::open(&self.top.join("ws")).expect("a root");
            ask(&LookupBase { context: &context, root: &root })
        }

        fn name(&self, cwd: &str, typed: &str) -> Result<String, String> {
            self.with(cwd, |place| place.name(typed)).map(Utf8PathBuf::into_string)
        }

        /// The target below the tree, or the error.
        fn target(&self, cwd: &str, typed: &Path) -> Result<String, String> {
            let top = format!("{}/", self.top.display());
            let short = |text: String| text.replace(&top, "");
            let target = self.with(cwd, |place| place.target(typed));
            target.map(|path| short(path.into_string())).map_err(short)
        }
    }

    // conformance: d43-138, d43-142, d43-143, d43-144, d43-145
    #[test]
    fn names_are_relative_to_the_working_directory() {
        let tree = Tree::new();
        for (cwd, typed, name) in [
            ("ws", "fork", "fork"),
            ("ws", "./a//b/../fork/", "a/fork"),
            ("ws/sub", "fork", "sub/fork"),
            ("ws/sub", "../fork", "fork"),
            ("ws/sub", "../other/fork", "other/fork"),
            ("ws/sub", "../../ws/fork", "fork"),
            ("", "ws/fork", "fork"),
            ("", "to/sub/fork", "sub/fork"),
            ("ws", "~", "~"),
            ("ws", "a:b", "a:b"),
            ("ws", "foo/bar/baz", "foo/bar/baz"),
            ("ws/foo", "baz", "foo/baz"),
            ("ws/foo", "../qux/baz", "qux/baz"),
            ("ws/foo", "../baz", "baz"),
        ] {
            assert_eq!(tree.name(cwd, typed).as_deref(), Ok(name), "{cwd}: {typed}");
        }
    }

    // conformance: d43-139, d43-140, d43-141, d43-146, d43-147, d43-173
    #[test]
    fn names_that_cannot_be() {
        let tree = Tree::new();
        let absolute = tree.top.join("ws/fork");
        for (cwd, typed, why) in [
            ("ws", absolute.to_str().expect("UTF-8"), "absolute"),
            ("ws", "/", "absolute"),
            ("ws", "../fork", "outside"),
            ("ws", "a/../../fork", "outside"),
            ("ws", "../../../../../../../../../../fork", "outside"),
            ("ws", "../wsx", "outside"),
            ("", "fork", "outside"),
            ("out", "fork", "outside"),
            ("", "in/fork", "outside"),
            ("", "to", "itself"),
            ("", "to/.jp", "not yours"),
            ("ws", ".", "itself"),
            ("ws", "sub/..", "itself"),
            ("ws", ".jp", "not yours"),
            ("ws", ".jp/fork", "not yours"),
            ("ws", ".git/g", "not yours"),
            ("ws", ".git", "not yours"),
            ("ws", ".config/jp/tools", "not yours"),
            ("ws", "jp-confine.toml", "not yours"),
            ("ws", ".local/share/jp-confine/x", "not yours"),
            ("ws", ".local", "not yours"),
        ] {
            let error = tree.name(cwd, typed).expect_err(typed);
            assert!(error.contains(why), "{cwd}: {typed}: {error}");
        }
    }

    // conformance: d43-177
    #[test]
    fn targets_are_canonical() {
        let tree = Tree::new();
        let absolute = tree.top.join("out/dir");
        for (cwd, typed, target) in [
            ("ws", "../out/dir", "out/dir"),
            ("ws/sub", "../../out/file", "out/file"),
            ("ws", absolute.to_str().expect("UTF-8"), "out/dir"),
            ("ws", "up/dir", "out/dir"),
            ("ws", "~", "out"),
            ("ws", "~/dir/", "out/dir"),
            ("out", "dir", "out/dir"),
        ] {
            assert_eq!(tree.target(cwd, Path::new(typed)).as_deref(), Ok(target), "{cwd}: {typed}");
        }
        let around = tree.with("ws", |place| place.target(Path::new("..")));
        assert_eq!(around.expect("a target"), tree.top.to_str().expect("UTF-8"));
    }

    #[test]
    fn targets_that_cannot_be() {
        let tree = Tree::new();
        let not_utf8 = std::ffi::OsStr::from_bytes(b"../out/\xff");
        fs::create_dir(tree.dir.path().join("ws").join(not_utf8)).expect("made");
        for (typed, why) in [
            ("../out/missing", "does not exist"),
            ("~/missing", "does not exist"),
            ("~me/dir", "does not exist"),
            ("../out/file/x", "not a directory"),
            (".", "inside the workspace"),
            ("sub", "inside the workspace"),
            ("../in", "inside the workspace"),
        ] {
            let error = tree.target("ws", Path::new(typed)).expect_err(typed);
            assert!(error.contains(why), "{typed}: {error}");
        }
        let error = tree.target("ws", Path::new(not_utf8)).expect_err("not UTF-8");
        assert!(error.contains("UTF-8"), "{error}");
    }
}
