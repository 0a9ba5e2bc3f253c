//! Stores the policy's image in memory that nobody can change, a sealed memfd (`memfd_create(2)`). Also maps the page
//! that the run's processes share.

use core::ffi::{CStr, c_int};

use jp_confine_engine::image::{Image, Text};

use super::{call, fcntl, int, map, openat, write};
use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::sys::Fd;
use crate::sys::process::FileSize;

/// The seals that a memfd needs to be unchangeable.
const SEALS: c_int =
    libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

/// The size of the shared page.
const PAGE: usize = 4096;

/// Lowest descriptor number that is out of a program's way.
const HIGH: c_int = 1000;

/// Whether nobody can change the descriptor's file.
pub(crate) fn is_unchangeable(fd: c_int) -> bool {
    fcntl(fd, libc::F_GET_SEALS, 0).is_ok_and(|seals| seals & SEALS == SEALS)
}

/// Creates a sealed copy of the image.
///
/// # Errors
/// `EMFILE`, `ENFILE` or `ENOMEM`; `EFBIG` if the process may not write files of that length.
#[cold]
pub(crate) fn remake(image: &Image<'_>) -> Result<Fd, Errno> {
    let file = sealable_file(c"jp-confine")?;
    let mut rest = image.as_bytes();
    // The limit applies to files in memory, too, and kills a process that writes beyond it.
    let _limit = FileSize::allow(rest.len())?;
    while !rest.is_empty() {
        match write(file.raw(), rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or(&[]),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    fcntl(file.raw(), libc::F_ADD_SEALS, SEALS)?;
    // If the descriptor limit is below that number, the low descriptor stays in use.
    Ok(fcntl(file.raw(), libc::F_DUPFD, HIGH).map_or(file, Fd::adopt))
}

/// Creates a file with `memfd_create(2)` that can be sealed and survives exec.
fn sealable_file(name: &CStr) -> Result<Fd, Errno> {
    let flags = libc::MFD_ALLOW_SEALING as usize;
    let args = [name.as_ptr().expose_provenance(), flags, 0, 0, 0, 0];
    call(libc::SYS_memfd_create, args).map(|fd| Fd::adopt(int(fd)))
}

/// Maps the page that the run's processes share. Returns its descriptor as well, or -1 if a parent, or a program without
/// the library, had closed that and the page was opened again.
pub(crate) fn shared_page(image: &Image<'_>, fd: c_int) -> Option<(*mut u8, c_int)> {
    let map = |fd| map(fd, PAGE, libc::PROT_READ | libc::PROT_WRITE);
    if fd >= 0
        && let Ok(page) = map(fd)
    {
        return Some((page, fd));
    }
    // The page has a name in `/proc`.
    let mut path = Buffer::<64>::new();
    path.push(image.text(Text::SharedPage)).ok()?;
    let file = openat(libc::AT_FDCWD, path.c_str(0), libc::O_RDWR | libc::O_CLOEXEC, 0).ok()?;
    let seals = fcntl(file.raw(), libc::F_GET_SEALS, 0).ok()?;
    let fixed = seals & libc::F_SEAL_SHRINK != 0;
    fixed.then(|| map(file.raw()).ok())?.map(|page| (page, -1))
}
