//! Listing directories and changing into them.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_policy::image::Image;

use crate::errno::{Errno, Reply};
use crate::hooks::metadata;
use crate::hooks::open::{How, open_at};
use crate::libc_functions;
use crate::sys::glob::{ABORTED, GlobTable, OWN_FUNCTIONS, has_known_table};
use crate::sys::next::Original;
use crate::sys::{self, Fd, process};
use crate::{session, working_directory};

pub(super) const LISTING: c_int =
    libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;

/// A directory opened for listing, if that may be.
fn listing(call: &CStr, dirfd: c_int, path: *const c_char) -> Result<Fd, Errno> {
    open_at(call, dirfd, path, How::new(LISTING, 0)).map(Fd::adopt)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn opendir(path: *const c_char) -> *mut c_void {
    match listing(c"opendir", libc::AT_FDCWD, path) {
        Ok(fd) => {
            let stream = libc_functions::jp_fdopendir(fd.raw());
            if !stream.is_null() {
                fd.into_raw();
            }
            stream
        }
        Err(errno) => Err(errno).reply(),
    }
}

type Scan = extern "C" fn(*const c_char, *mut c_void, *const c_void, *const c_void) -> c_int;

static SCANDIR: Original = Original::new(c"scandir");

/// scandir(3): libc's own, on the directory that was judged.
pub(super) fn scan(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> Result<c_int, Errno> {
    let directory = listing(call, dirfd, path)?;
    let original = SCANDIR.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Scan>(original) };
    let name = sys::directory_name(&directory)?;
    Ok(original(name.as_c_str().as_ptr(), list, select, compare))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn scandir(
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    scan(c"scandir", libc::AT_FDCWD, path, list, select, compare).reply()
}

fn change(path: *const c_char) -> Result<(), Errno> {
    metadata::visible(libc::AT_FDCWD, path)?;
    working_directory::change(|| process::change_directory(path))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn chdir(path: *const c_char) -> c_int {
    change(path).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fchdir(fd: c_int) -> c_int {
    working_directory::change(|| process::change_directory_to(fd)).reply()
}

type Glob = extern "C" fn(*const c_char, c_int, *const c_void, *mut GlobTable) -> c_int;

static GLOB: Original = Original::new(c"glob");

/// glob(3): libc's own, listing directories through the hooks of this library.
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn glob(
    pattern: *const c_char,
    flags: c_int,
    on_error: *const c_void,
    table: *mut GlobTable,
) -> c_int {
    let Some(original) = GLOB.address() else { return ABORTED };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Glob>(original) };
    if flags & OWN_FUNCTIONS != 0 {
        return original(pattern, flags, on_error, table);
    }
    if !has_known_table() {
        // What that lists no hook sees. Another layer may.
        let is_held = session::image().is_ok_and(Image::holds_other_programs);
        return if is_held { original(pattern, flags, on_error, table) } else { ABORTED };
    }
    // SAFETY: glob's caller passes a table of its own, as libc relies on too.
    let functions = unsafe { &mut *table };
    functions.open = opendir as *const c_void;
    functions.read = libc_functions::jp_readdir as *const c_void;
    functions.close = libc_functions::jp_closedir as *const c_void;
    functions.stat = metadata::stat as *const c_void;
    functions.lstat = metadata::lstat as *const c_void;
    original(pattern, flags | OWN_FUNCTIONS, on_error, table)
}
