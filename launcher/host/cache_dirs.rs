//! Names and creates the directories of the workspaces' own caches (spec §12.2). Used by `compile` and by the
//! subcommand `cache`.
//!
//! `~/.cache/jp-confine/ID/` belongs to one workspace. A run may do anything in its directory `caches`, and nothing beside
//! it. The file `workspace` there has the path of the workspace, and its modification time is the last use.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_engine::canonical;
use rustix::fs::{
    FlockOperation, Mode, OFlags, ResolveFlags, flock, mkdirat, open, openat, openat2,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::files;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::host::workspace::Workspace;

/// The file that names the workspace.
const STAMP: &str = "workspace";

/// The directory with the caches themselves.
const CACHES: &str = "caches";

/// The longest path of a workspace, in bytes.
const LONGEST_PATH: u64 = 4096;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directory that contains those of all workspaces. `None` if no home directory is known.
pub(crate) fn home(context: &Context) -> Option<PathBuf> {
    let named = context.variable("XDG_CACHE_HOME".as_ref()).map(PathBuf::from);
    let usual = || Some(context.homes.user.as_ref()?.join(".cache"));
    let caches = named.filter(|path| path.is_absolute()).or_else(usual)?;
    Some(caches.join("jp-confine"))
}

/// The directory for the caches of `workspace`, which may not exist yet.
pub(crate) fn of(context: &Context, workspace: &Workspace) -> Option<PathBuf> {
    Some(home(context)?.join(workspace.cache_id()))
}

/// The directory in `directory` that runs may change. Each cache is a directory below it.
pub(crate) fn filled(directory: &Path) -> PathBuf {
    directory.join(CACHES)
}

/// Creates the directory for the caches of `workspace`, and notes that it is used now. Returns the directory that runs
/// may change. Nothing clears it while the returned file is open.
///
/// # Errors
/// It cannot be created, is not the user's alone, or belongs to another workspace.
pub(crate) fn begin_use(directory: &Path, workspace: &Workspace) -> io::Result<(OwnedFd, File)> {
    data_dirs::make(directory)?;
    let found = directory.symlink_metadata()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
    if !found.is_dir() || !is_own {
        return Err(io::Error::other("others may write to it"));
    }
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut stamp = File::from(open(directory.join(STAMP), flags, Mode::from_raw_mode(0o600))?);
    // It waits for nobody: only `clear` has it for itself, and that run then has no caches.
    flock(&stamp, FlockOperation::NonBlockingLockShared)?;
    let (root, mut known) = (workspace.root.as_os_str().as_bytes(), Vec::new());
    Read::by_ref(&mut stamp).take(root.len() as u64 + 1).read_to_end(&mut known)?;
    if known.is_empty() {
        stamp.write_all(root)?;
    } else if known != root {
        return Err(io::Error::other("it belongs to another workspace"));
    }
    stamp.set_modified(SystemTime::now())?;
    let filled = make_below(&open(directory, DIRECTORY, Mode::empty())?, Path::new(CACHES))?;
    Ok((filled, stamp))
}

/// Creates the directory `path` below `directory`, with missing parents, for this user alone. Follows no symlinks, because
/// a run may have left them. Returns the directory.
///
/// # Errors
/// Those of `mkdir(2)` and `open(2)`: ELOOP or ENOTDIR if something else has one of the names.
pub(crate) fn make_below(directory: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    if let Ok(found) = openat2(directory, path, DIRECTORY, Mode::empty(), way) {
        return Ok(found);
    }
    let mut made: Option<OwnedFd> = None;
    for name in path {
        made = Some(make_in(made.as_ref().unwrap_or(directory).as_fd(), name)?);
    }
    made.map_or_else(|| directory.try_clone(), Ok)
}

/// Opens the directory `name` in `above`. Creates it if it is missing: another run may do so at the same time.
///
/// # Errors
/// As [`make_below`].
pub(crate) fn make_in(above: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    match openat(above, name, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) => {}
        opened => return opened,
    }
    canonical::forget();
    match mkdirat(above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => openat(above, name, DIRECTORY, Mode::empty()),
        Err(errno) => Err(errno),
    }
}

/// The caches of one workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceCaches {
    /// Their directory.
    pub(crate) directory: PathBuf,
    /// The canonical path of the workspace, which may be gone.
    pub(crate) workspace: PathBuf,
    pub(crate) last_use: SystemTime,
    stamp: File,
}

impl WorkspaceCaches {
    /// Those of all workspaces of the user, the last used first.
    pub(crate) fn all(home: &Path) -> Vec<Self> {
        let entries = home.read_dir().into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries.filter_map(|entry| Self::of(entry.path())).collect();
        all.sort_by_key(|caches| Reverse(caches.last_use));
        all
    }

    fn of(directory: PathBuf) -> Option<Self> {
        let stamp = files::open_own(&directory.join(STAMP)).ok()?;
        let last_use = stamp.metadata().ok()?.modified().ok()?;
        let text = files::read_all(stamp.try_clone().ok()?, LONGEST_PATH).ok()?;
        let workspace = PathBuf::from(OsString::from_vec(text));
        Some(Self { directory, workspace, last_use, stamp })
    }

    /// The bytes that the files occupy.
    pub(crate) fn size(&self) -> u64 {
        size(&self.directory)
    }

    /// Deletes the caches. Returns whether it did so: a run may be using them.
    ///
    /// # Errors
    /// Those of `unlink(2)`.
    pub(crate) fn clear(&self) -> io::Result<bool> {
        if flock(&self.stamp, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(false);
        }
        if fs::remove_dir_all(&self.directory).is_err() {
            // Tools such as `go` write-protect directories.
            unprotect(&self.directory);
            fs::remove_dir_all(&self.directory)?;
        }
        Ok(true)
    }
}

fn size(directory: &Path) -> u64 {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        let inner = if found.is_dir() { size(&entry.path()) } else { 0 };
        Some(inner + found.blocks() * 512)
    });
    sizes.sum()
}

/// Makes the directories at and below this one writable. Follows no symlinks.
fn unprotect(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unprotect(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_serves_one_workspace_and_only_the_user() {
        let home = tempfile::tempdir().expect("a directory");
        let directory = home.path().join("new/caches");
        let [one, other] = ["/srv/one", "/srv/other"].map(|root| Workspace::bare(Path::new(root)));
        let [first, second] = [(); 2].map(|()| begin_use(&directory, &one).expect("used"));
        assert_eq!(directory.metadata().expect("metadata").mode() & 0o777, 0o700);
        assert_eq!(std::fs::read(directory.join(STAMP)).expect("a file"), b"/srv/one");
        begin_use(&directory, &other).expect_err("another workspace");
        fs::create_dir_all(directory.join("go/mod/x")).expect("a directory");
        fs::set_permissions(directory.join("go/mod"), Permissions::from_mode(0o500))
            .expect("a mode");
        let [caches] = &WorkspaceCaches::all(directory.parent().expect("a parent"))[..] else {
            panic!("one workspace");
        };
        assert_eq!(caches.workspace, Path::new("/srv/one"));
        drop(first);
        assert!(!caches.clear().expect("no error"), "it is in use");
        drop(second);
        assert!(caches.clear().expect("no error") && !directory.exists());
        begin_use(&directory, &other).expect("free again");
        fs::set_permissions(&directory, Permissions::from_mode(0o770)).expect("a mode");
        begin_use(&directory, &other).expect_err("others may write");
    }
}
