//! Guards for libc functions that open files inside libc, where no hook sees it. A guard judges the file first. Then
//! libc's own function runs, or nothing happens.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_engine::Capabilities;

use crate::errno::Errno;
use crate::hooks::object;
use crate::sys;
use crate::sys::next::Original;

/// Exports functions that evaluate `$judge`. If allowed, they continue in libc's own function of the same name;
/// otherwise in `$refused`, which only returns a value.
macro_rules! guards {
    ($($name:ident($($argument:ident: $kind:ty),*): $judge:expr => $refused:expr;)*) => {$(
        const _: () = {
            static ORIGINAL: $crate::sys::next::Original = $crate::sys::next::Original::new(
                $crate::hooks::guard::c_name(concat!(stringify!($name), "\0")),
            );

            extern "C" fn choose($($argument: $kind),*) -> usize {
                $crate::hooks::guard::onward($judge, &ORIGINAL, $refused as *const ())
            }

            $crate::hooks::tail::tail_jumps! { $name => choose; }
        };
    )*};
}
pub(super) use guards;

/// The name of a function, from a text that ends with a NUL.
pub(super) const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// The address to continue at: libc's own function, or `refused` with `errno` set.
pub(super) fn onward(judged: Result<(), Errno>, original: &Original, refused: *const ()) -> usize {
    match judged.and_then(|()| original.address().ok_or(Errno::ENOSYS)) {
        Ok(address) => address,
        Err(errno) => {
            errno.set();
            refused.expose_provenance()
        }
    }
}

/// Returns null.
pub(super) extern "C" fn null() -> *mut c_void {
    core::ptr::null_mut()
}

/// Returns zero, for a function with or without a result.
pub(super) extern "C" fn zero() -> c_int {
    0
}

/// Returns -1, as a number or a handle.
pub(super) extern "C" fn minus_one() -> isize {
    -1
}

/// Whether `need` is granted on the object that `path` leads to. A missing object is fine, because libc will not find
/// it either.
///
/// # Errors
/// `EACCES` or `ENOENT` if the policy denies it; the kernel's errors.
pub(super) fn granted(call: &CStr, path: *const c_char, need: Capabilities) -> Result<(), Errno> {
    match object::for_libc(call, path, need) {
        Err(Errno::ENOENT) if is_absent(path) => Ok(()),
        settled => settled.map(|_| ()),
    }
}

/// Whether nothing is at `path`, which was found readable.
fn is_absent(path: *const c_char) -> bool {
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let arguments =
        [sys::word(libc::AT_FDCWD), path.expose_provenance(), sys::word(flags), 0, 0, 0];
    match sys::call(libc::SYS_openat, arguments) {
        Ok(fd) => {
            sys::close(c_int::try_from(fd).unwrap_or(-1));
            false
        }
        Err(errno) => errno == Errno::ENOENT,
    }
}
