//! Finds changes that the kernel denies whatever is granted, because of the entries at their paths (`rmdir(2)`,
//! `unlink(2)`, `rename(2)`). All of it is looked up on the disk, with the user's own rights.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::Destination;

use crate::record::denial::Denial;
use crate::record::denials::opens_to_write;
use crate::record::generated_names::is_since;
use crate::sys::path::path_of;
use crate::text::quote;

/// The obstacle to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle<'d> {
    /// The directory to delete is not empty.
    NotEmpty(&'d Path),
    /// The entry to delete or replace as a file is a directory, and not empty. After failing on an empty one a program
    /// may go on with rmdir(2).
    Directory(&'d Path),
    /// The file to write to is a directory.
    Written(&'d Path),
    /// The entry is not a directory.
    NoDirectory(&'d Path),
    /// A directory would be inside itself.
    Below { inner: &'d Path, outer: &'d Path },
}

impl Obstacle<'_> {
    /// For people, with paths as seen from the workspace.
    pub(crate) fn words(self, workspace: &Path) -> String {
        let shown = |path: &Path| quote::shown(path.as_os_str().as_bytes(), workspace);
        match self {
            Self::NotEmpty(path) => format!("{} is not empty", shown(path)),
            Self::Directory(path) => format!("{} is a directory, and not empty", shown(path)),
            Self::Written(path) => format!("{} is a directory", shown(path)),
            Self::NoDirectory(path) => format!("{} is no directory", shown(path)),
            Self::Below { inner, outer } => format!("{} is in {}", shown(inner), shown(outer)),
        }
    }
}

/// The run that a denial belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunHistory<'a> {
    /// The start of the run, if there was one.
    pub(crate) began: Option<SystemTime>,
    /// All its denials.
    pub(crate) refused: &'a [(Denial, u64)],
}

impl RunHistory<'_> {
    /// The obstacle to deleting the one entry that `denial` is about.
    pub(crate) fn removal<'d>(&self, denial: &'d Denial) -> Option<Obstacle<'d>> {
        if !denial.reason.is_policy() || denial.missing != Capabilities::DELETE {
            return None;
        }
        let path = path_of(&denial.path);
        match denial.call.as_slice() {
            b"rmdir" if self.was_no_directory(path) => Some(Obstacle::NoDirectory(path)),
            b"rmdir" | b"unlinkat" | b"remove" => {
                self.full(path).then_some(Obstacle::NotEmpty(path))
            }
            b"unlink" => self.full(path).then_some(Obstacle::Directory(path)),
            _ => None,
        }
    }

    /// The obstacle to writing to the one path that `denial` is about.
    pub(crate) fn writing<'d>(&self, denial: &'d Denial) -> Option<Obstacle<'d>> {
        let path = path_of(&denial.path);
        let is_directory = |found: Metadata| found.is_dir() && self.was_there(&found);
        let is_written = denial.reason.is_policy() && opens_to_write(denial);
        let in_the_way = is_written && path.symlink_metadata().is_ok_and(is_directory);
        in_the_way.then_some(Obstacle::Written(path))
    }

    /// The obstacle to moving `from` to `to`. None between file systems: programs copy there instead.
    pub(crate) fn movement<'d>(
        &self,
        from: &'d Path,
        to: &'d Path,
        destination: Destination,
    ) -> Option<Obstacle<'d>> {
        let found = from.symlink_metadata().ok()?;
        let holder = to.parent()?.metadata().ok()?;
        let is_below = |inner: &Path, outer: &Path| inner != outer && inner.starts_with(outer);
        if holder.dev() != found.dev() {
            return None;
        }
        if is_below(to, from) {
            return Some(Obstacle::Below { inner: to, outer: from });
        }
        if destination == Destination::Exchange {
            return is_below(from, to).then_some(Obstacle::Below { inner: from, outer: to });
        }
        match found.is_dir() {
            true if self.was_no_directory(to) => Some(Obstacle::NoDirectory(to)),
            true => self.full(to).then_some(Obstacle::NotEmpty(to)),
            false => self.full(to).then_some(Obstacle::Directory(to)),
        }
    }

    fn was_no_directory(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|found| !found.is_dir() && self.was_there(&found))
    }

    /// An entry created since the run began may not have been in the way yet.
    fn was_there(&self, found: &Metadata) -> bool {
        !is_since(found, self.began)
    }

    /// Whether a directory holds something that existed before, and that the run did not try to delete.
    pub(crate) fn full(&self, directory: &Path) -> bool {
        let found = |entry: fs::DirEntry| entry.path().symlink_metadata().ok();
        // The target of a symlink does not matter.
        let is_directory = directory.symlink_metadata().is_ok_and(|found| found.is_dir());
        let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
        is_directory
            && entries.any(|entry| found(entry).is_some_and(|found| self.was_there(&found)))
            && !self.was_to_be_emptied(directory)
    }

    /// Whether the run was denied to delete or move something in the directory, or to list it. It may have emptied the
    /// directory otherwise.
    fn was_to_be_emptied(&self, directory: &Path) -> bool {
        let is_in = |path: &Path| path != directory && path.starts_with(directory);
        self.refused.iter().any(|(denial, _)| {
            let path = path_of(&denial.path);
            let removes = denial.missing.contains(Capabilities::DELETE) && is_in(path);
            let moves = denial.call.starts_with(b"rename") && is_in(path_of(&denial.other));
            let lists = denial.missing.contains(Capabilities::READ) && path.is_dir();
            removes || moves || lists && path.starts_with(directory)
        })
    }
}
