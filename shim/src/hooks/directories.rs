//! Hooks that list directories and change into them.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_engine::image::Image;

use crate::errno::{Errno, Reply};
#[cfg(target_os = "linux")]
use crate::hooks::linux::directories::scan;
#[cfg(target_os = "macos")]
use crate::hooks::macos::directories::scan;
use crate::hooks::metadata;
use crate::hooks::open::{How, open_at};
use crate::libc_functions;
use crate::sys::glob::{ABORTED, GlobTable, OWN_FUNCTIONS, has_known_table};
use crate::sys::next::Original;
use crate::sys::{Fd, process};
use crate::{session, working_directory};

pub(super) const LISTING: c_int =
    libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK;

/// Opens a directory for listing if the policy allows it.
pub(super) fn listing(call: &CStr, dirfd: c_int, path: *const c_char) -> Result<Fd, Errno> {
    open_at(call, dirfd, path, How::new(LISTING, 0)).map(Fd::adopt)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn opendir(path: *const c_char) -> *mut c_void {
    match listing(c"opendir", libc::AT_FDCWD, path) {
        Ok(directory) => stream(directory),
        Err(errno) => Err(errno).reply(),
    }
}

/// Wraps the directory in a stream. Returns null with `errno` set if that fails.
pub(super) fn stream(directory: Fd) -> *mut c_void {
    let stream = libc_functions::jp_fdopendir(directory.raw());
    if !stream.is_null() {
        directory.into_raw();
    }
    stream
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn scandir(
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    let directory = listing(c"scandir", libc::AT_FDCWD, path);
    directory.map(|directory| scan(directory, list, select, compare)).reply()
}

fn change(path: *const c_char) -> Result<(), Errno> {
    metadata::look(libc::AT_FDCWD, path, false, |_, path| {
        working_directory::change(|| process::change_directory(path))
    })
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

/// glob(3): calls libc's own, which lists directories through this library's hooks.
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
        // No hook sees what this lists. Another layer may.
        let is_held = session::image().is_ok_and(Image::holds_other_programs);
        return if is_held { original(pattern, flags, on_error, table) } else { ABORTED };
    }
    // SAFETY: the caller passes a table of its own, which libc relies on, too.
    let functions = unsafe { &mut *table };
    functions.open = opendir as *const c_void;
    functions.read = libc_functions::jp_readdir as *const c_void;
    functions.close = libc_functions::jp_closedir as *const c_void;
    functions.stat = metadata::stat as *const c_void;
    functions.lstat = metadata::lstat as *const c_void;
    original(pattern, flags | OWN_FUNCTIONS, on_error, table)
}
