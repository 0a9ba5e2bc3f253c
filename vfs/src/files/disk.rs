//! The workspace on disk. Every operation uses a descriptor of the object that was checked.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use jp_confine_engine::canonical::Root;
use jp_confine_engine::granted::Granted;
use jp_confine_engine::moves_alone::RenameKind;
use jp_confine_engine::pin::HeldRoot;

use super::{ProjectFiles, Standing};

/// Size of the first read of a file. Larger files take further reads.
const SMALL: usize = 8 << 10;

/// Files at the places that the paths name.
#[derive(Debug)]
pub struct OnDisk {
    root: HeldRoot,
}

impl OnDisk {
    /// The files of the workspace at `root`, which stays pinned from now on.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn at(root: &Root) -> io::Result<Self> {
        Ok(Self { root: root.hold()? })
    }

    /// The pinned directory.
    ///
    /// # Errors
    /// Where there are too many descriptors.
    pub fn directory(&self) -> io::Result<OwnedFd> {
        self.root.as_fd().try_clone_to_owned()
    }
}

impl ProjectFiles for OnDisk {
    fn stand(&self) -> io::Result<()> {
        let moved = "the workspace was moved, removed or replaced: start the tool anew in it";
        if self.root.stands()? { Ok(()) } else { Err(io::Error::other(moved)) }
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        Ok(self.root.look(path)?.map(|metadata| match metadata.file_type() {
            kind if kind.is_dir() => Standing::Dir,
            kind if kind.is_file() => Standing::File(metadata.len()),
            _ => Standing::Other,
        }))
    }

    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>> {
        let mut contents = Vec::with_capacity(SMALL);
        file.pin_in(&self.root)?.open()?.take(longest).read_to_end(&mut contents)?;
        Ok(contents)
    }

    fn names(&self, dir: &Granted) -> io::Result<Vec<String>> {
        let names = dir.pin_in(&self.root)?.names()?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn create_dir(&self, dir: &Granted) -> io::Result<()> {
        dir.pin_in(&self.root)?.create_dir()
    }

    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()> {
        file.pin_in(&self.root)?.write(contents)
    }

    fn remove(&self, file: &Granted) -> io::Result<()> {
        file.pin_in(&self.root)?.remove()
    }

    fn rename(&self, from: &Granted, to: &Granted, kind: RenameKind) -> io::Result<()> {
        from.pin_in(&self.root)?.rename_to(&to.pin_entry_in(&self.root)?, kind)
    }
}
