//! Guards for system files that libc opens by itself: files with secrets, and files that it writes.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::exec::search;
use crate::hooks::guard::{granted, guards, minus_one, null, zero};
use crate::hooks::open::{How, open_at};
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::Fd;
use crate::{memory, resolve, session};

/// The files of getspnam(3) and of getsgnam, shadow(5) and gshadow(5).
const SHADOW: &CStr = c"/etc/shadow";
const GROUP_SHADOW: &CStr = c"/etc/gshadow";
/// The files of lckpwdf(3) and sethostid(3).
const PASSWORD_LOCK: &CStr = c"/etc/.pwd.lock";
const HOST_ID: &CStr = c"/etc/hostid";

guards! {
    getspent(): readable(SHADOW) => null;
    getspnam(): readable(SHADOW) => null;
    setspent(): readable(SHADOW) => zero;
    getsgent(): readable(GROUP_SHADOW) => null;
    getsgnam(): readable(GROUP_SHADOW) => null;
    setsgent(): readable(GROUP_SHADOW) => zero;

    // The functions of libc's own name service, by their second names. -1 is `NSS_STATUS_UNAVAIL`.
    _nss_files_getspent_r(): readable(SHADOW) => minus_one;
    _nss_files_getspnam_r(): readable(SHADOW) => minus_one;
    _nss_files_setspent(): readable(SHADOW) => minus_one;
    _nss_files_getsgent_r(): readable(GROUP_SHADOW) => minus_one;
    _nss_files_getsgnam_r(): readable(GROUP_SHADOW) => minus_one;
    _nss_files_setsgent(): readable(GROUP_SHADOW) => minus_one;
    __nss_files_data_open(_data: usize, _file: c_int, path: *const c_char):
        granted(c"__nss_files_data_open", path, Capabilities::READ) => minus_one;

    lckpwdf(): writable(PASSWORD_LOCK) => minus_one;
    sethostid(): writable(HOST_ID) => minus_one;

    // As if no password were found.
    ruserpass(): network_passwords() => zero;
    rexec(): network_passwords() => minus_one;
    rexec_af(): network_passwords() => minus_one;

    _mcleanup(): profile() => zero;
    mtrace(): allocation_trace() => zero;
}

/// Guards for the reentrant functions, which store their result at the caller's address. A denial stores nothing there
/// and returns an error number.
macro_rules! reentrant {
    ($($name:ident($($argument:ident: $kind:ty),*), $result:ident: $path:expr => $refused:ident;)*) => {
        $(
            extern "C" fn $refused($($argument: $kind),*) -> c_int {
                no_entry($result)
            }
        )*
        guards! {
            $($name(): readable($path) => $refused;)*
        }
    };
}

reentrant! {
    getspent_r(_entry: usize, _text: usize, _len: usize, result: *mut usize), result: SHADOW => no_next_shadow;
    getspnam_r(_name: usize, _entry: usize, _text: usize, _len: usize, result: *mut usize), result:
        SHADOW => no_such_shadow;
    getsgent_r(_entry: usize, _text: usize, _len: usize, result: *mut usize), result:
        GROUP_SHADOW => no_next_group;
    getsgnam_r(_name: usize, _entry: usize, _text: usize, _len: usize, result: *mut usize), result:
        GROUP_SHADOW => no_such_group;
}

/// Reports that there is no entry, and why.
fn no_entry(result: *mut usize) -> c_int {
    if memory::check(result.addr()).is_ok() {
        // SAFETY: the caller's variable for the result, which was found to be mapped.
        unsafe { result.write(0) };
    }
    libc::EACCES
}

fn readable(path: &CStr) -> Result<(), Errno> {
    granted(c"open", path.as_ptr(), Capabilities::READ)
}

/// A file that libc opens for writing, and creates if needed. This guard opens it first.
fn writable(path: &CStr) -> Result<(), Errno> {
    made(path.as_ptr(), 0o600)
}

fn made(path: *const c_char, mode: u32) -> Result<(), Errno> {
    let how = How::new(libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, mode);
    open_at(c"open", libc::AT_FDCWD, path, how).map(Fd::adopt).map(|_| ())
}

/// `~/.netrc` in the directory that the program calls its home.
fn network_passwords() -> Result<(), Errno> {
    let Some(home) = search::value(b"HOME=")? else { return Ok(()) };
    let mut path = MmapBox::<PathBuffer>::blank()?;
    memory::copy_path(home, &mut path)?;
    path.push(b"/.netrc")?;
    granted(c"ruserpass", path.c_str(0).as_ptr(), Capabilities::READ)
}

/// `gmon.out` in the working directory, created or written without following a symlink. The program cannot choose
/// another name: exec drops the variable for it (`exec::environment`), and this removes it here, too.
fn profile() -> Result<(), Errno> {
    const CALL: &CStr = c"_mcleanup";
    search::forget(b"GMON_OUT_PREFIX=")?;
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read_own(libc::AT_FDCWD, b"gmon.out")?;
    let entry = resolve::entry(image, &mut spelling)?.ok_or(Errno::EISDIR)?;
    let need = Capabilities::CREATE.union(Capabilities::UPDATE);
    let verdict = decide::access(image, &entry.request(), need);
    report::apply_verdict(image, verdict, Subject::new(CALL, entry.path()))
}

/// The file that mtrace(3) writes to.
fn allocation_trace() -> Result<(), Errno> {
    search::value(b"MALLOC_TRACE=")?.map_or(Ok(()), |path| made(path, 0o666))
}
