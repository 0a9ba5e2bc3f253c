//! Stores the policy's image in a file without a name that nobody has open for writing. macOS has no seals: the
//! launcher ensures that there is no writer, and nobody can verify it.

use core::ffi::c_int;

use jp_confine_engine::image::{Image, Text};

use super::{fcntl, fstat, openat, random, unlinkat, write};
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::sys::Fd;

/// Lowest descriptor number that is out of a program's way.
const HIGH: c_int = 200;

/// How many letters of a file's name are generated.
const LETTERS: usize = 16;

/// Whether the descriptor is read-only and the file has no name by which it could be opened again.
pub(crate) fn is_unchangeable(fd: c_int) -> bool {
    fcntl(fd, libc::F_GETFL, 0).is_ok_and(|flags| flags & libc::O_ACCMODE == libc::O_RDONLY)
        && fstat(fd)
            .is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_nlink == 0)
}

/// Creates a copy of the image.
///
/// # Errors
/// The kernel's.
#[cold]
pub(crate) fn remake(image: &Image<'_>) -> Result<Fd, Errno> {
    let mut path = PathBuffer::new();
    path.push(image.text(Text::TempDir))?;
    path.push(b"/.jp-confine-")?;
    let mut letters = [0_u8; LETTERS];
    random(&mut letters)?;
    for letter in letters {
        path.push(&[b'a'.wrapping_add(letter & 15)])?;
    }
    let path = path.c_str(0);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let writer = openat(libc::AT_FDCWD, path, flags, 0o400)?;
    let reader = openat(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_NOFOLLOW, 0);
    unlinkat(libc::AT_FDCWD, path, 0)?;
    let reader = reader?;
    if fstat(reader.raw())?.st_ino != fstat(writer.raw())?.st_ino {
        return Err(Errno::EACCES);
    }
    let mut rest = image.as_bytes();
    while !rest.is_empty() {
        match write(writer.raw(), rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or(&[]),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    // If the descriptor limit is below that number, the low descriptor stays in use.
    Ok(fcntl(reader.raw(), libc::F_DUPFD, HIGH).map_or(reader, Fd::adopt))
}

/// Always `None`. Any program of the run could truncate a page that all of them can write, and the others would crash.
/// So nothing is remembered between calls.
pub(crate) const fn shared_page(_image: &Image<'_>, _fd: c_int) -> Option<(*mut u8, c_int)> {
    None
}
