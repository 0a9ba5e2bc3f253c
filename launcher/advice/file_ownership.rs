//! Finds operations that the system leaves to owners, whatever the modes are: deleting from a sticky directory, and
//! setting a file's attributes (unlink(2), rename(2), chmod(2), chown(2)). Also who else may create hard links
//! (`fs.protected_hardlinks`, `proc_sys_fs(5)`).

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Access, Mode};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use crate::advice::rights::Rights;

/// Calls that only owners may make, and the attribute that each sets. Times are left out: anyone who may write can set
/// them to now, and records do not contain the requested time.
const SETTING: [(&[&[u8]], &str, CapabilitySet); 2] = [
    (
        &[b"chmod", b"lchmod", b"fchmod", b"fchmodat", b"fchmodat2"],
        "change the mode of",
        CapabilitySet::FOWNER,
    ),
    (&[b"chown", b"lchown", b"fchown", b"fchownat"], "change the owner of", CapabilitySet::CHOWN),
];

/// The attribute at `path` that the user may not set, if `call` sets one. Looks at the disk.
pub(super) fn refuses_setting(call: &[u8], path: &Path) -> Option<&'static str> {
    let (_, what, lifting) = SETTING.into_iter().find(|(calls, ..)| calls.contains(&call))?;
    let found = path.symlink_metadata().ok()?;
    (!is_own(&found) && !has(lifting)).then_some(what)
}

/// Whether the user may not delete the entry at `path`, since its directory is sticky. Looks at the disk.
pub(super) fn refuses_removal(path: &Path) -> bool {
    let around = path.parent().and_then(|directory| directory.metadata().ok());
    let (Some(around), Ok(found)) = (around, path.symlink_metadata()) else { return false };
    let is_sticky = mode(&around).contains(Mode::SVTX);
    is_sticky && !is_own(&found) && !is_own(&around) && !has(CapabilitySet::FOWNER)
}

/// Whether the user may not create a hard link to the file at `path`. Looks at the disk.
pub(super) fn refuses_link(path: &Path, rights: Rights) -> bool {
    let is_protected =
        || fs::read("/proc/sys/fs/protected_hardlinks").is_ok_and(|text| text.trim_ascii() == b"1");
    let Ok(found) = path.symlink_metadata() else { return false };
    let mode = mode(&found);
    let runs_as_another = mode.contains(Mode::SUID) || mode.contains(Mode::SGID.union(Mode::XGRP));
    let is_safe = || {
        let both = Access::READ_OK.union(Access::WRITE_OK);
        found.is_file() && !runs_as_another && rights(path, both).is_ok()
    };
    !is_own(&found) && !has(CapabilitySet::FOWNER) && !is_safe() && is_protected()
}

/// Whether the user owns the file at `path`. Looks at the disk.
pub(super) fn owns(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| is_own(&found))
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

fn mode(found: &Metadata) -> Mode {
    Mode::from_raw_mode(found.mode())
}

fn has(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}
