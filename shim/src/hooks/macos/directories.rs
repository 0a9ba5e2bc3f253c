//! Lists directories with libSystem's functions.

use core::ffi::{c_char, c_int, c_void};

use crate::errno::{Errno, Reply};
use crate::sys::next::Original;
use crate::sys::{self, Fd};

type Scan = extern "C" fn(*const c_char, *mut c_void, *const c_void, *const c_void) -> c_int;

static SCANDIR: Original = Original::new(c"scandir");

/// scandir(3): libSystem's own, on the judged directory.
pub(in crate::hooks) fn scan(
    directory: Fd,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    let scanned = || {
        let original = SCANDIR.address().ok_or(Errno::EACCES)?;
        // SAFETY: the address is that of libSystem's function of this name and type.
        let original = unsafe { core::mem::transmute::<usize, Scan>(original) };
        let name = sys::directory_name(&directory)?;
        Ok::<_, Errno>(original(name.as_c_str().as_ptr(), list, select, compare))
    };
    scanned().reply()
}
