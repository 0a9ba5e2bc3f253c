//! `FILE` streams: libc's own, on descriptors that were opened here.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::buffer::Buffer;
use crate::errno::{Errno, Reply};
use crate::hooks::open::{How, judge_reopen, open_at};
use crate::places::DescriptorLink;
use crate::sys::next::Original;
use crate::sys::{self, Fd};
use crate::{libc_functions, memory};

/// The text of a mode, with room for a character set (`,ccs=NAME`).
pub(super) type ModeText = Buffer<128>;

/// A mode string of fopen(3).
struct Mode {
    text: ModeText,
    flags: c_int,
}

impl Mode {
    /// # Errors
    /// `EFAULT`, or `EINVAL` where it begins with none of `r`, `w` and `a`; `ENAMETOOLONG`.
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

    /// The letter that says how, and the plus sign: for reopening what is open already.
    fn plain(&self) -> [u8; 4] {
        let mut plain = [0; 4];
        let letters = self.text.as_bytes();
        let kept = letters.iter().filter(|byte| matches!(byte, b'r' | b'w' | b'a' | b'+' | b'e'));
        for (to, &from) in plain.iter_mut().take(3).zip(kept) {
            *to = from;
        }
        plain
    }
}

/// musl does not let a thread be cancelled here.
fn opening(flags: c_int) -> How {
    let how = How::new(flags, 0o666);
    if libc_functions::cancels_in_streams() { how.cancellable() } else { how }
}

/// fopen(3).
///
/// # Errors
/// As fopen(3); `EACCES` or `ENOENT` where the policy refuses.
pub(super) fn open_stream(
    call: &CStr,
    path: *const c_char,
    mode: *const c_char,
) -> Result<*mut c_void, Errno> {
    let wanted = Mode::read(mode)?;
    let how = opening(wanted.flags);
    let fd = Fd::adopt(open_at(call, libc::AT_FDCWD, path, how)?);
    let stream = libc_functions::jp_fdopen(fd.raw(), mode);
    if !stream.is_null() {
        fd.into_raw();
    }
    Ok(stream)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    open_stream(c"fopen", path, mode).reply()
}

type Reopen = extern "C" fn(*const c_char, *const c_char, *mut c_void) -> *mut c_void;

static FREOPEN: Original = Original::new(c"freopen");

/// freopen(3): the path is opened here, and libc reopens that very object. Where that fails libc
/// must still close the stream, so it is given a name that does not exist.
fn reopen_stream(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
) -> Result<*mut c_void, Errno> {
    let original = FREOPEN.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Reopen>(original) };
    let wanted = Mode::read(mode)?;
    let opened = if path.is_null() {
        let fd = libc_functions::jp_fileno(stream);
        judge_reopen(c"freopen", fd, How::new(wanted.flags, 0)).map(|()| None)
    } else {
        open_at(c"freopen", libc::AT_FDCWD, path, opening(wanted.flags))
            .map(|fd| Some(Fd::adopt(fd)))
    };
    let plain = wanted.plain();
    let mode_again = plain.as_ptr().cast();
    match opened {
        Ok(None) => Ok(original(path, mode, stream)),
        Ok(Some(fd)) => {
            let link = DescriptorLink::new(fd.raw());
            Ok(original(link.as_c_str().as_ptr(), mode_again, stream))
        }
        Err(errno) => {
            original(sys::NOWHERE.as_ptr(), mode_again, stream);
            Err(errno)
        }
    }
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
) -> *mut c_void {
    reopen_stream(path, mode, stream).reply()
}
