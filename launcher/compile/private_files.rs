//! Finds files below `/etc` that ordinary users may not read. Used by `prepare` if the user is root, so that the
//! baseline grants root no more than others (spec §12.1).
//!
//! The kernel itself denies these files to others. Root may read them all, and so could each run of root's.

mod kept;

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use jp_confine_engine::build::Origin;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::compile::profiles::Resolved;

/// The directory of settings, as the baseline spells it.
const SETTINGS: &str = "/etc";

/// The outcome of a search below a directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Patterns, relative to the directory.
    patterns: Vec<String>,
    /// The directories that were searched, relative to the directory, each with its version before the search.
    directories: Vec<(String, Version)>,
    /// Whether all names are single lines of text, so that they can be written down.
    is_plain: bool,
}

/// The version of a directory. It changes when an entry is created, deleted or renamed, or the directory's own mode
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: (i64, u64),
}

impl Version {
    fn of(stat: &Stat) -> Self {
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        Self { device: stat.st_dev, inode: stat.st_ino, changed }
    }
}

/// The cache file, which no run may change.
pub(crate) fn kept_in(ground: &Path) -> Option<PathBuf> {
    rustix::process::geteuid().is_root().then(|| ground.join(kept::NAME))
}

/// Excludes files that others may not read from the baseline's grant on `/etc`. Caches the result in `ground`, the
/// user's own directory, because the search takes a millisecond.
pub(crate) fn narrow(tables: &mut [Resolved], ground: Option<&Path>) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let is_on_settings =
        |origin: &Origin| matches!(origin, Origin::Baseline { entry } if entry == SETTINGS);
    let mut grants = tables.iter_mut().flat_map(|table| &mut table.grants);
    if let Some(grant) = grants.find(|grant| is_on_settings(&grant.origin)) {
        grant.carve_outs.extend(private_below(Path::new(SETTINGS), ground));
    }
}

/// The patterns of everything below a directory that others may not read, relative to it. An entry that cannot be
/// examined counts as unreadable.
fn private_below(directory: &Path, ground: Option<&Path>) -> Vec<String> {
    let Ok(opened) = openat(CWD, directory, flags(), Mode::empty()) else {
        return vec!["*".to_owned()];
    };
    if let Some(patterns) = ground.and_then(|ground| kept::read(ground, opened.as_fd())) {
        return patterns;
    }
    let found = search(opened);
    if let Some(ground) = ground {
        kept::write(ground, &found);
    }
    found.patterns
}

fn search(directory: OwnedFd) -> Found {
    let mut found = Found { is_plain: true, ..Found::default() };
    look_into(directory, "", &mut found);
    found
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK
}

/// Adds the private entries of one directory, whose path ends in a slash, and of those below.
fn look_into(directory: OwnedFd, path: &str, found: &mut Found) {
    let all = |found: &mut Found| found.patterns.push(format!("{path}*"));
    let Ok(stat) = fstat(&directory) else { return all(found) };
    found.directories.push((path.to_owned(), Version::of(&stat)));
    let Ok(mut entries) = Dir::new(directory) else { return all(found) };
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return all(found) };
        let name = entry.file_name();
        // A symlink gives no more access than its target does.
        if name == c"." || name == c".." || entry.file_type() == FileType::Symlink {
            continue;
        }
        found.is_plain &= name.to_str().is_ok_and(|name| !name.contains('\n'));
        let pattern = format!("{path}{}", pattern_of(name));
        let seen = entries.fd().and_then(|directory| look_at(directory, name));
        match seen {
            Ok(Seen::Directory(below)) => look_into(below, &format!("{pattern}/"), found),
            // It may have been deleted meanwhile.
            Ok(Seen::Public) | Err(Errno::NOENT) => {}
            Ok(Seen::Private) | Err(_) => found.patterns.push(pattern),
        }
    }
}

/// Whether others may read an entry.
enum Seen {
    Public,
    Private,
    /// A directory that others may list and enter.
    Directory(OwnedFd),
}

fn look_at(directory: BorrowedFd<'_>, name: &CStr) -> Result<Seen, Errno> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let needed = if is_directory { Mode::ROTH | Mode::XOTH } else { Mode::ROTH };
    if !Mode::from_raw_mode(stat.st_mode).contains(needed) {
        return Ok(Seen::Private);
    }
    if !is_directory {
        return Ok(Seen::Public);
    }
    openat(directory, name, flags(), Mode::empty()).map(Seen::Directory)
}

/// A name as a pattern, in which `*` stands for bytes that are not text.
fn pattern_of(name: &CStr) -> String {
    name.to_string_lossy().replace('\u{fffd}', "*")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    pub(crate) fn make(dir: &Path, name: impl AsRef<OsStr>, mode: u32) {
        let path = dir.join(Path::new(name.as_ref()));
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        if name.as_ref().as_bytes().ends_with(b"/") {
            fs::create_dir(&path).expect("a directory");
        } else {
            fs::write(&path, "x").expect("a file");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn what_others_may_not_read_is_found_at_any_depth() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, mode) in [
            ("passwd", 0o644),
            ("krb5.keytab", 0o600),
            ("ppp/options", 0o644),
            ("ppp/chap-secrets", 0o640),
            ("a/b/c/deep", 0o660),
            ("a/b/c/shown", 0o604),
            ("listed-only/", 0o704),
            ("passed-only/", 0o701),
            ("wireguard/", 0o700),
        ] {
            make(dir.path(), name, mode);
        }
        fs::write(dir.path().join("wireguard/wg0.conf"), "x").expect("a file");
        symlink("krb5.keytab", dir.path().join("link")).expect("a link");
        make(dir.path(), OsStr::from_bytes(b"odd\xff"), 0o600);

        let mut found = private_below(dir.path(), None);
        found.sort();
        let expected = [
            "a/b/c/deep",
            "krb5.keytab",
            "listed-only",
            "odd*",
            "passed-only",
            "ppp/chap-secrets",
            "wireguard",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_directory_that_is_not_there_is_private() {
        assert_eq!(private_below(Path::new("/nowhere/at/all"), None), ["*"]);
    }
}
