//! Hooks for extended attributes. Changes need `update`. Attributes in the `user` namespace are content, and reading
//! them needs `read` (spec §5.2).

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use jp_confine_engine::{Capabilities, set_id};

use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::{metadata, object, set_id_bits};
use crate::memory;
use crate::sys::{self, Fd, word};

const UPDATE: Capabilities = Capabilities::UPDATE;

/// Makes a call that takes a path, on exactly the pinned object.
fn through_link(
    object: &Fd,
    act: impl FnOnce(usize) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let link = DescriptorLink::new(object.raw());
    act(link.as_c_str().as_ptr().expose_provenance())
}

/// Makes a call on a descriptor if its object may be updated.
fn on_descriptor(call: &CStr, fd: c_int, number: c_long, args: [usize; 5]) -> Result<(), Errno> {
    object::at_descriptor(call, fd, UPDATE)?;
    sys::judged(number, args).map(|_| ())
}

/// The capabilities that reading an extended attribute needs. Attributes in the `user` namespace are content; others
/// describe the file.
#[inline(never)]
fn need_to_read(name: *const c_char) -> Result<Option<Capabilities>, Errno> {
    let mut text = crate::buffer::PathBuffer::new();
    memory::copy_path(name, &mut text)?;
    Ok(text.as_bytes().starts_with(b"user.").then_some(Capabilities::READ))
}

/// Whether an attribute grants capabilities to a program.
#[inline(never)]
fn gives_capabilities(name: *const c_char) -> Result<bool, Errno> {
    let mut text = crate::buffer::PathBuffer::new();
    memory::copy_path(name, &mut text)?;
    Ok(text.as_bytes() == set_id::CAPABILITY_ATTRIBUTE)
}

fn set_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    rest: [usize; 4],
) -> Result<(), Errno> {
    let [name, value, size, flags] = rest;
    memory::check(name)?;
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, UPDATE)?;
    if gives_capabilities(core::ptr::with_exposed_provenance(name))? {
        return Err(set_id_bits::refuse_at(call, libc::AT_FDCWD, path));
    }
    through_link(&object, |link| sys::judged(libc::SYS_setxattr, [link, name, value, size, flags]))
        .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn setxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let rest = [name.expose_provenance(), value.expose_provenance(), size, word(flags)];
    set_attribute(c"setxattr", path, 0, rest).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lsetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let rest = [name.expose_provenance(), value.expose_provenance(), size, word(flags)];
    set_attribute(c"lsetxattr", path, libc::O_NOFOLLOW, rest).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fsetxattr(
    fd: c_int,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let value = value.expose_provenance();
    let set = || {
        object::at_descriptor(c"fsetxattr", fd, UPDATE)?;
        if gives_capabilities(name)? {
            return Err(set_id_bits::refuse_on(c"fsetxattr", fd));
        }
        let args = [word(fd), name.expose_provenance(), value, size, word(flags)];
        sys::judged(libc::SYS_fsetxattr, args).map(|_| ())
    };
    set().reply()
}

fn remove_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    name: *const c_char,
) -> Result<(), Errno> {
    memory::check(name.addr())?;
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, UPDATE)?;
    through_link(&object, |link| {
        sys::judged(libc::SYS_removexattr, [link, name.expose_provenance(), 0, 0, 0])
    })
    .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn removexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"removexattr", path, 0, name).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lremovexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"lremovexattr", path, libc::O_NOFOLLOW, name).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fremovexattr(fd: c_int, name: *const c_char) -> c_int {
    let args = [word(fd), name.expose_provenance(), 0, 0, 0];
    on_descriptor(c"fremovexattr", fd, libc::SYS_fremovexattr, args).reply()
}

fn read_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    name: *const c_char,
    buffer: [usize; 2],
) -> Result<usize, Errno> {
    let [value, size] = buffer;
    let name_at = name.expose_provenance();
    let Some(need) = need_to_read(name)? else {
        metadata::visible(libc::AT_FDCWD, path)?;
        let number = if follow == 0 { libc::SYS_getxattr } else { libc::SYS_lgetxattr };
        return sys::judged(number, [path.expose_provenance(), name_at, value, size, 0]);
    };
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, need)?;
    through_link(&object, |link| sys::judged(libc::SYS_getxattr, [link, name_at, value, size, 0]))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn getxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    read_attribute(c"getxattr", path, 0, name, [value.expose_provenance(), size]).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lgetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    let buffer = [value.expose_provenance(), size];
    read_attribute(c"lgetxattr", path, libc::O_NOFOLLOW, name, buffer).reply()
}

fn list_attributes(
    number: c_long,
    path: *const c_char,
    list: *mut c_char,
    size: usize,
) -> Result<usize, Errno> {
    metadata::visible(libc::AT_FDCWD, path)?;
    sys::call(number, [path.expose_provenance(), list.expose_provenance(), size, 0, 0, 0])
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn listxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(libc::SYS_listxattr, path, list, size).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn llistxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(libc::SYS_llistxattr, path, list, size).reply()
}
