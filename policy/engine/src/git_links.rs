//! Computes the text of files that lead git to another directory: `.git` of a submodule or a worktree, and `commondir`.
//! Used by the launcher's supervisor, which writes them itself.
//!
//! Git obeys the repository that such a file names, so a run must not choose it. The text that git would write follows
//! from the existing files, and leads to a repository that the list of auto-run files guards.

use std::borrow::ToOwned as _;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::vec::Vec;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::capability::Capabilities;
use crate::config_mode::is_all_that_withholds;
use crate::image::Image;
use crate::request::Request;
use crate::tier::Restraint;
use crate::verdict::Verdict;
use crate::{autorun, decide, git_config};

/// Largest file that is read. Larger ones lead nowhere.
const LARGEST: u64 = 1 << 20;

/// Most worktrees of a repository that are read.
const WORKTREES: usize = 1024;

/// Whether the file leads git elsewhere, and only the list of auto-run files denies `need`. If so, [`text`] gives its
/// allowed content.
#[must_use]
pub fn is_kept_by_list_alone(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> bool {
    let is_question = |verdict| matches!(verdict, Verdict::Deny(denial) if denial.ask && denial.restraint == Some(Restraint::Autorun));
    autorun::may_be_git_link(request.path)
        && is_question(decide::access(image, request, need))
        && is_all_that_withholds(image, request)
        && decide::access(image, &request.consented(), need) == Verdict::Allow
}

/// The text that git writes to the file at the canonical `path`, if its creator's working directory is `cwd`. `None` if
/// the text is unknown or leads to a repository that is not guarded. Looks at the disk.
#[must_use]
pub fn text(image: &Image<'_>, path: &[u8], cwd: &Path) -> Option<Vec<u8>> {
    let file = Path::new(OsStr::from_bytes(path));
    let directory = file.parent()?;
    if file.file_name()? == "commondir" {
        let worktrees = directory.parent().filter(|it| it.ends_with("worktrees"))?;
        return is_guarded(image, worktrees.parent()?).then(|| b"../..\n".to_vec());
    }
    if let Some(kept) = worktree(file, directory, cwd) {
        return is_guarded(image, &kept).then(|| line(&kept)).flatten();
    }
    let repository = submodule(directory)?;
    is_guarded(image, &repository).then(|| line(&relative(directory, &repository)?)).flatten()
}

fn line(target: &Path) -> Option<Vec<u8>> {
    let target = target.as_os_str().as_bytes();
    (!target.contains(&b'\n')).then(|| [b"gitdir: ", target, b"\n"].concat())
}

/// Whether the repository's configuration needs a prompt, and no symlink leads away from there.
fn is_guarded(image: &Image<'_>, repository: &Path) -> bool {
    let config = repository.join("config");
    let there = repository.ancestors().find(|it| it.symlink_metadata().is_ok());
    autorun::is_git_config(image, config.as_os_str().as_bytes())
        && there.is_some_and(|it| it.canonicalize().is_ok_and(|real| real == it))
}

/// The directory in a repository for the worktree whose `.git` is `file`. Git records there where the worktree is.
fn worktree(file: &Path, directory: &Path, cwd: &Path) -> Option<PathBuf> {
    let around = [directory.parent().and_then(repository_around), repository_around(cwd)];
    let mut kept = around.into_iter().flatten().flat_map(|repository| {
        let kept = fs::read_dir(common(repository).join("worktrees"));
        kept.into_iter().flatten().flatten().take(WORKTREES).map(|entry| entry.path())
    });
    kept.find(|kept| {
        let named = read(&kept.join("gitdir")).map(|text| kept.join(plain(&text)));
        named.is_some_and(|named| named == file || is_same_entry(&named, file))
    })
}

fn is_same_entry(named: &Path, file: &Path) -> bool {
    let directory = named.parent().and_then(|it| it.canonicalize().ok());
    named.file_name() == file.file_name() && directory.as_deref() == file.parent()
}

/// The repository of the submodule in `directory`, below the repository of the directory around it.
fn submodule(directory: &Path) -> Option<PathBuf> {
    let top = directory.parent()?.ancestors().find(|it| repository_of(it).is_some())?;
    let path = directory.strip_prefix(top).ok()?;
    let listed = read(&top.join(".gitmodules")).and_then(|text| name_of(&text, path));
    let name = listed.unwrap_or_else(|| path.to_owned());
    if !name.components().all(is_of_name) {
        return None;
    }
    let repository = repository_of(top)?.join("modules").join(name);
    let is_new = || {
        let is_empty = fs::read_dir(directory).is_ok_and(|mut all| all.next().is_none());
        is_empty && repository.parent().is_some_and(Path::is_dir)
    };
    (repository.is_dir() || is_new()).then_some(repository)
}

/// The name of the submodule at this path, from the text of `.gitmodules`.
fn name_of(text: &[u8], path: &Path) -> Option<PathBuf> {
    let entries = git_config::entries(text).ok()?;
    let path = path.as_os_str().as_bytes();
    let is_it = |entry: &&git_config::ConfigEntry<'_>| {
        let name = (entry.name.section.as_slice(), entry.name.key.as_slice());
        name == (&b"submodule"[..], &b"path"[..]) && entry.value.as_deref() == Some(path)
    };
    let name = entries.iter().find(is_it)?.name.subsection.as_deref()?;
    Some(OsStr::from_bytes(name).into())
}

/// Whether the list of auto-run files accepts this as part of a submodule's name.
fn is_of_name(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(name) if name != "refs" && name != "logs" && name != "objects")
}

/// The repository of the nearest directory that has one, from this one upwards.
fn repository_around(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find_map(repository_of)
}

fn repository_of(directory: &Path) -> Option<PathBuf> {
    let name = directory.join(".git");
    let Ok(found) = name.symlink_metadata() else { return without_files(directory) };
    if found.is_dir() {
        return Some(name);
    }
    let text = read(&name)?;
    let target = text.strip_prefix(b"gitdir: ")?;
    directory.join(plain(target)).canonicalize().ok()
}

/// The directory itself, if it is a bare repository.
fn without_files(directory: &Path) -> Option<PathBuf> {
    let is_it = directory.as_os_str().as_bytes().ends_with(b".git")
        && ["HEAD", "objects", "refs"].iter().all(|name| directory.join(name).exists());
    is_it.then(|| directory.to_owned())
}

/// The directory that all worktrees of a repository share.
fn common(repository: PathBuf) -> PathBuf {
    let named = read(&repository.join("commondir"));
    let common = named.and_then(|text| repository.join(plain(&text)).canonicalize().ok());
    common.unwrap_or(repository)
}

fn plain(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii_end()))
}

/// The content of a regular file. Never blocks.
fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    if FileType::from_raw_mode(fstat(&file).ok()?.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The way from one canonical directory to another.
fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let shared = from.ancestors().find(|it| to.starts_with(it))?;
    let up = from.strip_prefix(shared).ok()?.components().map(|_| Component::ParentDir);
    Some(up.chain(to.strip_prefix(shared).ok()?.components()).collect())
}
