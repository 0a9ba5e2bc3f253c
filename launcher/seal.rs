//! The image in memory that nobody can change any more, and the shared page beside it.

use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};

/// Size of the page that all processes of a run share to tell each other of renamed directories.
const GENERATION_PAGE: u64 = 4096;

/// Below this, whatever the limit: `select(2)` and old shells know no higher descriptors.
const HIGHEST: u64 = 1024;

/// The two descriptors that confined processes hold.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// The image, sealed against every change (`fcntl(2)`, "File Sealing").
    pub(crate) image: OwnedFd,
    /// The generation page: writable, of fixed size.
    pub(crate) generation: OwnedFd,
}

impl Sealed {
    /// Seals `image` and places both descriptors as high as the soft limit allows, out of the way
    /// of programs that count on low numbers being free.
    pub(crate) fn new(image: &[u8]) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = std::fs::File::from(memfd_create("jp-confine image", flags)?);
        file.write_all(image)?;
        let fixed = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, fixed | SealFlags::WRITE)?;

        let page = memfd_create("jp-confine generation", flags)?;
        ftruncate(&page, GENERATION_PAGE)?;
        fcntl_add_seals(&page, fixed)?;

        let soft = getrlimit(Resource::Nofile).current.unwrap_or(HIGHEST).min(HIGHEST);
        let top = RawFd::try_from(soft).map_or(0, |soft| soft - 1);
        let image = raise(&file.into(), top)?;
        let generation = raise(&page, image.as_raw_fd() - 1)?;
        Ok(Self { image, generation })
    }

    /// The value of the environment variable that leads a process to both.
    pub(crate) fn handle(&self) -> String {
        format!("{}:{}", self.image.as_raw_fd(), self.generation.as_raw_fd())
    }
}

/// A duplicate of `fd` at the highest free number up to `top`.
fn raise(fd: &OwnedFd, top: RawFd) -> io::Result<OwnedFd> {
    let mut wanted = top;
    loop {
        match fcntl_dupfd_cloexec(fd, wanted) {
            Ok(high) if high.as_raw_fd() <= top => return Ok(high),
            Ok(_) | Err(Errno::MFILE | Errno::INVAL) if wanted > 3 => wanted -= 1,
            Ok(_) => return Err(io::Error::from(Errno::MFILE)),
            Err(error) => return Err(error.into()),
        }
    }
}
