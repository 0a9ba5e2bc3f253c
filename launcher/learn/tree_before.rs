//! Lists the workspace before and after the run. The policy is for the tree as it was, so the listing decides which
//! rules are possible.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op};

use super::tree::{is_below, join};
use crate::record::usage::{directory, name};

/// After this many entries no further directory is listed.
pub(crate) const LIMIT: usize = 100_000;

/// The entries of a workspace, by their paths in it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The entries of each directory.
    directories: HashMap<Vec<u8>, Vec<DirectoryEntry>>,
    /// The symlinks, each with its canonical target if that is known.
    links: HashMap<Vec<u8>, Option<PathBuf>>,
    /// Directories that cannot be listed.
    closed: BTreeSet<Vec<u8>>,
    /// Directories that were not listed, since there are too many entries.
    left: BTreeSet<Vec<u8>>,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryEntry {
    pub(crate) name: Vec<u8>,
    /// The kind of the entry, if it is known.
    pub(crate) kind: Option<FileType>,
}

impl DirectoryEntry {
    /// An entry with this name, of unknown kind.
    pub(crate) fn unknown(name: &[u8]) -> Self {
        Self { name: name.to_vec(), kind: None }
    }

    /// Whether it may have entries itself.
    pub(crate) fn may_be_directory(&self) -> bool {
        self.kind.is_none_or(|kind| kind.is_dir())
    }

    pub(crate) fn is_link(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_symlink())
    }
}

/// The entries of the directory at `place`. None if there is no directory.
///
/// # Errors
/// It cannot be listed.
pub(crate) fn list(place: &Path) -> io::Result<Vec<DirectoryEntry>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let found = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok(DirectoryEntry {
            name: entry.file_name().as_bytes().to_vec(),
            kind: entry.file_type().ok(),
        })
    };
    match fs::read_dir(place) {
        Ok(entries) => entries.map(found).collect(),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Listing {
    /// Lists the workspace `root` as it is now. Starts with the directories around `used`, which are paths in it, and
    /// goes on from the top. A crowded directory elsewhere cannot use up the limit before the places that rules will be
    /// for, and only deep directories are left out.
    pub(crate) fn now(root: &Path, used: BTreeSet<&[u8]>) -> Self {
        Self::up_to(LIMIT, root, used)
    }

    fn up_to(limit: usize, root: &Path, used: BTreeSet<&[u8]>) -> Self {
        let mut listing = Self::default();
        let (mut next, mut seen) = (VecDeque::from(around(root, used)), 0);
        next.push_back(Vec::new());
        while let Some(path) = next.pop_front() {
            if listing.lists(&path) {
                continue;
            }
            let found = if seen < limit { list(&place(root, &path)).ok() } else { None };
            let Some(found) = found else {
                let unseen = if seen < limit { &mut listing.closed } else { &mut listing.left };
                unseen.insert(path);
                continue;
            };
            seen += found.len();
            let directories = found.iter().filter(|entry| entry.may_be_directory());
            // In the order of names, so that it does not depend on the disk which directories are left out.
            let directories: BTreeSet<&[u8]> = directories.map(|it| it.name.as_slice()).collect();
            next.extend(directories.into_iter().map(|name| join(&path, name)));
            listing.add(root, path, found);
        }
        listing
    }

    fn add(&mut self, root: &Path, path: Vec<u8>, found: Vec<DirectoryEntry>) {
        for link in found.iter().filter(|entry| entry.is_link()) {
            let led = canonical::resolve(
                &place(root, &path),
                Path::new(OsStr::from_bytes(&link.name)),
                Op::Content,
            );
            self.links.insert(join(&path, &link.name), led.ok().map(|led| led.path));
        }
        self.directories.insert(path, found);
    }

    /// Whether there was a symlink at `path`, relative to the workspace.
    pub(crate) fn had(&self, path: &[u8]) -> bool {
        self.links.contains_key(path)
    }

    /// The targets of the symlinks whose paths are wanted.
    pub(crate) fn targets(&self, is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = &Path> {
        let wanted = self.links.iter().filter(move |(path, _)| is_wanted(path));
        wanted.filter_map(|(_, target)| target.as_deref())
    }

    /// The entries of the directory at `path`, empty if there was none. `None` if that is unknown.
    pub(crate) fn entries(&self, path: &[u8]) -> Option<&[DirectoryEntry]> {
        let unseen = || self.closed.iter().chain(&self.left);
        let is_seen = || !unseen().any(|unseen| is_below(path, unseen));
        self.directories.get(path).map(Vec::as_slice).or_else(|| is_seen().then_some(&[][..]))
    }

    /// Whether there was an entry at `path` that is no symlink.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        let is_it = |entry: &DirectoryEntry| entry.name == name(path) && !entry.is_link();
        self.directories.get(directory(path)).is_some_and(|found| found.iter().any(is_it))
    }

    /// Whether the directory at `path` was listed.
    pub(crate) fn lists(&self, path: &[u8]) -> bool {
        self.directories.contains_key(path)
    }

    /// The directories that were not listed, since there are too many entries.
    pub(crate) fn left(&self) -> impl Iterator<Item = &[u8]> {
        self.left.iter().map(Vec::as_slice)
    }

    /// The directories that could not be listed.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &[u8]> {
        self.closed.iter().map(Vec::as_slice)
    }

    /// All paths, except for those of symlinks.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Vec<u8>> {
        self.directories.iter().flat_map(|(path, found)| {
            let others = found.iter().filter(|entry| !entry.is_link());
            others.map(|entry| join(path, &entry.name))
        })
    }
}

/// The directories among `used` and above them: the closest first, and of equally close ones those nearest to the top.
fn around(root: &Path, used: BTreeSet<&[u8]>) -> Vec<Vec<u8>> {
    let (mut all, mut known, mut next) = (Vec::new(), BTreeSet::new(), used);
    while !next.is_empty() {
        next.retain(|path| known.insert(*path));
        let mut ring: Vec<&[u8]> = next.iter().copied().collect();
        ring.sort_by_key(|path| path.split(|&byte| byte == b'/').count());
        all.extend(ring);
        next = next.into_iter().map(directory).collect();
    }
    // A path through a symlink, which the run may have created, is left out.
    let is_directory =
        |path: &PathBuf| path.is_dir() && path.canonicalize().is_ok_and(|it| it == *path);
    let directories = all.into_iter().filter(|path| is_directory(&place(root, path)));
    directories.map(<[u8]>::to_vec).collect()
}

fn place(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(path)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_there_is_known_to_be_empty_and_what_was_not_seen_is_not() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("a/a/b")).expect("directories");
        fs::write(root.path().join("z"), "").expect("a file");
        let mut listing = Listing::now(root.path(), BTreeSet::new());
        let names = |listing: &Listing, path: &[u8]| {
            let found = listing.entries(path)?;
            Some(found.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(names(&listing, b"a/a"), Some(vec![b"b".to_vec()]));
        assert_eq!(names(&listing, b"z"), Some(vec![]));
        assert_eq!(names(&listing, b"none/x"), Some(vec![]));
        listing.closed.insert(b"a/a/b".to_vec());
        assert_eq!(names(&listing, b"a/a/b/x"), None);
        assert_eq!(names(&listing, b"a/a/bc"), Some(vec![]));
    }

    /// Also if there are more entries than the limit, even around the used paths.
    #[test]
    fn what_is_around_what_was_used_is_looked_at_first() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("a path");
        for name in ["a/deep/x/1", "a/deep/y/1", "a/other/1", "b/1", "c/1"] {
            let place = root.join(name);
            fs::create_dir_all(place.parent().expect("a directory")).expect("directories");
            fs::write(place, "").expect("a file");
        }
        std::os::unix::fs::symlink("../../b", root.join("a/deep/link")).expect("a link");
        let used = [&b"a/deep/x/1"[..], b"a/deep/x/new", b"a/deep/link/1", b"a/deep/gone/1"];
        for (limit, listed, left) in [
            (1, "a/deep/x", ". a a/deep"),
            (2, "a/deep a/deep/x", ". a a/deep/y"),
            (5, "a a/deep a/deep/x", ". a/deep/y a/other"),
            (7, ". a a/deep a/deep/x", "a/deep/y a/other b c"),
            (20, ". a a/deep a/deep/x a/deep/y a/other b c", ""),
        ] {
            let listing = Listing::up_to(limit, &root, used.into_iter().collect());
            let shown = |paths: BTreeSet<&[u8]>| {
                let shown = |path: &[u8]| match path {
                    b"" => ".".to_owned(),
                    path => String::from_utf8_lossy(path).into_owned(),
                };
                paths.into_iter().map(shown).collect::<Vec<_>>().join(" ")
            };
            let all = listing.directories.keys().map(Vec::as_slice).collect();
            assert_eq!(shown(all), listed, "{limit}");
            assert_eq!(shown(listing.left().collect()), left, "{limit}");
        }
    }
}
