//! Remembers what resolutions have seen of the disk, so that a name on the way to several paths is looked at once.

use std::borrow::ToOwned as _;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

std::thread_local! {
    /// What the thread has seen, while a [`Memory`] lives.
    static REMEMBERED: RefCell<Option<Lookups>> = const { RefCell::new(None) };
}

/// Everything that resolutions have seen of the disk.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    entries: HashMap<OsString, Result<Metadata, i32>>,
    /// The texts of symlinks.
    texts: HashMap<OsString, PathBuf>,
}

impl Lookups {
    /// The entry at `path`, `lstat(2)`.
    fn entry(&mut self, path: &Path) -> io::Result<Metadata> {
        let found = match self.entries.get(path.as_os_str()) {
            Some(known) => return known.clone().map_err(io::Error::from_raw_os_error),
            None => fs::symlink_metadata(path),
        };
        // An error without a number is about the spelling, and costs no look.
        let known = found.as_ref().map(Metadata::clone).map_err(io::Error::raw_os_error);
        let known = match known {
            Ok(found) => Ok(found),
            Err(Some(number)) => Err(number),
            Err(None) => return found,
        };
        self.entries.insert(path.as_os_str().to_owned(), known);
        found
    }

    /// The kind of entry at `path`, which is canonical up to its last name.
    pub(super) fn kind(&mut self, path: &Path) -> io::Result<FileType> {
        self.entry(path).map(|found| found.file_type())
    }

    /// The text of the symlink at `path`.
    pub(super) fn text(&mut self, path: &Path) -> io::Result<PathBuf> {
        if let Some(known) = self.texts.get(path.as_os_str()) {
            return Ok(known.clone());
        }
        let text = fs::read_link(path)?;
        self.texts.insert(path.as_os_str().to_owned(), text.clone());
        Ok(text)
    }
}

/// While it lives, its thread looks at each name on disk once: resolutions and [`look`] remember what others have seen.
/// Code that creates something meanwhile calls [`forget`].
#[derive(Debug)]
#[must_use = "the memory ends when this is dropped"]
pub struct Memory {
    /// Whether no other memory of the thread lives longer.
    is_outermost: bool,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

/// Begins to remember what this thread sees of the disk.
pub fn remember() -> Memory {
    let is_outermost = REMEMBERED.with_borrow(Option::is_none);
    if is_outermost {
        REMEMBERED.set(Some(Lookups::default()));
    }
    Memory { is_outermost, _thread: PhantomData }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_outermost {
            REMEMBERED.take();
        }
    }
}

/// Forgets everything that a [`Memory`] has seen, because the disk changes.
pub fn forget() {
    REMEMBERED.with_borrow_mut(|remembered| {
        if let Some(lookups) = remembered {
            lookups.entries.clear();
            lookups.texts.clear();
        }
    });
}

/// The entry at `path` itself, `lstat(2)`.
///
/// # Errors
/// Those of `lstat(2)`.
pub fn look(path: &Path) -> io::Result<Metadata> {
    with(|lookups| lookups.entry(path))
}

/// Calls `work` with the thread's memory, or with an empty one.
pub(super) fn with<T>(work: impl FnOnce(&mut Lookups) -> T) -> T {
    REMEMBERED.with_borrow_mut(|remembered| match remembered {
        Some(lookups) => work(lookups),
        None => work(&mut Lookups::default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_at_once_until_it_is_forgotten() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let memory = remember();
        assert!(look(&path).is_err());
        fs::write(&path, "").expect("written");
        assert!(look(&path).is_err(), "remembered");
        drop(remember());
        assert!(look(&path).is_err(), "the first memory lives");
        forget();
        assert!(look(&path).is_ok());
        fs::remove_file(&path).expect("removed");
        assert!(look(&path).is_ok(), "remembered");
        drop(memory);
        assert!(look(&path).is_err(), "nothing is remembered now");
    }
}
