//! Opens canonical paths, without following any symlink on them.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// Opens the object at a canonical path. A symlink on the path is newer than the path, and is an error: it leads to an
/// object that the caller did not mean.
///
/// # Errors
/// Those of `openat2(2)`.
pub(crate) fn open_canonical(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a container's filter.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(path, flags),
        opened => opened,
    }
}

/// Like [`open_canonical`], without `openat2(2)`.
pub(crate) fn open_by_steps(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return openat(CWD, path, flags, Mode::empty());
    };
    let mut directory = openat(CWD, "/", STEP, Mode::empty())?;
    for name in parent.components().skip(1) {
        directory = openat(&directory, name.as_os_str(), STEP | OFlags::NOFOLLOW, Mode::empty())?;
    }
    openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A symlink that replaced a directory leads out of it.
    #[test]
    fn no_symlink_is_on_a_canonical_path() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().canonicalize().expect("canonical");
        fs::create_dir_all(place.join("other/inner")).expect("made");
        symlink("other", place.join("link")).expect("linked");
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for open in [open_canonical, open_by_steps] {
            assert!(open(&place.join("other/inner"), flags).is_ok());
            assert!(open(&place.join("link/inner"), flags).is_err());
        }
    }
}
