//! Hooks for the login records (getutent(3), updwtmp(3)), in files that the program names or libc knows.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use jp_confine_engine::Capabilities;

use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::guard::{granted, guards, minus_one, null, zero};
use crate::hooks::object;
use crate::sys::Fd;
use crate::sys::next::Original;

const READ: Capabilities = Capabilities::READ;
/// libc reads the records and rewrites them.
const REWRITE: Capabilities = Capabilities::READ.union(Capabilities::UPDATE);

/// The default file of getutent(3), which utmpname(3) changes, and the file that logwtmp(3) appends to (paths.h).
const LOGINS: &CStr = c"/var/run/utmp";
const LOGIN_HISTORY: &CStr = c"/var/log/wtmp";

static UTMPNAME: Original = Original::new(c"utmpname");
static UPDWTMP: Original = Original::new(c"updwtmp");

/// The file that the program named, pinned as long as libc may open it by that name; -1 for none.
static CHOSEN: AtomicI32 = AtomicI32::new(-1);

type Choose = extern "C" fn(*const c_char) -> c_int;
type Append = extern "C" fn(*const c_char, *const c_void);

fn judged(call: &CStr, path: *const c_char, original: &Original) -> Result<(Fd, usize), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, 0, REWRITE)?;
    Ok((object, original.address().ok_or(Errno::EACCES)?))
}

/// libc remembers the name for later calls, so it gets one that leads to exactly this file.
fn choose(path: *const c_char) -> Result<c_int, Errno> {
    let (object, original) = judged(c"utmpname", path, &UTMPNAME)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Choose>(original) };
    let outcome = original(DescriptorLink::new(object.raw()).as_c_str().as_ptr());
    let before = CHOSEN.swap(object.into_raw(), Ordering::AcqRel);
    if before >= 0 {
        drop(Fd::adopt(before));
    }
    Ok(outcome)
}

fn append(path: *const c_char, record: *const c_void) -> Result<(), Errno> {
    let (object, original) = judged(c"updwtmp", path, &UPDWTMP)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Append>(original) };
    original(DescriptorLink::new(object.raw()).as_c_str().as_ptr(), record);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn utmpname(path: *const c_char) -> c_int {
    choose(path).reply()
}

#[unsafe(no_mangle)]
extern "C" fn utmpxname(path: *const c_char) -> c_int {
    choose(path).reply()
}

#[unsafe(no_mangle)]
extern "C" fn updwtmp(path: *const c_char, record: *const c_void) {
    let _: c_int = append(path, record).reply();
}

#[unsafe(no_mangle)]
extern "C" fn updwtmpx(path: *const c_char, record: *const c_void) {
    let _: c_int = append(path, record).reply();
}

/// Whether libc may use the login file: the one that the program chose, or its own.
fn logins(need: Capabilities) -> Result<(), Errno> {
    if CHOSEN.load(Ordering::Acquire) >= 0 {
        return Ok(());
    }
    granted(c"getutent", LOGINS.as_ptr(), need)
}

fn history() -> Result<(), Errno> {
    granted(c"logwtmp", LOGIN_HISTORY.as_ptr(), REWRITE)
}

guards! {
    setutent(): logins(READ) => zero;
    setutxent(): logins(READ) => zero;
    getutent(): logins(READ) => null;
    getutxent(): logins(READ) => null;
    getutent_r(): logins(READ) => minus_one;
    getutid(): logins(READ) => null;
    getutxid(): logins(READ) => null;
    getutid_r(): logins(READ) => minus_one;
    getutline(): logins(READ) => null;
    getutxline(): logins(READ) => null;
    getutline_r(): logins(READ) => minus_one;
    pututline(): logins(REWRITE) => null;
    pututxline(): logins(REWRITE) => null;
    login(): logins(REWRITE).and_then(|()| history()) => zero;
    logout(): logins(REWRITE) => zero;
    logwtmp(): history() => zero;
}
