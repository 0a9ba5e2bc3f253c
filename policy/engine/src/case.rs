//! Finds the directories in which names that differ in case are equal. Used where an image is built.
//!
//! A check looks up one of a directory's entries, or the directory itself, under its name in the other case. The type
//! of the file system decides only if that says nothing.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, Stat, fstat, fstatfs, ioctl_getflags, openat, statat,
};
use rustix::io::Errno;

use crate::absent::Absent;
use crate::canonical;
use crate::fold_table::Volume;
use crate::grant::{Grant, GrantKind, Origin};
use crate::tiers::Tiers;

/// `FS_CASEFOLD_FL`: the directory ignores case, whatever the rest of the file system does.
const CASEFOLD: u32 = 0x4000_0000;
/// Most entries tried.
const TRIES: usize = 64;
/// Types of file systems on which an empty directory without [`CASEFOLD`] is case-sensitive (`statfs(2)`).
const MINDING: [u32; 11] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x8584_58F6,
    0x794C_7630,
    0xF2F5_2010,
    0xE0F5_E1E2,
    0x7371_7368,
    0xCA45_1A4E,
    0x6969,
];
/// Those that know a name by its spellings alone, where they ignore case.
const WITHOUT_ALIASES: [u32; 5] = [0xEF53, 0x0102_1994, 0xF2F5_2010, 0xCA45_1A4E, 0x794C_7630];

/// The directories that a policy is about in which names that differ in case are equal, outermost first. Of `mounts`
/// only those below something granted are checked. Looks at the disk.
#[must_use]
pub fn volumes<'p>(
    grants: &'p [Grant],
    tiers: Option<&Tiers>,
    workspace: &'p Path,
    mounts: impl Iterator<Item = &'p Path>,
) -> Vec<Volume> {
    let (mut known, mut absent) = (Known::default(), Absent::default());
    let mut volumes: Vec<Volume> = Vec::new();
    for directory in directories(grants, tiers, workspace, mounts) {
        let is_known = volumes.iter().any(|volume| directory.starts_with(&volume.root));
        if is_known || absent.has(&directory) || is_file(&directory) {
            continue;
        }
        let held = match open(&directory) {
            Ok(held) => held,
            Err(Errno::NOENT) => {
                absent.note(&directory);
                continue;
            }
            Err(_) => continue,
        };
        if known.ignores_case(&held, &directory) {
            let aliased = !magic(&held).is_some_and(|magic| WITHOUT_ALIASES.contains(&magic));
            volumes.push(Volume { root: directory, aliased });
        }
    }
    volumes
}

/// Whether something that has no entries is at the path. Costs nothing if it was looked at before.
fn is_file(path: &Path) -> bool {
    canonical::look(path).is_ok_and(|found| !found.is_dir())
}

/// Whether names that differ in case are equal in the nearest existing directory above the path. Looks at the disk.
#[must_use]
pub fn is_ignored_around(path: &Path) -> bool {
    let mut above = path.ancestors().skip(1);
    let nearest = above.find_map(|directory| Some((open(directory).ok()?, directory)));
    nearest.is_some_and(|(held, directory)| Known::default().ignores_case(&held, directory))
}

/// The directories to check, outermost first: those that a person granted, and those on the way from there to a denied
/// path. Ready-made grants are left out, because they are for the system's own directories.
fn directories<'p>(
    grants: &'p [Grant],
    tiers: Option<&Tiers>,
    workspace: &'p Path,
    mounts: impl Iterator<Item = &'p Path>,
) -> Vec<PathBuf> {
    let chosen = |grant: &&Grant| {
        let is_chosen = matches!(
            grant.origin,
            Origin::Rule { .. } | Origin::Flag { .. } | Origin::Profile { named: true, .. }
        );
        is_chosen && !grant.caps.is_empty() || grant.kind == GrantKind::Workspace
    };
    let opening = tiers.into_iter().flat_map(Tiers::opening);
    let opening: Vec<PathBuf> = opening.map(|(_, pattern)| pattern.stem()).collect();
    let stems: Vec<PathBuf> = tiers.into_iter().flat_map(Tiers::stems).collect();
    let opening = opening.iter().map(PathBuf::as_path);
    let chosen = grants.iter().filter(chosen).map(|grant| grant.anchor.as_path());
    let granted = chosen.chain(opening).chain([workspace]);
    let mut ways = Ways(granted.map(|directory| (directory.as_os_str(), true)).collect());
    let places = grants.iter().map(|grant| &grant.anchor).chain(&stems);
    for directory in places.filter_map(|place| place.parent()) {
        ways.note(directory);
    }
    for mount in mounts {
        ways.note(mount);
    }
    let inside =
        ways.0.into_iter().filter_map(|(directory, is_inside)| is_inside.then_some(directory));
    let mut all: Vec<PathBuf> = inside.map(PathBuf::from).collect();
    all.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    all
}

/// Canonical directories, and whether each is granted or below one that is.
struct Ways<'p>(HashMap<&'p OsStr, bool>);

impl<'p> Ways<'p> {
    /// Notes a directory, and those around it that are not known yet.
    fn note(&mut self, directory: &'p Path) -> bool {
        if let Some(known) = self.0.get(directory.as_os_str()) {
            return *known;
        }
        let is_inside = directory.parent().is_some_and(|around| self.note(around));
        self.0.insert(directory.as_os_str(), is_inside);
        is_inside
    }
}

/// The file systems on which a directory was checked, and the result.
#[derive(Default)]
struct Known(Vec<(u64, bool)>);

impl Known {
    fn ignores_case(&mut self, directory: &OwnedFd, path: &Path) -> bool {
        if ioctl_getflags(directory).is_ok_and(|flags| flags.bits() & CASEFOLD != 0) {
            return true;
        }
        let Ok(found) = fstat(directory) else { return true };
        if let Some((_, ignores)) = self.0.iter().find(|(device, _)| *device == found.st_dev) {
            return *ignores;
        }
        let minds = || magic(directory).is_some_and(|magic| MINDING.contains(&magic));
        let ignores =
            by_entries(directory).or_else(|| by_own_name(&found, path)).unwrap_or_else(|| !minds());
        self.0.push((found.st_dev, ignores));
        ignores
    }
}

fn open(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |flags| openat(rustix::fs::CWD, directory, flags, Mode::empty());
    match open(flags | OFlags::RDONLY) {
        Err(error) if !matches!(error, Errno::NOENT | Errno::NOTDIR) => open(flags | OFlags::PATH),
        opened => opened,
    }
}

/// The result for the first entry whose name has a letter.
fn by_entries(directory: &OwnedFd) -> Option<bool> {
    let entries = Dir::read_from(directory).ok()?;
    let entries = entries.map_while(Result::ok).take(TRIES);
    entries.into_iter().find_map(|entry| is_known_otherwise(directory, entry.file_name(), None))
}

/// The result for this directory's own name in its parent, if that is on the same file system.
fn by_own_name(own: &Stat, path: &Path) -> Option<bool> {
    let name = CString::new(path.file_name()?.as_bytes()).ok()?;
    let parent = open(path.parent()?).ok()?;
    let is_same_system = fstat(&parent).is_ok_and(|found| found.st_dev == own.st_dev);
    is_same_system.then(|| is_known_otherwise(&parent, &name, Some(own)))?
}

/// Whether an entry is also found by its name in the other case. `None` if that proves nothing.
fn is_known_otherwise(
    directory: impl AsFd + Copy,
    name: &CStr,
    own: Option<&Stat>,
) -> Option<bool> {
    let other = with_other_case(name)?;
    let look = |name: &CStr| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let found = look(&other);
    let same = match own {
        Some(own) => *own,
        None => look(name).ok()?,
    };
    match found {
        Err(Errno::NOENT) => Some(false),
        Ok(found) if (found.st_dev, found.st_ino) != (same.st_dev, same.st_ino) => Some(false),
        // Otherwise there may be two hard links, if the file has several.
        Ok(found) => (found.st_nlink < 2 || is_directory(&found)).then_some(true),
        Err(_) => None,
    }
}

fn is_directory(found: &Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory
}

/// The name with each ASCII letter in the other case. `None` if it has none.
fn with_other_case(name: &CStr) -> Option<CString> {
    let other = |byte: &u8| {
        if byte.is_ascii_lowercase() {
            byte.to_ascii_uppercase()
        } else {
            byte.to_ascii_lowercase()
        }
    };
    let other: Vec<u8> = name.to_bytes().iter().map(other).collect();
    CString::new(other).ok().filter(|other| other.as_c_str() != name)
}

/// The type of the file system.
fn magic(directory: &OwnedFd) -> Option<u32> {
    let found = fstatfs(directory).ok()?;
    // The field is signed on some systems.
    u32::try_from(found.f_type & 0xFFFF_FFFF).ok()
}
