//! Knows the directory that a tool fills as one: for git a repository, for a program its package or prefix. It takes one
//! suggestion, not one for each file (spec §18).

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::{self, Op};

use crate::files;
use crate::host::installation;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// The unit of which something was denied, in the user's `home`.
pub(super) fn of<'d>(denial: &'d Denial, home: &Path) -> Option<&'d Path> {
    let path = path_of(&denial.path);
    let installed = || installation::package_or_prefix(path, home);
    repository(path_of(&denial.program), path)
        .or_else(|| denial.missing.intersects(Capabilities::EXECUTE).then(installed)?)
}

/// The repository directory that holds `path`, if git was denied it. In a linked worktree and in a submodule, that is
/// the directory of the main repository.
fn repository<'p>(program: &Path, path: &'p Path) -> Option<&'p Path> {
    let name = program.file_name()?.to_str()?;
    let is_git = name == "git" || name.starts_with("git-");
    let repository = path.ancestors().filter(|it| it.ends_with(".git")).last();
    repository.filter(|_| is_git)
}

/// Limit on the length of a file that names a repository.
const LINE: u64 = 4096 + 16;

/// Whether the workspace is a linked worktree or a submodule of this repository. Its file `.git` says so
/// (gitrepository-layout(5)). Looks at the disk.
pub(super) fn is_of_worktree(repository: &Path, workspace: &Path) -> bool {
    let Ok(file) = files::open_file(&workspace.join(".git")) else { return false };
    let mut text = Vec::new();
    if file.take(LINE).read_to_end(&mut text).is_err() {
        return false;
    }
    let named = text.trim_ascii_end().strip_prefix(b"gitdir: ");
    let named = named.map(|name| workspace.join(std::ffi::OsStr::from_bytes(name)));
    let found = named.and_then(|it| canonical::resolve(Path::new("/"), &it, Op::Content).ok());
    found.is_some_and(|found| found.path.starts_with(repository))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_worktree_names_its_repository() {
        let dir = tempfile::tempdir().expect("a directory");
        let hub = dir.path().canonicalize().expect("a directory").join("hub/.git");
        let tree = dir.path().join("tree");
        fs::create_dir_all(hub.join("worktrees/tree")).expect("a repository");
        fs::create_dir(&tree).expect("a worktree");
        for (text, is_of) in [
            (format!("gitdir: {}/worktrees/tree\n", hub.display()), true),
            ("gitdir: ../hub/.git/worktrees/tree".to_owned(), true),
            ("gitdir: ../other/.git/worktrees/tree\n".to_owned(), false),
            (String::new(), false),
        ] {
            fs::write(tree.join(".git"), &text).expect("a file");
            assert_eq!(is_of_worktree(&hub, &tree), is_of, "{text}");
        }
        assert!(!is_of_worktree(&hub, &hub), "there is no file");
    }

    #[test]
    fn a_repository_is_one_unit() {
        let of =
            |program: &str, path: &'static str| repository(Path::new(program), Path::new(path));
        for (program, path, unit) in [
            ("/usr/bin/git", "/w/.git/index.lock", Some("/w/.git")),
            ("/usr/bin/git", "/w/.git", Some("/w/.git")),
            ("/usr/bin/git", "/hub/.git/worktrees/a/HEAD", Some("/hub/.git")),
            ("/usr/bin/git", "/w/.git/modules/sub/.git/x", Some("/w/.git")),
            ("/usr/lib/git-core/git-remote-https", "/w/.git/FETCH_HEAD", Some("/w/.git")),
            ("/usr/bin/git", "/w/file", None),
            ("/usr/bin/git", "/w/a.git/HEAD", None),
            ("/usr/bin/cat", "/w/.git/HEAD", None),
            ("/usr/bin/gitk", "/w/.git/HEAD", None),
        ] {
            assert_eq!(of(program, path), unit.map(Path::new), "{program} {path}");
        }
    }
}
