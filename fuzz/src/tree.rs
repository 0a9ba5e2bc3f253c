//! Generates small trees and puts them on disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Result, Unstructured};

/// The beginning of a spelling. `@` stands for the directory of the tree.
const STARTS: [&str; 12] = [
    "",
    "",
    "",
    "",
    "@/",
    "@/",
    "@//",
    "/..@/",
    "./",
    "../",
    "/proc/self/cwd/",
    "/proc/self/root@/",
];
const COMPONENTS: [&str; 10] = ["a", "b", "c", "a", "b", "c", "..", "..", ".", ""];

/// A path as a program spells it, before `@` is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Spelling(String);

impl Spelling {
    /// The spelling in a tree in `folder`.
    pub(crate) fn within(&self, folder: &Path) -> PathBuf {
        PathBuf::from(self.0.replace('@', folder.to_str().expect("a UTF-8 folder")))
    }
}

impl Arbitrary<'_> for Spelling {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let mut text = String::from(*u.choose(&STARTS)?);
        let count = u.int_in_range(0..=6)?;
        for position in 0..count {
            if position > 0 {
                text.push('/');
            }
            text.push_str(u.choose(&COMPONENTS)?);
        }
        Ok(Self(text))
    }
}

/// The kind of entry at a name.
#[derive(Clone, Debug)]
enum Entry {
    Directory,
    File,
    Link(Spelling),
}

impl Arbitrary<'_> for Entry {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(match u.int_in_range(0..=7)? {
            0..=2 => Self::Directory,
            3 => Self::File,
            _ => Self::Link(u.arbitrary()?),
        })
    }
}

/// Names and their entries, in the order of creation.
#[derive(Clone, Debug)]
pub(crate) struct Tree(Vec<(String, Entry)>);

impl Arbitrary<'_> for Tree {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let count = u.int_in_range(1..=10)?;
        let entries = (0..count).map(|_| Ok((name(u)?, u.arbitrary()?)));
        Ok(Self(entries.collect::<Result<_>>()?))
    }
}

/// The tree and the spellings that `input` stands for.
pub(crate) fn generate(input: &[u8]) -> Option<(Tree, [Spelling; 4])> {
    Arbitrary::arbitrary(&mut Unstructured::new(input)).ok()
}

/// A name of one to three components, none of them special.
///
/// # Errors
/// The errors of [`Unstructured`].
pub(crate) fn name(u: &mut Unstructured<'_>) -> Result<String> {
    let depth = u.int_in_range(1..=3)?;
    let components = (0..depth).map(|_| Ok(*u.choose(&["a", "b", "c"])?));
    Ok(components.collect::<Result<Vec<_>>>()?.join("/"))
}

impl Tree {
    /// Creates those entries below the empty `folder` that can be created. Nothing is created through symlinks, because
    /// they may lead anywhere.
    pub(crate) fn grow(&self, folder: &Path) {
        for (name, entry) in &self.0 {
            let path = folder.join(name);
            if fs::symlink_metadata(&path).is_ok() || !stays_within(folder, &path) {
                continue;
            }
            let _ = match entry {
                Entry::Directory => fs::create_dir_all(&path),
                Entry::File => fs::write(&path, name),
                Entry::Link(text) => symlink(text.within(folder), &path),
            };
        }
    }
}

/// Whether the existing part of the way to `path` is in the directory.
fn stays_within(folder: &Path, path: &Path) -> bool {
    let mut ancestors = path.ancestors().skip(1);
    let existing = ancestors.find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    let place = existing.and_then(|existing| existing.canonicalize().ok());
    let within = folder.canonicalize().ok();
    place.zip(within).is_some_and(|(place, folder)| place.starts_with(folder))
}

/// An empty directory in memory, if the system has a place for that.
///
/// # Panics
/// If no directory can be created.
pub(crate) fn folder() -> tempfile::TempDir {
    let builder = tempfile::Builder::new().prefix("jp-fuzz-").to_owned();
    builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()).expect("a scratch folder")
}

/// Removes everything in `folder`.
///
/// # Panics
/// If an entry cannot be removed, because the next tree would not be the generated one.
pub(crate) fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).expect("the scratch folder").flatten() {
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(entry.path()),
            _ => fs::remove_file(entry.path()),
        };
        removed.expect("an entry to remove");
    }
}
