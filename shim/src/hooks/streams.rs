//! Hooks for `FILE` streams. They are libc's own streams, on descriptors that the library opened.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::buffer::Buffer;
use crate::errno::{Errno, Reply};
use crate::hooks::open::{How, judge_reopen, open_at};
use crate::sys::next::Original;
use crate::sys::{self, Fd};
use crate::{libc_functions, memory};

/// The text of a mode, with room for a character set (`,ccs=NAME`).
pub(super) type ModeText = Buffer<128>;

/// The text before the name of a character set.
const CHARSET: &[u8] = b",ccs=";

/// A mode string of fopen(3).
struct Mode {
    text: ModeText,
    flags: c_int,
}

impl Mode {
    /// Parses a mode.
    ///
    /// # Errors
    /// `EFAULT`; `ENAMETOOLONG`; `EINVAL` if it begins with none of `r`, `w` and `a`.
    fn read(mode: *const c_char) -> Result<Self, Errno> {
        let mut text = ModeText::new();
        memory::copy_path(mode, &mut text)?;
        let (access, mut flags) = match text.as_bytes().first() {
            Some(b'r') => (libc::O_RDONLY, 0),
            Some(b'w') => (libc::O_WRONLY, libc::O_CREAT | libc::O_TRUNC),
            Some(b'a') => (libc::O_WRONLY, libc::O_CREAT | libc::O_APPEND),
            _ => return Err(Errno::EINVAL),
        };
        let letters = text.as_bytes().split(|&byte| byte == b',').next().unwrap_or(&[]);
        let both = letters.contains(&b'+');
        flags |= if both { libc::O_RDWR } else { access };
        if letters.contains(&b'x') {
            flags |= libc::O_EXCL;
        }
        if letters.contains(&b'e') {
            flags |= libc::O_CLOEXEC;
        }
        Ok(Self { text, flags })
    }

    /// Whether it names a character set. libc considers that only when it opens a file by path.
    fn has_charset(&self) -> bool {
        self.text.as_bytes().windows(CHARSET.len()).any(|part| part == CHARSET)
    }

    /// The mode without `x`, for opening the stand-in, which exists and cannot be created.
    fn of_stand_in(&self) -> ModeText {
        let mut text = ModeText::new();
        let (mut bytes, mut is_letter) = (self.text.as_bytes(), true);
        while let Some((byte, rest)) = bytes.split_first() {
            is_letter &= *byte != b',';
            if !is_letter || *byte != b'x' {
                // The result is not longer than the original.
                let _ = text.push(core::slice::from_ref(byte));
            }
            bytes = rest;
        }
        text
    }
}

/// musl does not allow cancelling a thread here.
fn opening(flags: c_int) -> How {
    let how = How::new(flags, 0o666);
    if libc_functions::cancels_in_streams() { how.cancellable() } else { how }
}

/// fopen(3).
///
/// # Errors
/// As fopen(3); `EACCES` or `ENOENT` if the policy denies it.
pub(super) fn open_stream(
    call: &CStr,
    path: *const c_char,
    mode: *const c_char,
) -> Result<*mut c_void, Errno> {
    let wanted = Mode::read(mode)?;
    let how = opening(wanted.flags);
    let fd = Fd::adopt(open_at(call, libc::AT_FDCWD, path, how)?);
    if wanted.has_charset() {
        return converting(&fd, &wanted);
    }
    let stream = libc_functions::jp_fdopen(fd.raw(), mode);
    if !stream.is_null() {
        fd.into_raw();
    }
    Ok(stream)
}

type Open = extern "C" fn(*const c_char, *const c_char) -> *mut c_void;

static FOPEN: Original = Original::new(c"fopen");

/// A stream on `opened` with the character set of its mode. Null, with libc's error, if there is no such set.
#[inline(never)] // keeps its stack out of an ordinary open
fn converting(opened: &Fd, wanted: &Mode) -> Result<*mut c_void, Errno> {
    let original = FOPEN.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Open>(original) };
    let stream = original(STAND_IN.as_ptr(), wanted.of_stand_in().c_str(0).as_ptr());
    if !stream.is_null() {
        stand_for(stream, opened, wanted)?;
    }
    Ok(stream)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    open_stream(c"fopen", path, mode).reply()
}

type Reopen = extern "C" fn(*const c_char, *const c_char, *mut c_void) -> *mut c_void;

static FREOPEN: Original = Original::new(c"freopen");

/// The file that libc opens for a stream that will get another descriptor. It opens in every mode, never waits and
/// never changes.
const STAND_IN: &CStr = c"/dev/null";

/// freopen(3): the library opens the path once, and replaces the descriptor of the file that libc opened. If opening
/// fails, libc must still close the stream, so it gets a name that does not exist.
fn reopen_stream(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
) -> Result<*mut c_void, Errno> {
    let original = FREOPEN.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Reopen>(original) };
    match Mode::read(mode).and_then(|wanted| reopened(path, wanted, stream)) {
        Ok(None) => Ok(original(path, mode, stream)),
        Ok(Some((opened, wanted))) => {
            let stream =
                original(STAND_IN.as_ptr(), wanted.of_stand_in().c_str(0).as_ptr(), stream);
            if !stream.is_null() {
                stand_for(stream, &opened, &wanted)?;
            }
            Ok(stream)
        }
        Err(errno) => {
            original(sys::NOWHERE.as_ptr(), c"r".as_ptr(), stream);
            Err(errno)
        }
    }
}

/// The file that the stream should get, and its mode. `None` if the stream keeps its own.
fn reopened(
    path: *const c_char,
    wanted: Mode,
    stream: *mut c_void,
) -> Result<Option<(Fd, Mode)>, Errno> {
    if path.is_null() {
        let fd = libc_functions::jp_fileno(stream);
        return judge_reopen(c"freopen", fd, How::new(wanted.flags, 0)).map(|()| None);
    }
    let fd = Fd::adopt(open_at(c"freopen", libc::AT_FDCWD, path, opening(wanted.flags))?);
    if wanted.flags & (libc::O_APPEND | libc::O_ACCMODE) == libc::O_APPEND | libc::O_WRONLY {
        // As libc does. A pipe has no end to seek to.
        let _ = sys::seek_to_end(&fd);
    }
    Ok(Some((fd, wanted)))
}

/// Puts `opened` under the stream's descriptor number.
fn stand_for(stream: *mut c_void, opened: &Fd, wanted: &Mode) -> Result<(), Errno> {
    let stood = Fd::adopt(libc_functions::jp_fileno(stream));
    let replaced = sys::replace(&stood, opened, wanted.flags & libc::O_CLOEXEC);
    stood.into_raw();
    replaced
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
) -> *mut c_void {
    reopen_stream(path, mode, stream).reply()
}
