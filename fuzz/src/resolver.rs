//! Compares the resolver of rules and tool inputs with the kernel's own answer, on generated trees.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{Op, ResolveError, Resolved, resolve};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::tree::{self, folder};

/// Makes a tree and spellings of `input`, and resolves them in the tree. Changes the working directory.
///
/// # Panics
/// If an answer is not the kernel's.
pub fn judge(input: &[u8]) {
    let Some((tree, spellings)) = tree::generate(input) else { return };
    let scratch = folder();
    let folder = scratch.path();
    tree.grow(folder);
    std::env::set_current_dir(folder).expect("the scratch folder");
    for spelling in spellings {
        let asked = spelling.within(folder);
        if asked.as_os_str().is_empty() {
            continue; // denied before anything is resolved (spec §3)
        }
        compare(folder, &asked, Op::Content);
        compare(folder, &asked, Op::Entry);
        create(folder, &asked);
    }
}

/// The path that the kernel reaches.
fn arrival(path: &Path, flags: OFlags) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd as _;
    let fd = open(path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty())?;
    Ok(fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("a path"))
}

/// The fewest symlinks that the kernel always follows (`MAXSYMLINKS`, in two walks).
const FEWEST_LINKS: usize = 20;

fn compare(folder: &Path, asked: &Path, op: Op) {
    let ours = resolve(folder, asked, op);
    // An entry operation never follows a final symlink, with or without a slash after it.
    let (spelled, flags) = match op {
        Op::Content => (asked.to_owned(), OFlags::empty()),
        Op::Entry => (without_slashes(asked), OFlags::NOFOLLOW),
    };
    let theirs = arrival(&spelled, flags);
    let agree = match (&ours, &theirs) {
        (Ok(Resolved { path, exists: true, .. }), Ok(arrived)) => path == arrived,
        (
            Ok(Resolved { exists: false, .. }) | Err(ResolveError::ParentOfMissing { .. }),
            Err(Errno::NOENT),
        ) => true,
        (Err(ResolveError::TooManyLinks { .. }), Err(Errno::LOOP)) => true,
        // If the kernel restarts a walk, it continues counting (`fs/namei.c`, `path_openat`). So it may give up after
        // half as many symlinks.
        (Ok(Resolved { steps, .. }), Err(Errno::LOOP)) => steps.len() > FEWEST_LINKS,
        (Err(ResolveError::NotADirectory { .. }), Err(Errno::NOTDIR)) => true,
        _ => false,
    };
    assert!(agree, "{asked:?} as {op:?}: {ours:?}, but the kernel: {theirs:?}");
}

fn without_slashes(path: &Path) -> PathBuf {
    let text = path.to_str().expect("generated spellings are UTF-8");
    PathBuf::from(match text.trim_end_matches('/') {
        "" => "/",
        kept => kept,
    })
}

/// A file created through a spelling must appear where the resolver said.
fn create(folder: &Path, asked: &Path) {
    let Ok(Resolved { path, exists: false, .. }) = resolve(folder, asked, Op::Content) else {
        return;
    };
    if !path.starts_with(folder) {
        return;
    }
    if OpenOptions::new().write(true).create(true).truncate(false).open(asked).is_ok() {
        assert_eq!(arrival(asked, OFlags::empty()).as_ref(), Ok(&path), "{asked:?}");
        fs::remove_file(&path).expect("the new file");
    }
}
