//! Creates and deletes the symlinks of mounts, all of them or none (R12).
//!
//! The workspace root is pinned, and every name is reached from there without following a symlink. A symlink as a
//! parent could put the link anywhere.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use camino::Utf8Path;
use jp_confine_engine::canonical::{self, Root};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The kind of object at the name of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkEntry {
    /// Nothing.
    Missing,
    /// A symbolic link, wherever it leads.
    Link,
    /// Anything else, which mounts must not touch.
    Other,
}

/// Links that were created and deleted. [`Self::keep`] makes that final, otherwise dropping this undoes it.
#[derive(Debug)]
pub(crate) struct Links {
    root: OwnedFd,
    done: Vec<Step>,
    /// Directories to delete in the end if they are empty, each with its parent. Inner ones come first.
    left: Vec<(OwnedFd, String)>,
}

/// One change, with the directory that it was made in.
#[derive(Debug)]
enum Step {
    MadeDirectory(OwnedFd, String),
    Made(OwnedFd, String),
    Removed(OwnedFd, String, CString),
}

impl Links {
    /// Pins the workspace root.
    pub(crate) fn of(root: &Root) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: fs::open(root.as_path(), flags, Mode::empty())?,
            done: Vec::new(),
            left: Vec::new(),
        })
    }

    /// The kind of object at `name`, in normal form. Fails if a parent is no directory, or is a symlink.
    pub(crate) fn entry(&self, name: &Utf8Path) -> io::Result<LinkEntry> {
        let (parents, last) = split(name)?;
        let mut dir = self.root.try_clone()?;
        for parent in parents {
            dir = match enter(&dir, parent) {
                Err(Errno::NOENT) => return Ok(LinkEntry::Missing),
                outcome => outcome?,
            };
        }
        match fs::statat(&dir, last, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(LinkEntry::Missing),
            Err(error) => Err(error.into()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => Ok(LinkEntry::Link),
            Ok(_) => Ok(LinkEntry::Other),
        }
    }

    /// Creates the link `name` to `target` with its missing parents. Returns how many were missing, including those
    /// below them that another run has created meanwhile. If a link to `target` is there by now, that is fine: another
    /// run may have mounted the same.
    pub(crate) fn make(&mut self, name: &Utf8Path, target: &Utf8Path) -> io::Result<usize> {
        let (parents, last) = split(name)?;
        let mut made = 0;
        let mut dir = self.root.try_clone()?;
        for parent in parents {
            dir = match enter(&dir, parent) {
                Err(Errno::NOENT) => {
                    let is_own = self.make_directory(&dir, parent)?;
                    made += usize::from(is_own || made > 0);
                    enter(&dir, parent)?
                }
                outcome => {
                    made += usize::from(made > 0);
                    outcome?
                }
            };
        }
        canonical::forget();
        match fs::symlinkat(target.as_std_path(), &dir, last) {
            Err(Errno::EXIST) if leads_to(&dir, last, target) => {}
            outcome => {
                outcome?;
                self.done.push(Step::Made(dir, last.to_owned()));
            }
        }
        Ok(made)
    }

    /// Creates the directory `name` in `dir`, and returns true, unless another run creates it first.
    fn make_directory(&mut self, dir: &OwnedFd, name: &str) -> io::Result<bool> {
        let outcome = fs::mkdirat(dir, name, Mode::from_raw_mode(0o777));
        if outcome == Err(Errno::EXIST) {
            return Ok(false);
        }
        outcome?;
        self.done.push(Step::MadeDirectory(dir.try_clone()?, name.to_owned()));
        Ok(true)
    }

    /// Deletes the link `name`, whose entry was [`LinkEntry::Link`]. Also deletes this number of `directories` above
    /// it, which were created for it, if they are otherwise empty.
    pub(crate) fn remove(&mut self, name: &Utf8Path, directories: usize) -> io::Result<()> {
        let (parents, last) = split(name)?;
        let mut dir = self.root.try_clone()?;
        let mut above = Vec::new();
        for parent in parents {
            let below = enter(&dir, parent)?;
            above.push((dir, parent.to_owned()));
            dir = below;
        }
        // Fails if it is no symlink (any more).
        let text = fs::readlinkat(&dir, last, Vec::new())?;
        fs::unlinkat(&dir, last, AtFlags::empty())?;
        self.done.push(Step::Removed(dir, last.to_owned(), text));
        self.left.extend(above.into_iter().rev().take(directories));
        Ok(())
    }

    /// Makes the changes final, and deletes the empty directories.
    pub(crate) fn keep(&mut self) {
        self.done.clear();
        for (dir, name) in self.left.drain(..) {
            // A directory in use is not empty, so this fails.
            let _ = fs::unlinkat(&dir, name, AtFlags::REMOVEDIR);
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for step in self.done.drain(..).rev() {
            // Changes by others in the meantime are left alone.
            let _ = match step {
                Step::MadeDirectory(dir, name) => fs::unlinkat(&dir, name, AtFlags::REMOVEDIR),
                Step::Made(dir, name) => fs::unlinkat(&dir, name, AtFlags::empty()),
                Step::Removed(dir, name, text) => fs::symlinkat(text, &dir, name),
            };
        }
    }
}

/// The directories above the last component of `name`, and that component.
fn split(name: &Utf8Path) -> io::Result<(impl Iterator<Item = &str>, &str)> {
    let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parents = name.parent().unwrap_or(Utf8Path::new("")).components();
    Ok((parents.map(|parent| parent.as_str()), last))
}

/// Whether `name` in `dir` is a link like the one created for `target`.
fn leads_to(dir: &OwnedFd, name: &str, target: &Utf8Path) -> bool {
    fs::readlinkat(dir, name, Vec::new())
        .is_ok_and(|text| text.as_bytes() == target.as_str().as_bytes())
}

/// Opens the directory `name` in `dir`. Fails on a symlink.
fn enter(dir: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    fs::openat2(dir, name, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::*;

    /// A workspace `ws`, and `out` beside it.
    struct Tree {
        dir: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            for name in ["ws/dir", "out"] {
                std::fs::create_dir_all(dir.path().join(name)).expect("made");
            }
            std::fs::write(dir.path().join("ws/file"), "").expect("written");
            symlink("../out", dir.path().join("ws/out")).expect("linked");
            symlink("dir", dir.path().join("ws/in")).expect("linked");
            Self { dir }
        }

        fn links(&self) -> Links {
            Links::of(&Root::open(&self.path("ws")).expect("a root")).expect("held")
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn text(&self, name: &str) -> Option<PathBuf> {
            std::fs::read_link(self.path(name)).ok()
        }
    }

    #[test]
    fn what_stands_there() {
        let tree = Tree::new();
        let links = tree.links();
        for (name, entry) in [
            ("new", LinkEntry::Missing),
            ("new/deeper/fork", LinkEntry::Missing),
            ("dir/fork", LinkEntry::Missing),
            ("dir", LinkEntry::Other),
            ("file", LinkEntry::Other),
            ("out", LinkEntry::Link),
            ("in", LinkEntry::Link),
        ] {
            assert_eq!(links.entry(name.into()).expect(name), entry, "{name}");
        }
        for name in ["out/fork", "in/fork", "file/fork", "..", "../fork", "dir/../fork", ""] {
            assert!(links.entry(name.into()).is_err(), "{name}");
        }
    }

    // conformance: d43-149, d43-159
    #[test]
    fn links_are_made_with_what_is_above_them() {
        let tree = Tree::new();
        let mut links = tree.links();
        links.make("a/b/fork".into(), "/target".into()).expect("made");
        links.make("a/other".into(), "/other".into()).expect("made");
        links.keep();
        assert_eq!(tree.text("ws/a/b/fork").as_deref(), Some(Path::new("/target")));
        assert_eq!(tree.text("ws/a/other").as_deref(), Some(Path::new("/other")));
    }

    #[test]
    fn nothing_is_left_of_links_that_are_not_kept() {
        let tree = Tree::new();
        let mut links = tree.links();
        links.make("a/b/fork".into(), "/target".into()).expect("made");
        links.make("dir/fork".into(), "/target".into()).expect("made");
        links.remove("out".into(), 0).expect("removed");
        links.make("out".into(), "/other".into()).expect("made in its place");
        assert!(links.make("out/fork".into(), "/target".into()).is_err());
        drop(links);
        assert!(!tree.path("ws/a").exists());
        assert_eq!(tree.text("ws/dir/fork"), None);
        assert_eq!(tree.text("ws/out").as_deref(), Some(Path::new("../out")));
    }

    #[test]
    fn directories_that_were_made_go_with_the_last_link_in_them() {
        let tree = Tree::new();
        let mut links = tree.links();
        assert_eq!(links.make("a/b/fork".into(), "/target".into()).expect("made"), 2);
        assert_eq!(links.make("dir/c/fork".into(), "/target".into()).expect("made"), 1);
        assert_eq!(links.make("a/other".into(), "/other".into()).expect("made"), 0);
        links.keep();
        let mut links = tree.links();
        links.remove("a/b/fork".into(), 2).expect("removed");
        links.remove("dir/c/fork".into(), 1).expect("removed");
        drop(links);
        assert_eq!(tree.text("ws/a/b/fork").as_deref(), Some(Path::new("/target")));
        let mut links = tree.links();
        links.remove("a/b/fork".into(), 2).expect("removed");
        links.remove("dir/c/fork".into(), 1).expect("removed");
        links.keep();
        assert!(!tree.path("ws/a/b").exists() && tree.path("ws/a").exists());
        assert!(!tree.path("ws/dir/c").exists() && tree.path("ws/dir").exists());
    }

    #[test]
    fn a_link_never_stands_outside() {
        let tree = Tree::new();
        let mut links = tree.links();
        for name in ["out/fork", "in/fork", "file/fork", "../fork", "file", "out"] {
            assert!(links.make(name.into(), "/target".into()).is_err(), "{name}");
        }
        links.keep();
        let outside = std::fs::read_dir(tree.path("out")).expect("listed").count();
        assert_eq!((outside, tree.text("fork")), (0, None));
    }

    // conformance: d43-186
    #[test]
    fn only_links_are_removed() {
        let tree = Tree::new();
        let mut links = tree.links();
        for name in ["dir", "file", "missing", "out/x"] {
            assert!(links.remove(name.into(), 0).is_err(), "{name}");
        }
        links.remove("out".into(), 0).expect("removed");
        links.keep();
        assert!(tree.path("ws/dir").is_dir() && tree.path("ws/file").exists());
        assert!(tree.path("out").is_dir() && tree.text("ws/out").is_none());
    }
}
