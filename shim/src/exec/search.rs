//! Finds a program along `PATH`, as execvp(3) does.

use core::ffi::c_char;

use super::SHORT;
use super::reader::Reader;
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
use crate::sys::process::Strings;
use crate::{memory, sys};

/// The search path without a `PATH` (confstr(3), `_CS_PATH`).
const DEFAULT: *const c_char = c"/bin:/usr/bin".as_ptr();

/// The caller's environment, which POSIX prescribes for exec functions without `envp`.
pub(crate) fn environ() -> Strings {
    sys::startup::environ()
}

/// Calls `attempt` with each path that `file` may stand for, until one ends the search. Returns only on error, as the
/// attempts do.
pub(crate) fn along_path(
    file: *const c_char,
    attempt: impl FnMut(*const c_char) -> Errno,
) -> Errno {
    along(file, None, attempt)
}

/// Like [`along_path`], but along the elements of `list` if given.
pub(crate) fn along(
    file: *const c_char,
    list: Option<*const c_char>,
    mut attempt: impl FnMut(*const c_char) -> Errno,
) -> Errno {
    match Reader::new().contains(file, b'/') {
        Ok(true) => attempt(file),
        Ok(false) => search(file, list, &mut attempt).unwrap_or_else(|errno| errno),
        Err(errno) => errno,
    }
}

/// The longest name of a file that execvp(3) looks for (`NAME_MAX`), with its NUL.
const NAME: usize = 256;

fn search(
    file: *const c_char,
    list: Option<*const c_char>,
    attempt: &mut impl FnMut(*const c_char) -> Errno,
) -> Result<Errno, Errno> {
    let mut name = Buffer::<NAME>::new();
    memory::copy_path(file, &mut name)?;
    if name.len() == 0 {
        return Err(Errno::ENOENT);
    }
    let mut refused = None;
    let mut reader = Reader::new();
    let list = match list {
        Some(list) => list,
        None => variable(&mut reader, b"PATH=")?.unwrap_or(DEFAULT),
    };
    let mut at = 0_usize;
    loop {
        let (element, answer) = match near_candidate(&mut reader, (list, at), &name, attempt)? {
            (_, None) => {
                let mut path = MmapBox::<PathBuffer>::blank()?;
                candidate(&mut reader, (list, at), &name, &mut path, attempt)?
            }
            attempted => attempted,
        };
        match answer {
            Some(Errno::EACCES) => refused = Some(Errno::EACCES),
            // A file server that does not answer causes the last three.
            None
            | Some(
                Errno::ENOENT
                | Errno::ENOTDIR
                | Errno(libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT),
            ) => {}
            Some(errno) => return Ok(errno),
        }
        if element.last {
            return Ok(refused.unwrap_or(Errno::ENOENT));
        }
        at = element.end.saturating_add(1);
    }
}

/// Like [`candidate`], for a short path.
#[inline(never)]
fn near_candidate(
    reader: &mut Reader,
    place: (*const c_char, usize),
    name: &Buffer<NAME>,
    attempt: &mut impl FnMut(*const c_char) -> Errno,
) -> Result<(Element, Option<Errno>), Errno> {
    candidate(reader, place, name, &mut Buffer::<SHORT>::new(), attempt)
}

/// Tries `name` in the list element that begins at the given index. Returns no answer if the path does not fit in
/// `path`.
fn candidate<const N: usize>(
    reader: &mut Reader,
    (list, at): (*const c_char, usize),
    name: &Buffer<NAME>,
    path: &mut Buffer<N>,
    attempt: &mut impl FnMut(*const c_char) -> Errno,
) -> Result<(Element, Option<Errno>), Errno> {
    let element = element(reader, list, at, path)?;
    let fits = element.fits && path.push(name.as_bytes()).is_ok();
    let answer = fits.then(|| attempt(path.c_str(0).as_ptr()));
    Ok((element, answer))
}

/// One entry of `PATH`.
pub(crate) struct Element {
    pub(crate) end: usize,
    pub(crate) last: bool,
    /// It fitted. An element that is longer than any path leads nowhere.
    pub(crate) fits: bool,
}

/// Copies the element of `list` that begins at `at` to `to`, with a slash for a name to follow. An empty element means
/// the working directory.
///
/// # Errors
/// `EFAULT`.
pub(crate) fn element<const N: usize>(
    reader: &mut Reader,
    list: *const c_char,
    at: usize,
    to: &mut Buffer<N>,
) -> Result<Element, Errno> {
    let mut element = Element { end: at, last: false, fits: true };
    loop {
        match reader.byte(list, element.end)? {
            b':' => break,
            0 => {
                element.last = true;
                break;
            }
            byte => element.fits &= to.push(&[byte]).is_ok(),
        }
        element.end = element.end.saturating_add(1);
    }
    if element.end > at {
        element.fits &= to.push(b"/").is_ok();
    }
    Ok(element)
}

/// The value of a variable in the caller's environment.
fn variable(reader: &mut Reader, name: &[u8]) -> Result<Option<*const c_char>, Errno> {
    find(reader, name).map(|found| found.map(|(_, value)| value))
}

/// The index of a variable in the environment, and its value.
fn find(reader: &mut Reader, name: &[u8]) -> Result<Option<(usize, *const c_char)>, Errno> {
    let environ = environ();
    let mut index = 0_usize;
    loop {
        let entry = reader.string(environ, index)?;
        if entry.is_null() {
            return Ok(None);
        }
        if let Some(value) = reader.after(entry, name)? {
            return Ok(Some((index, value)));
        }
        index = index.saturating_add(1);
    }
}

/// The value of the caller's variable whose name, with `=`, is `name`.
///
/// # Errors
/// `EFAULT`.
#[cfg(target_os = "linux")]
pub(crate) fn value(name: &[u8]) -> Result<Option<*const c_char>, Errno> {
    variable(&mut Reader::new(), name)
}

/// Removes a variable from the caller's environment, as unsetenv(3) does.
///
/// # Errors
/// `EFAULT`.
#[cfg(target_os = "linux")]
pub(crate) fn forget(name: &[u8]) -> Result<(), Errno> {
    let mut reader = Reader::new();
    while let Some((index, _)) = find(&mut reader, name)? {
        let mut to = environ().cast_mut().wrapping_add(index);
        loop {
            // SAFETY: the list is the program's own, and was read up to this entry.
            let next = unsafe { to.wrapping_add(1).read() };
            // SAFETY: libc's own functions write to that list too.
            unsafe { to.write(next) };
            if next.is_null() {
                break;
            }
            to = to.wrapping_add(1);
        }
    }
    Ok(())
}
