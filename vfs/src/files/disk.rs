//! The workspace on disk. Everything goes through descriptors of what was judged.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use jp_confine_policy::canonical::Root;
use jp_confine_policy::granted::Granted;
use jp_confine_policy::pin::Pin;
use rustix::fs::{fstat, lstat};

use super::{ProjectFiles, Standing};

/// So much of a file is read at once; more of those that are larger.
const SMALL: usize = 8 << 10;

/// The files where the paths say they are.
#[derive(Debug)]
pub struct OnDisk {
    root: PathBuf,
    held: OwnedFd,
}

impl OnDisk {
    /// Those of the workspace at `root`, which is held from now on.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn at(root: &Root) -> io::Result<Self> {
        Ok(Self { root: root.as_path().to_owned(), held: root.hold()? })
    }

    /// The directory that is held.
    ///
    /// # Errors
    /// Where there are too many descriptors.
    pub fn directory(&self) -> io::Result<OwnedFd> {
        self.held.try_clone()
    }
}

impl ProjectFiles for OnDisk {
    fn stand(&self) -> io::Result<()> {
        let held = fstat(&self.held)?;
        let same = lstat(&self.root)
            .is_ok_and(|there| (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino));
        let moved = "the workspace was moved, removed or replaced: start the tool anew in it";
        if same { Ok(()) } else { Err(io::Error::other(moved)) }
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        Ok(Pin::look(path)?.map(|metadata| match metadata.file_type() {
            kind if kind.is_dir() => Standing::Dir,
            kind if kind.is_file() => Standing::File(metadata.len()),
            _ => Standing::Other,
        }))
    }

    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>> {
        let mut contents = Vec::with_capacity(SMALL);
        file.pin()?.open()?.take(longest).read_to_end(&mut contents)?;
        Ok(contents)
    }

    fn names(&self, dir: &Granted) -> io::Result<Vec<String>> {
        let names = dir.pin()?.names()?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn create_dir(&self, dir: &Granted) -> io::Result<()> {
        dir.pin()?.create_dir()
    }

    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()> {
        file.pin()?.write(contents)
    }

    fn remove(&self, file: &Granted) -> io::Result<()> {
        file.pin()?.remove()
    }

    fn rename(&self, from: &Granted, to: &Granted) -> io::Result<()> {
        from.pin()?.rename_to(&to.pin_entry()?)
    }
}
