//! openat2(2), which libc has a function for since glibc 2.43: its resolve flags change what a path
//! means, so that the kernel must say where it leads before the policy can judge.

use core::ffi::{CStr, c_char, c_int, c_uint};

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::open::{How, open_at};
use crate::places::DescriptorLink;
use crate::sys::{self, Fd};
use crate::{memory, resolve};

const CALL: &CStr = c"openat2";
/// The size of `struct open_how` as the shim knows it, and the largest that the kernel takes.
const KNOWN_SIZE: usize = 24;
const LARGEST: usize = 4096;

/// Does openat2(2).
///
/// # Errors
/// As openat2(2); `EACCES` or `ENOENT` where the policy refuses.
pub(crate) fn open(
    dirfd: c_int,
    path: *const c_char,
    how: *const u64,
    size: usize,
) -> Result<c_int, Errno> {
    let how = read(how, size)?;
    if how.resolve == 0 {
        return open_at(CALL, dirfd, path, how);
    }
    let mut text = PathBuffer::new();
    memory::copy_path(path, &mut text)?;
    open_resolved(dirfd, &text, how)
}

#[unsafe(no_mangle)]
extern "C" fn openat2(dirfd: c_int, path: *const c_char, how: *const u64, size: usize) -> c_int {
    open(dirfd, path, how, size).reply()
}

/// Reads `struct open_how`, whose fields are 64-bit words.
fn read(how: *const u64, size: usize) -> Result<How, Errno> {
    if size < KNOWN_SIZE {
        return Err(Errno::EINVAL);
    }
    if size > LARGEST {
        return Err(Errno::E2BIG);
    }
    for offset in KNOWN_SIZE..size {
        // What comes later must be zero: it asks for something unknown here.
        if memory::first_byte(how.cast::<c_char>().wrapping_add(offset))? != 0 {
            return Err(Errno::E2BIG);
        }
    }
    let (flags, mode, resolve) = (field(how, 0)?, field(how, 1)?, field(how, 2)?);
    let flags = c_int::try_from(flags).map_err(|_| Errno::EINVAL)?;
    let mode = c_uint::try_from(mode).map_err(|_| Errno::EINVAL)?;
    let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let known = How::new(flags, mode);
    // Unlike open(2) it refuses what it does not know, and a mode that means nothing.
    if known.flags != flags & !libc::O_LARGEFILE || mode & !0o7777 != 0 || (!creates && mode != 0) {
        return Err(Errno::EINVAL);
    }
    Ok(How { resolve, ..known })
}

fn field(how: *const u64, index: usize) -> Result<u64, Errno> {
    let at = how.wrapping_add(index);
    memory::check(at.addr())?;
    memory::check(at.addr().wrapping_add(size_of::<u64>().wrapping_sub(1)))?;
    // SAFETY: its first and last byte were found readable.
    Ok(unsafe { at.read_unaligned() })
}

/// Lets the kernel resolve the path as asked, and opens what it found, mediated.
fn open_resolved(dirfd: c_int, path: &PathBuffer, how: How) -> Result<c_int, Errno> {
    let create = how.flags & libc::O_CREAT != 0;
    let exclusive = create && how.flags & libc::O_EXCL != 0;
    let stop = if exclusive { libc::O_NOFOLLOW } else { how.flags & libc::O_NOFOLLOW };
    let pin = libc::O_PATH | libc::O_CLOEXEC;
    match sys::openat2(dirfd, path.c_str(0), pin | stop, 0, how.resolve) {
        Ok(_) if exclusive => open_in_parent(dirfd, path, how),
        Ok(found) => open_found(&found, how),
        Err(Errno::ENOENT) if create => open_in_parent(dirfd, path, how),
        Err(errno) => Err(errno),
    }
}

/// Opens an object that is held.
fn open_found(found: &Fd, how: How) -> Result<c_int, Errno> {
    let flags = how.flags & !(libc::O_CREAT | libc::O_NOFOLLOW);
    let is_link = sys::fstat(found.raw())?.st_mode & libc::S_IFMT == libc::S_IFLNK;
    if is_link && how.flags & libc::O_PATH == 0 {
        return Err(Errno::ELOOP);
    }
    if is_link {
        let mut place = PathBuffer::new();
        resolve::locate(found.raw(), &mut place)?;
        let path = place.c_str(0).as_ptr();
        return open_at(CALL, libc::AT_FDCWD, path, How { resolve: 0, ..how });
    }
    let link = DescriptorLink::new(found.raw());
    let how = How { flags, resolve: 0, ..how };
    open_at(CALL, libc::AT_FDCWD, link.as_c_str().as_ptr(), how)
}

/// Opens or creates the last component of `path` in its directory. A link there is not followed:
/// where it leads could not be bounded any more.
fn open_in_parent(dirfd: c_int, path: &PathBuffer, how: How) -> Result<c_int, Errno> {
    let text = path.as_bytes();
    let name_at =
        text.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash.saturating_add(1));
    let mut parent = PathBuffer::new();
    parent.push(text.get(..name_at).unwrap_or(&[]))?;
    if name_at == 0 {
        parent.push(b".")?;
    }
    let name = text.get(name_at..).unwrap_or(&[]);
    if matches!(name, b"" | b"." | b"..") {
        return Err(Errno::EISDIR);
    }
    let pin = libc::O_PATH | libc::O_CLOEXEC | libc::O_DIRECTORY;
    let directory = sys::openat2(dirfd, parent.c_str(0), pin, 0, how.resolve)?;
    let how = How { flags: how.flags | libc::O_NOFOLLOW, resolve: 0, ..how };
    open_at(CALL, directory.raw(), path.c_str(name_at).as_ptr(), how)
}
