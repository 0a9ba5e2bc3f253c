//! Hooks for temporary files and directories with generated names.

use core::ffi::{CStr, c_char, c_int};

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::entries;
use crate::hooks::open::{How, open_at};
use crate::{memory, sys};

/// How many letters are generated, and from which alphabet (mkstemp(3)).
const LETTERS: usize = 6;
const ALPHABET: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// How many names to try (`TMP_MAX` of glibc).
const ATTEMPTS: u32 = 238_328;

/// The index of the six X in a template that ends with `suffix` other bytes.
#[inline(never)]
fn place_of_letters(template: *const c_char, suffix: c_int) -> Result<usize, Errno> {
    let mut text = PathBuffer::new();
    memory::copy_path(template, &mut text)?;
    let suffix = usize::try_from(suffix).map_err(|_| Errno::EINVAL)?;
    let end = text.len().checked_sub(suffix).ok_or(Errno::EINVAL)?;
    let start = end.checked_sub(LETTERS).ok_or(Errno::EINVAL)?;
    let letters = text.as_bytes().get(start..end);
    if letters == Some(&[b'X'; LETTERS]) { Ok(start) } else { Err(Errno::EINVAL) }
}

/// Replaces the six X of a template with generated letters until `attempt` finds the name free.
pub(super) fn with_made_up_name<T>(
    template: *mut c_char,
    suffix: c_int,
    attempt: impl Fn(*const c_char) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let start = place_of_letters(template, suffix)?;
    for _ in 0..ATTEMPTS {
        let mut random = [0_u8; LETTERS];
        sys::random(&mut random)?;
        for (offset, byte) in random.into_iter().enumerate() {
            let letter = letter(byte);
            let at = template.cast::<u8>().wrapping_add(start).wrapping_add(offset);
            // SAFETY: the template is the caller's writable string, and this is one of its X.
            unsafe { at.write(letter) };
        }
        match attempt(template) {
            Err(Errno::EEXIST) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::EEXIST)
}

/// The letter of the alphabet for a random byte.
fn letter(byte: u8) -> u8 {
    let place = usize::from(byte).checked_rem(ALPHABET.len()).unwrap_or(0);
    ALPHABET.get(place).copied().unwrap_or(b'x')
}

pub(super) fn make_file(
    call: &CStr,
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
) -> Result<c_int, Errno> {
    make_file_at(call, libc::AT_FDCWD, template, suffix, flags)
}

pub(super) fn make_file_at(
    call: &CStr,
    dirfd: c_int,
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
) -> Result<c_int, Errno> {
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    with_made_up_name(template, suffix, |path| {
        open_at(call, dirfd, path, How::new(flags, 0o600).cancellable())
    })
}

macro_rules! make_file_family {
    ($($name:ident($($argument:ident),*): $suffix:expr, $flags:expr;)*) => {
        $(
            #[cfg_attr(target_os = "linux", unsafe(no_mangle))]
            pub(super) extern "C" fn $name(template: *mut c_char $(, $argument: c_int)*) -> c_int {
                make_file(c"mkstemp", template, $suffix, $flags).reply()
            }
        )*
    };
}

make_file_family! {
    mkstemp(): 0, 0;
    mkostemp(flags): 0, flags;
    mkstemps(suffix): suffix, 0;
    mkostemps(suffix, flags): suffix, flags;
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn mkdtemp(template: *mut c_char) -> *mut c_char {
    with_made_up_name(template, 0, |path| {
        entries::make_directory(c"mkdtemp", entries::Argument::here(path), 0o700)
    })
    .map(|()| template)
    .reply()
}
