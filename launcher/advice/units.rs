//! Knows the directory that a tool fills as one: for git a repository. It takes one suggestion, not one for each file
//! (spec §18).

use std::path::Path;

/// The repository directory that holds `path`, if git was denied it. In a linked worktree and in a submodule, that is
/// the directory of the main repository.
pub(super) fn of<'p>(program: &Path, path: &'p Path) -> Option<&'p Path> {
    let name = program.file_name()?.to_str()?;
    let is_git = name == "git" || name.starts_with("git-");
    let repository = path.ancestors().filter(|it| it.ends_with(".git")).last();
    repository.filter(|_| is_git)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_one_unit() {
        let of = |program: &str, path: &'static str| of(Path::new(program), Path::new(path));
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
