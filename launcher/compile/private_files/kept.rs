//! Caches the result of the search for later runs of the same user. Used by `private_files`.
//!
//! The cache counts only while each directory is unchanged, and for at most ten minutes. Changing the mode of a file
//! does not change its directory.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, fstat, statat};

use super::{Found, Version};

/// The file's name, and its first line.
pub(super) const NAME: &str = "private-settings";
const FORMAT: &str = "jp-confine private settings 1";

/// How many seconds it counts.
const AGE: i64 = 600;

/// A directory that changed less than this many seconds before the search may have changed again with the same time
/// stamp.
const UNSURE: i64 = 2;

/// A larger file is not ours.
const LARGEST: u64 = 1 << 20;

/// The patterns for the directory, if they are cached.
pub(super) fn read(ground: &Path, directory: BorrowedFd<'_>) -> Option<Vec<String>> {
    let text = read_own(&ground.join(NAME)).ok()?;
    let (searched, found) = parse(&text)?;
    let is_fresh = (searched..=searched.saturating_add(AGE)).contains(&now()?);
    let is_as_it_was = |(path, version): &(String, Version)| {
        let stat = match path.strip_suffix('/') {
            Some(path) => statat(directory, path, AtFlags::SYMLINK_NOFOLLOW),
            None => fstat(directory),
        };
        stat.is_ok_and(|stat| Version::of(&stat) == *version)
    };
    let is_known = is_fresh && found.directories.iter().all(is_as_it_was);
    is_known.then_some(found.patterns)
}

/// Caches them if possible.
pub(super) fn write(ground: &Path, found: &Found) {
    let Some(now) = now() else { return };
    let is_unsure = |(_, version): &(String, Version)| version.changed.0 > now - UNSURE;
    if !found.is_plain || found.directories.is_empty() || found.directories.iter().any(is_unsure) {
        return;
    }
    // Without the cache the next run searches again.
    let _ = replace(ground, &text_of(now, found));
}

fn replace(ground: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(NAME).tempfile_in(ground)?;
    file.write_all(text.as_bytes())?;
    file.persist(ground.join(NAME))?;
    Ok(())
}

/// The text of a file that belongs to the user and that nobody else may write.
fn read_own(path: &Path) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_file() || !is_own || metadata.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn text_of(searched: i64, found: &Found) -> String {
    let mut text = format!("{FORMAT}\n{searched}\n");
    for (path, Version { device, inode, changed: (seconds, fraction) }) in &found.directories {
        let _ = writeln!(text, "in {device} {inode} {seconds} {fraction} {path}");
    }
    for pattern in &found.patterns {
        let _ = writeln!(text, "not {pattern}");
    }
    text.push_str("end\n");
    text
}

/// The time and the result of the search. `None` if a part is missing.
fn parse(text: &str) -> Option<(i64, Found)> {
    let lines = text.strip_prefix(FORMAT)?.strip_prefix('\n')?.strip_suffix("\nend\n")?;
    let mut lines = lines.split('\n');
    let searched = lines.next()?.parse().ok()?;
    let mut found = Found { is_plain: true, ..Found::default() };
    for line in lines {
        match line.split_once(' ')? {
            ("in", rest) => found.directories.push(directory(rest)?),
            ("not", pattern) => found.patterns.push(pattern.to_owned()),
            _ => return None,
        }
    }
    Some((searched, found))
}

fn directory(line: &str) -> Option<(String, Version)> {
    let mut words = line.splitn(5, ' ');
    let device = words.next()?.parse().ok()?;
    let inode = words.next()?.parse().ok()?;
    let changed = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((words.next()?.to_owned(), Version { device, inode, changed }))
}

fn now() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::compile::private_files::tests::make;
    use crate::compile::private_files::{flags, private_below, search};
    use rustix::fs::{CWD, Mode, openat};

    /// A search of directories that have not changed for a while.
    fn settled(dir: &Path) -> Found {
        let mut found = search(openat(CWD, dir, flags(), Mode::empty()).expect("a directory"));
        found.patterns.sort();
        found
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        make(dir.path(), "a/secret", 0o600);
        make(dir.path(), "with space/closed/", 0o700);
        let found = settled(dir.path());
        assert_eq!(found.directories.len(), 3);
        assert_eq!(parse(&text_of(7, &found)), Some((7, found)));
    }

    #[test]
    fn a_damaged_file_is_none() {
        let found = Found { patterns: vec!["x".to_owned()], is_plain: true, ..Found::default() };
        let text = text_of(7, &found);
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length]), None, "{length}");
        }
        assert_eq!(parse(&text.replace("not", "nor")), None);
    }

    #[test]
    fn it_counts_while_directories_are_as_they_were() {
        let ground = tempfile::tempdir().expect("a directory");
        let dir = tempfile::tempdir().expect("a directory");
        make(dir.path(), "a/secret", 0o600);
        let keep = |age: i64| {
            let text = text_of(now().expect("a time") - age, &settled(dir.path()));
            replace(ground.path(), &text).expect("written");
        };
        let known = || {
            let opened = openat(CWD, dir.path(), flags(), Mode::empty()).expect("a directory");
            read(ground.path(), opened.as_fd())
        };
        assert_eq!(known(), None, "nothing is kept");
        keep(1);
        assert_eq!(known(), Some(vec!["a/secret".to_owned()]));
        make(dir.path(), "a/other", 0o600);
        assert_eq!(known(), None, "another file is there");
        assert_eq!(private_below(dir.path(), Some(ground.path())).len(), 2);
        keep(AGE + 1);
        assert_eq!(known(), None, "it is old");
        keep(-5);
        assert_eq!(known(), None, "it is of the future");
        keep(1);
        let file = ground.path().join(NAME);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("a mode");
        assert_eq!(known(), None, "anybody may have written it");
    }

    #[test]
    fn what_changes_during_a_search_is_not_kept() {
        let ground = tempfile::tempdir().expect("a directory");
        let dir = tempfile::tempdir().expect("a directory");
        write(ground.path(), &settled(dir.path()));
        assert!(!ground.path().join(NAME).exists(), "the directory is new");
    }
}
