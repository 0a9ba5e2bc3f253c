//! Creates files in memory: the sealed image, and the page that all processes of a run share.

use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, getrlimit};

/// Size of the shared page in bytes.
const GENERATION_PAGE: u64 = 4096;

const FLAGS: MemfdFlags = MemfdFlags::CLOEXEC.union(MemfdFlags::ALLOW_SEALING);

/// Descriptors stay below this, whatever the limit: `select(2)` and old shells know no higher ones.
const HIGHEST: u64 = 1024;

const FIXED: SealFlags = SealFlags::GROW.union(SealFlags::SHRINK).union(SealFlags::SEAL);

/// The page by which all processes of a run tell each other of renamed directories: writable, of fixed size.
#[derive(Debug)]
pub(crate) struct SharedPage {
    pub(crate) file: OwnedFd,
    /// The path at which a process that closed the descriptor finds the page, while this process lives.
    pub(crate) path: PathBuf,
}

impl SharedPage {
    /// Creates the page.
    pub(crate) fn new() -> io::Result<Self> {
        let page = memfd_create("jp-confine generation", FLAGS)?;
        ftruncate(&page, GENERATION_PAGE)?;
        fcntl_add_seals(&page, FIXED)?;
        let file = raise(&page, highest())?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into();
        Ok(Self { file, path })
    }
}

/// Tries to create a sealed file in memory, and drops it.
///
/// # Errors
/// Those of `memfd_create(2)` and `fcntl(2)`.
pub(crate) fn attempt() -> Result<(), Errno> {
    fcntl_add_seals(memfd_create("jp-confine trial", FLAGS)?, FIXED | SealFlags::WRITE)
}

/// The image, sealed against every change (`fcntl(2)`, "File Sealing"), at a high descriptor.
pub(crate) fn seal(image: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("jp-confine image", FLAGS)?);
    file.write_all(image)?;
    fcntl_add_seals(&file, FIXED | SealFlags::WRITE)?;
    raise(&file.into(), highest())
}

/// The contents of a sealed file, which nobody can change. `None` if it is not sealed, or not open.
///
/// # Errors
/// Those of reading, and those of the duplication that made `file`.
pub(crate) fn read_sealed(file: io::Result<OwnedFd>) -> io::Result<Option<Vec<u8>>> {
    let mut file = match file {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BADF) => return Ok(None),
        file => std::fs::File::from(file?),
    };
    let fixed = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK;
    if !fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(fixed)) {
        return Ok(None);
    }
    let mut image = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut image)?;
    Ok(Some(image))
}

/// The highest number that the soft limit allows, out of the way of programs that expect low numbers.
fn highest() -> RawFd {
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(HIGHEST).min(HIGHEST);
    RawFd::try_from(soft).map_or(0, |soft| soft - 1)
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// An error must not count as "no run": the program would start under its own policy alone.
    #[test]
    fn who_cannot_look_does_not_take_it_for_no_run() {
        let refused = |errno: Errno| read_sealed(Err(errno.into()));
        assert!(refused(Errno::MFILE).is_err() && refused(Errno::NOMEM).is_err());
        assert_eq!(refused(Errno::BADF).expect("not open"), None);
        let other = File::open("/dev/null").expect("open");
        assert_eq!(read_sealed(Ok(other.into())).expect("no image"), None);
    }
}
