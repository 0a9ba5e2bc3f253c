//! The login records (utmpname(3), updwtmp(3)), in files that the program names.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_policy::Capabilities;

use crate::errno::{Errno, Reply};
use crate::hooks::object;
use crate::places::DescriptorLink;
use crate::sys::Fd;
use crate::sys::next::Original;

/// libc reads the records and rewrites them.
const NEED: Capabilities = Capabilities::READ.union(Capabilities::UPDATE);

static UTMPNAME: Original = Original::new(c"utmpname");
static UPDWTMP: Original = Original::new(c"updwtmp");

type Choose = extern "C" fn(*const c_char) -> c_int;
type Append = extern "C" fn(*const c_char, *const c_void);

fn judged(call: &CStr, path: *const c_char, original: &Original) -> Result<(Fd, usize), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, 0, NEED)?;
    Ok((object, original.address().ok_or(Errno::EACCES)?))
}

/// libc remembers the name for later calls.
fn choose(path: *const c_char) -> Result<c_int, Errno> {
    let (_, original) = judged(c"utmpname", path, &UTMPNAME)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Choose>(original) };
    Ok(original(path))
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
