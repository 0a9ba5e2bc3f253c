//! Looks for nodes of devices in granted directories, at the places where root file systems have them. Used by `prepare`
//! for root, whom no permission keeps from opening them: then each open is looked at, which costs time.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use jp_confine_policy::build::{Grant, GrantKind, Origin};
use jp_confine_policy::device::Device;
use rustix::fs::{major, minor};

/// Where a root file system has them.
const DIRECTORY: &str = "dev";

/// More entries of one directory are not looked at.
const ENTRIES: usize = 250;

/// A node in a granted directory, in `dev` there, or in that of a directory there, of a device that not every program
/// has anyway. Only root is told.
pub(crate) fn find(grants: &[Grant]) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let granted = grants.iter().filter(|grant| !grant.caps.is_empty() && is_meant(grant));
    granted.map(|grant| grant.anchor.as_path()).find_map(|anchor| {
        let mut directories = vec![anchor.join(DIRECTORY)];
        let here = look_in(anchor, |path| directories.push(path.join(DIRECTORY)));
        here.or_else(|| directories.iter().find_map(|directory| look_in(directory, |_| {})))
    })
}

/// Whether it is there for what a person has, and not the product.
fn is_meant(grant: &Grant) -> bool {
    let is_declared = matches!(grant.origin, Origin::Rule { .. } | Origin::Flag { .. });
    (is_declared || grant.kind == GrantKind::Workspace) && !grant.anchor.starts_with("/dev")
}

/// The first such node in a directory, of which `each` is told the directories.
fn look_in(directory: &Path, mut each: impl FnMut(&Path)) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    for entry in entries.take(ENTRIES) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            each(&entry.path());
        } else if (kind.is_char_device() || kind.is_block_device())
            && !entry
                .metadata()
                .is_ok_and(|it| device(kind.is_block_device(), it.rdev()).is_everyday())
        {
            return Some(entry.path());
        }
    }
    None
}

fn device(is_block: bool, number: u64) -> Device {
    Device { is_block, major: major(number), minor: minor(number) }
}
