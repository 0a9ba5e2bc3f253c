//! Hook for openat2(2), which glibc provides since 2.43. Its resolve flags change the meaning of a path, so the kernel
//! must resolve the path before the policy can judge.

use core::ffi::{CStr, c_char, c_int, c_uint};

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::open::{How, open_at};
use crate::mmap_box::MmapBox;
use crate::resolve::LINK_BUDGET;
use crate::sys::{self, Fd};
use crate::{memory, resolve};

const CALL: &CStr = c"openat2";
/// The size of `struct open_how` that the library knows, and the largest that the kernel accepts.
const KNOWN_SIZE: usize = 24;
const LARGEST: usize = 4096;

/// `RESOLVE_NO_XDEV` and `RESOLVE_CACHED`.
const NO_XDEV: u64 = 0x01;
const CACHED: u64 = 0x20;

/// Performs openat2(2).
///
/// # Errors
/// As openat2(2); `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn open(
    dirfd: c_int,
    path: *const c_char,
    how: *const u64,
    size: usize,
) -> Result<c_int, Errno> {
    let how = read(how, size)?;
    if how.resolve == 0 {
        return open_plainly(dirfd, path, how);
    }
    let Resolved { held, entry } = resolve_as_asked(dirfd, path, how)?;
    match entry {
        Some(name) => {
            let how = How { flags: how.flags | libc::O_NOFOLLOW, resolve: 0, ..how };
            open_plainly(held.raw(), name.c_str(0).as_ptr(), how)
        }
        None => open_found(&held, how),
    }
}

/// Opens like openat(2).
#[inline(never)]
fn open_plainly(dirfd: c_int, path: *const c_char, how: How) -> Result<c_int, Errno> {
    open_at(CALL, dirfd, path, how)
}

#[unsafe(no_mangle)]
extern "C" fn openat2(dirfd: c_int, path: *const c_char, how: *const u64, size: usize) -> c_int {
    open(dirfd, path, how, size).reply()
}

/// Reads `struct open_how`, which consists of 64-bit words.
fn read(how: *const u64, size: usize) -> Result<How, Errno> {
    if size < KNOWN_SIZE {
        return Err(Errno::EINVAL);
    }
    if size > LARGEST {
        return Err(Errno::E2BIG);
    }
    for offset in KNOWN_SIZE..size {
        // Later fields must be zero. Others request something unknown here.
        if memory::first_byte(how.cast::<c_char>().wrapping_add(offset))? != 0 {
            return Err(Errno::E2BIG);
        }
    }
    let (flags, mode, resolve) = (field(how, 0)?, field(how, 1)?, field(how, 2)?);
    let flags = c_int::try_from(flags).map_err(|_| Errno::EINVAL)?;
    let mode = c_uint::try_from(mode).map_err(|_| Errno::EINVAL)?;
    let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let known = How::new(flags, mode);
    // Unlike open(2), openat2 rejects unknown flags, and a mode without a meaning.
    if known.flags != flags & !libc::O_LARGEFILE || mode & !0o7777 != 0 || (!creates && mode != 0) {
        return Err(Errno::EINVAL);
    }
    // A file that is not cached cannot be created or truncated with this flag.
    if resolve & CACHED != 0 && (creates || flags & libc::O_TRUNC != 0) {
        return Err(Errno(libc::EAGAIN));
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

/// The longest name, with a slash and the NUL.
const NAME: usize = 257;

const PIN: c_int = libc::O_PATH | libc::O_CLOEXEC;

/// The result of a resolution by the kernel.
struct Resolved {
    held: Fd,
    /// The name to open or create in the pinned directory.
    entry: Option<MmapBox<Buffer<NAME>>>,
}

/// Has the kernel resolve the path as requested.
#[inline(never)]
fn resolve_as_asked(dirfd: c_int, path: *const c_char, how: How) -> Result<Resolved, Errno> {
    let mut text = PathBuffer::new();
    memory::copy_path(path, &mut text)?;
    if how.flags & libc::O_CREAT != 0 {
        return resolve_entry(dirfd, &mut text, how);
    }
    let stop = how.flags & libc::O_NOFOLLOW;
    let held = sys::openat2(dirfd, text.c_str(0), PIN | stop, 0, how.resolve)?;
    Ok(Resolved { held, entry: None })
}

/// Finds the entry to open or create. This function follows a symlink there itself, and has the kernel resolve the new
/// path from its beginning as requested.
fn resolve_entry(dirfd: c_int, text: &mut PathBuffer, how: How) -> Result<Resolved, Errno> {
    let exclusive = how.flags & libc::O_EXCL != 0;
    let stop = if exclusive { libc::O_NOFOLLOW } else { how.flags & libc::O_NOFOLLOW };
    let mut target = MmapBox::<PathBuffer>::blank()?;
    for _ in 0..LINK_BUDGET {
        let reach = |path: &CStr, flags| sys::openat2(dirfd, path, PIN | flags, 0, how.resolve);
        let (name_at, end) = last(text.as_bytes());
        let mut name = MmapBox::<Buffer<NAME>>::blank()?;
        name.push(text.as_bytes().get(name_at..end).unwrap_or(&[]))?;
        if matches!(name.as_bytes(), b"" | b"." | b"..") {
            reach(text.c_str(0), libc::O_DIRECTORY)?;
            return Err(if exclusive { Errno::EEXIST } else { Errno::EISDIR });
        }
        let held = text.with_part(0, name_at, |parent| {
            reach(if parent.is_empty() { c"." } else { parent }, libc::O_DIRECTORY)
        })?;
        if end < text.len() {
            name.push(b"/")?;
            return Ok(Resolved { held, entry: Some(name) });
        }
        match reach(text.c_str(0), stop) {
            Ok(_) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno),
        }
        let link =
            target.fill(|bytes, room| sys::readlinkat(held.raw(), name.c_str(0), bytes, room));
        if link.is_err() || stop != 0 {
            return Ok(Resolved { held, entry: Some(name) });
        }
        let absolute = target.as_bytes().first() == Some(&b'/');
        if absolute && how.resolve & NO_XDEV != 0 {
            // Only the kernel could tell whether that leaves the mount.
            return Err(Errno::ELOOP);
        }
        text.truncate(if absolute { 0 } else { name_at });
        text.push(target.as_bytes())?;
    }
    Err(Errno::ELOOP)
}

/// The start and end of the last component of a path.
fn last(path: &[u8]) -> (usize, usize) {
    let behind = |at: usize| at.saturating_add(1);
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, behind);
    let name = path.get(..end).unwrap_or(&[]);
    (name.iter().rposition(|&byte| byte == b'/').map_or(0, behind), end)
}

/// Opens a pinned object.
fn open_found(found: &Fd, how: How) -> Result<c_int, Errno> {
    let flags = how.flags & !libc::O_NOFOLLOW;
    let is_link = sys::fstat(found.raw())?.st_mode & libc::S_IFMT == libc::S_IFLNK;
    if is_link && how.flags & libc::O_PATH == 0 {
        return Err(Errno::ELOOP);
    }
    if is_link {
        return open_link(found, how);
    }
    let link = DescriptorLink::new(found.raw());
    let how = How { flags, resolve: 0, ..how };
    open_plainly(libc::AT_FDCWD, link.as_c_str().as_ptr(), how)
}

/// Opens a symlink itself, which cannot be opened through its descriptor.
#[inline(never)]
fn open_link(link: &Fd, how: How) -> Result<c_int, Errno> {
    let mut place = MmapBox::<PathBuffer>::blank()?;
    resolve::locate(link.raw(), &mut place)?;
    open_plainly(libc::AT_FDCWD, place.c_str(0).as_ptr(), How { resolve: 0, ..how })
}
