//! What stands in the workspace, before the run and after it, where that decides which rules can stand: the policy is
//! for the tree as it was.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::canonical::{self, Op};

use super::tree::{directory, is_below, join, name};

/// So many entries are looked at: no directory is after that.
pub(crate) const LIMIT: usize = 100_000;

/// What is in a workspace, by paths in it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// What is in each directory.
    directories: HashMap<Vec<u8>, Vec<Found>>,
    /// The symbolic links, and where each leads, canonical, if that can be told.
    links: HashMap<Vec<u8>, Option<PathBuf>>,
    /// Directories that cannot be listed.
    closed: BTreeSet<Vec<u8>>,
    /// Directories that were not looked at, as there are too many entries.
    left: BTreeSet<Vec<u8>>,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) name: Vec<u8>,
    /// What it is, if that can be told.
    pub(crate) kind: Option<FileType>,
}

impl Found {
    /// What has this name, whatever it is.
    pub(crate) fn unknown(name: &[u8]) -> Self {
        Self { name: name.to_vec(), kind: None }
    }

    /// Whether there may be something in it.
    pub(crate) fn may_be_directory(&self) -> bool {
        self.kind.is_none_or(|kind| kind.is_dir())
    }

    pub(crate) fn is_link(&self) -> bool {
        self.kind.is_some_and(|kind| kind.is_symlink())
    }
}

/// What is in the directory at `place`, and nothing if that is none.
///
/// # Errors
/// Where it cannot be told.
pub(crate) fn list(place: &Path) -> io::Result<Vec<Found>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let found = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok(Found { name: entry.file_name().as_bytes().to_vec(), kind: entry.file_type().ok() })
    };
    match fs::read_dir(place) {
        Ok(entries) => entries.map(found).collect(),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Listing {
    /// Of the workspace `root` as it is now. What is at the top is looked at first, so that what is left out is deep.
    pub(crate) fn now(root: &Path) -> Self {
        let mut listing = Self::default();
        let (mut next, mut seen) = (VecDeque::from([Vec::new()]), 0);
        while let Some(path) = next.pop_front() {
            let found = if seen < LIMIT { list(&place(root, &path)).ok() } else { None };
            let Some(found) = found else {
                let unseen = if seen < LIMIT { &mut listing.closed } else { &mut listing.left };
                unseen.insert(path);
                continue;
            };
            seen += found.len();
            let directories = found.iter().filter(|entry| entry.may_be_directory());
            next.extend(directories.map(|entry| join(&path, &entry.name)));
            listing.add(root, path, found);
        }
        listing
    }

    fn add(&mut self, root: &Path, path: Vec<u8>, found: Vec<Found>) {
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

    /// Whether a link stood at `path`, workspace-relative.
    pub(crate) fn had(&self, path: &[u8]) -> bool {
        self.links.contains_key(path)
    }

    /// Where those links lead whose paths are as wanted.
    pub(crate) fn targets(&self, is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = &Path> {
        let wanted = self.links.iter().filter(move |(path, _)| is_wanted(path));
        wanted.filter_map(|(_, target)| target.as_deref())
    }

    /// What was in the directory at `path`, nothing if there was none; `None` where that was not seen.
    pub(crate) fn entries(&self, path: &[u8]) -> Option<&[Found]> {
        let unseen = || self.closed.iter().chain(&self.left);
        let is_seen = || !unseen().any(|unseen| is_below(path, unseen));
        self.directories.get(path).map(Vec::as_slice).or_else(|| is_seen().then_some(&[][..]))
    }

    /// Whether something else than a link stood at `path`.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        let is_it = |entry: &Found| entry.name == name(path) && !entry.is_link();
        self.directories.get(directory(path)).is_some_and(|found| found.iter().any(is_it))
    }

    /// The directories that could not be listed.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &[u8]> {
        self.closed.iter().map(Vec::as_slice)
    }

    /// All paths, but for those of links.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Vec<u8>> {
        self.directories.iter().flat_map(|(path, found)| {
            let others = found.iter().filter(|entry| !entry.is_link());
            others.map(|entry| join(path, &entry.name))
        })
    }
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
        let mut listing = Listing::now(root.path());
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
}
