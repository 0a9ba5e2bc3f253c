//! Looks for device nodes in granted directories, where root file systems have them. Used by `prepare` for root, whom
//! no permission keeps from opening them. If there are any, the supervisor judges each open, which costs time.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use jp_confine_engine::absent::Absent;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::device::Device;
use rustix::fs::{major, minor};

/// The directory of device nodes in a root file system.
const DIRECTORY: &str = "dev";

/// The most entries looked at in one directory.
const ENTRIES: usize = 250;

/// A device node in a granted directory, in its `dev`, or in the `dev` of a directory in it. Leaves out devices that
/// every program has anyway. Only root gets a result.
pub(crate) fn find(grants: &[Grant]) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let granted = grants.iter().filter(|grant| !grant.caps.is_empty() && is_meant(grant));
    let mut absent = Absent::default();
    granted.map(|grant| grant.anchor.as_path()).find_map(|anchor| {
        if absent.has(anchor) {
            return None;
        }
        let mut directories = vec![anchor.join(DIRECTORY)];
        match look_in(anchor, |path| directories.push(path.join(DIRECTORY))) {
            Ok(Some(found)) => return Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => absent.note(anchor),
            _ => {}
        }
        directories.iter().find_map(|directory| look_in(directory, |_| {}).ok().flatten())
    })
}

/// Whether a person declared it or it is the workspace, unlike grants of the product.
fn is_meant(grant: &Grant) -> bool {
    let is_declared = matches!(grant.origin, Origin::Rule { .. } | Origin::Flag { .. });
    (is_declared || grant.kind == GrantKind::Workspace) && !grant.anchor.starts_with("/dev")
}

/// The first such node in a directory. Passes its subdirectories to `each`.
fn look_in(directory: &Path, mut each: impl FnMut(&Path)) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(directory)?.flatten().take(ENTRIES) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            each(&entry.path());
        } else if (kind.is_char_device() || kind.is_block_device())
            && !entry
                .metadata()
                .is_ok_and(|it| device(kind.is_block_device(), it.rdev()).is_everyday())
        {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

fn device(is_block: bool, number: u64) -> Device {
    Device { is_block, major: major(number), minor: minor(number) }
}
