//! Hooks that tell programs a path: of the working directory, of a file, of a descriptor. In a run with views they tell
//! the name that programs know. Where no view shows the working directory, libc's own functions tell that.

use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::views;

use crate::buffer::{CAPACITY, PathBuffer};
use crate::errno::{Errno, Reply};
use crate::hooks::metadata::RealPath;
use crate::hooks::tail::tail_jumps;
use crate::libc_functions;
use crate::memory::Text;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::sys::next::Original;
use crate::views::{may_hide, may_lead};
use crate::{fd_paths, resolve, session, sys, working_directory};

tail_jumps! {
    getcwd => choose_getcwd;
    __getcwd_chk => choose_checked;
    getwd => choose_getwd;
    __getwd_chk => choose_checked_getwd;
    get_current_dir_name => choose_current;
}

macro_rules! choose {
    ($($choose:ident: $name:literal, $own:ident;)*) => {$(
        extern "C" fn $choose() -> usize {
            static ORIGINAL: Original = Original::new($name);
            let original = if is_in_view() { None } else { ORIGINAL.address() };
            original.unwrap_or_else(|| ($own as *const ()).expose_provenance())
        }
    )*};
}

choose! {
    choose_getcwd: c"getcwd", own_getcwd;
    choose_checked: c"__getcwd_chk", own_getcwd;
    choose_getwd: c"getwd", own_getwd;
    choose_checked_getwd: c"__getwd_chk", own_getwd;
    choose_current: c"get_current_dir_name", own_current;
}

/// Whether a view shows the working directory, as far as that is known.
fn is_in_view() -> bool {
    let Some(image) = session::image().ok().filter(|image| views::exist(image)) else {
        return false;
    };
    let mut here = PathBuffer::new();
    working_directory::read(&mut here).is_ok() && views::to_place(image, here.as_bytes()).is_some()
}

extern "C" fn own_getcwd(buffer: *mut c_char, room: usize) -> *mut c_char {
    let room = if buffer.is_null() && room == 0 { usize::MAX } else { room };
    current(buffer, room).reply()
}

extern "C" fn own_getwd(buffer: *mut c_char) -> *mut c_char {
    if buffer.is_null() {
        return Err(Errno::EINVAL).reply();
    }
    current(buffer, libc::PATH_MAX as usize).reply()
}

extern "C" fn own_current() -> *mut c_char {
    current(core::ptr::null_mut(), usize::MAX).reply()
}

/// Gives the working directory's path to the program.
///
/// # Errors
/// As getcwd(3).
fn current(buffer: *mut c_char, room: usize) -> Result<*mut c_char, Errno> {
    if room == 0 {
        return Err(Errno::EINVAL);
    }
    let mut path = MmapBox::<PathBuffer>::blank()?;
    path.fill(sys::present_directory)?;
    if path.as_bytes().first() != Some(&b'/') {
        return Err(Errno::ENOENT);
    }
    give(session::image()?, &mut path, buffer, room)
}

/// realpath(3) in a run with views. libc's `original` function does it, unless a view is on the way of the path, which is
/// certain if the path `is_led`.
///
/// # Errors
/// As realpath(3).
pub(crate) fn real_path(
    path: *const c_char,
    buffer: *mut c_char,
    is_led: bool,
    original: RealPath,
) -> Result<*mut c_char, Errno> {
    let image = session::image()?;
    // libc's function tries to read each name as a symlink. So this is what the last one leaves.
    let in_view = || canonical(image, path, buffer).inspect(|_| Errno::EINVAL.set());
    let mut own = MaybeUninit::<[c_char; CAPACITY]>::uninit();
    let target = if buffer.is_null() { own.as_mut_ptr().cast() } else { buffer };
    let found = if is_led { core::ptr::null_mut() } else { original(path, target) };
    if found.is_null() {
        let errno = Errno::last();
        let may_lead = |path| may_lead(libc::AT_FDCWD, path, false, errno);
        let is_led = is_led || may_hide(image, errno) && Text::at(path).is_ok_and(may_lead);
        return if is_led { in_view() } else { Err(errno) };
    }
    // SAFETY: libc has written a text there.
    let text = unsafe { CStr::from_ptr(found) }.to_bytes();
    if views::to_place(image, text).is_some() || views::to_backing(image, text).is_some() {
        return in_view();
    }
    if buffer.is_null() { copied(found) } else { Ok(found) }
}

fn canonical(
    image: &Image<'_>,
    path: *const c_char,
    buffer: *mut c_char,
) -> Result<*mut c_char, Errno> {
    let mut spelling = MmapBox::<Spelling>::blank()?;
    spelling.read(libc::AT_FDCWD, path)?;
    let mut place = MmapBox::<PathBuffer>::blank()?;
    let pinned = resolve::pin(image, &mut spelling, 0, &mut place);
    let judged = if pinned.is_ok() { place.as_bytes() } else { spelling.lexical() };
    if decide::metadata(image, &Request::canonical(judged)) != Verdict::Allow {
        return Err(Errno::ENOENT);
    }
    // Not the policy's form of the path, which has `/proc/self` for the process.
    fd_paths::of_descriptor(pinned?.raw(), &mut place)?;
    if place.as_bytes().first() != Some(&b'/') {
        return Err(Errno::ENOENT);
    }
    give(image, &mut place, buffer, libc::PATH_MAX as usize)
}

/// Copies a canonical path, as programs know it, to the program's `buffer`, or to new memory if that is null.
///
/// # Errors
/// `ERANGE` if it has no room; `ENOMEM`.
fn give(
    image: &Image<'_>,
    path: &mut PathBuffer,
    buffer: *mut c_char,
    room: usize,
) -> Result<*mut c_char, Errno> {
    if let Some(seen) = views::to_place(image, path.as_bytes()) {
        path.replace_start(seen.end, seen.target)?;
    }
    if path.len() >= room {
        return Err(Errno::ERANGE);
    }
    if buffer.is_null() {
        return copied(path.c_str(0).as_ptr());
    }
    let bytes = path.c_str(0).to_bytes_with_nul();
    // SAFETY: the program's buffer has that much room, as the function demands of it.
    unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(buffer)
}

/// A copy of the text for the program to free.
///
/// # Errors
/// `ENOMEM`.
fn copied(text: *const c_char) -> Result<*mut c_char, Errno> {
    let copy = libc_functions::jp_copy(text);
    if copy.is_null() { Err(Errno::ENOMEM) } else { Ok(copy) }
}

/// Replaces the text of a symlink in `/proc` that stands for an object by the path that programs know the object by.
/// `buffer` is the program's, and the kernel has written `length` bytes of the text there. Returns the new length.
///
/// # Errors
/// `ENOMEM`, `ENAMETOOLONG`.
pub(crate) fn shown_link(
    dirfd: c_int,
    path: *const c_char,
    (buffer, room): (*mut c_char, usize),
    length: usize,
) -> Result<usize, Errno> {
    let image = session::image()?;
    // SAFETY: the kernel has just written that much there.
    let text = unsafe { core::slice::from_raw_parts(buffer.cast::<u8>(), length) };
    if views::to_place(image, text).is_none() {
        return Ok(length);
    }
    shown_link_in_view(image, (dirfd, path), (buffer, room), length)
}

#[cold]
#[inline(never)]
fn shown_link_in_view(
    image: &Image<'_>,
    (dirfd, path): (c_int, *const c_char),
    (buffer, room): (*mut c_char, usize),
    length: usize,
) -> Result<usize, Errno> {
    let mut spelling = MmapBox::<Spelling>::blank()?;
    if spelling.read(dirfd, path).is_err() || !spelling.lexical().starts_with(b"/proc/") {
        return Ok(length);
    }
    let mut text = MmapBox::<PathBuffer>::blank()?;
    let name = spelling.text().c_str(0);
    text.fill(|bytes, room| sys::readlinkat(libc::AT_FDCWD, name, bytes, room))?;
    let Some(seen) = views::to_place(image, text.as_bytes()) else { return Ok(length) };
    text.replace_start(seen.end, seen.target)?;
    let length = text.len().min(room);
    // SAFETY: the kernel has written into the program's buffer of `room` bytes.
    unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(text.as_bytes().as_ptr(), length) };
    Ok(length)
}
