//! Hooks for extended attributes. Changes need `update`. Attributes in the `user` namespace are content, and reading
//! them needs `read` (spec §5.2).

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use jp_confine_engine::{Capabilities, set_id};

use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::{attributes, metadata, object, set_id_bits};
use crate::memory;
use crate::sys::{self, word};

const UPDATE: Capabilities = Capabilities::UPDATE;

/// A path argument of a call, with its `AT_…` flags.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) dirfd: c_int,
    pub(super) path: *const c_char,
    pub(super) flags: c_int,
}

impl At {
    const fn object(path: *const c_char) -> Self {
        Self { dirfd: libc::AT_FDCWD, path, flags: 0 }
    }

    const fn symlink(path: *const c_char) -> Self {
        Self { dirfd: libc::AT_FDCWD, path, flags: libc::AT_SYMLINK_NOFOLLOW }
    }

    /// The path, or none if the call is about the descriptor.
    ///
    /// # Errors
    /// `EFAULT`; `EINVAL` for unknown flags.
    fn path(self) -> Result<Option<*const c_char>, Errno> {
        if self.flags & !(libc::AT_SYMLINK_NOFOLLOW | sys::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let is_left_out = self.path.is_null() && sys::may_be_empty(self.flags);
        let path = if is_left_out { c"".as_ptr() } else { self.path };
        attributes::path_of(self.dirfd, path, self.flags)
    }

    /// Makes a call that takes a path, on exactly the object, if `need` is granted on it.
    fn act(
        self,
        call: &CStr,
        need: Capabilities,
        act: impl FnOnce(usize) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let on_link =
            |fd: c_int| act(DescriptorLink::new(fd).as_c_str().as_ptr().expose_provenance());
        let Some(path) = self.path()? else {
            object::at_descriptor(call, self.dirfd, need)?;
            return on_link(self.dirfd);
        };
        let follow = attributes::nofollow(self.flags);
        let object = object::at_path(call, self.dirfd, path, follow, need)?;
        on_link(object.raw())
    }

    /// Reports an attempt to give a program capabilities.
    #[cold]
    fn refuse(self, call: &CStr) -> Errno {
        match self.path() {
            Ok(None) => set_id_bits::refuse_on(call, self.dirfd),
            Ok(Some(path)) => set_id_bits::refuse_at(call, self.dirfd, path),
            Err(errno) => errno,
        }
    }
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

/// Sets an attribute to a value with this address, size and flags.
pub(super) fn set_attribute(
    call: &CStr,
    at: At,
    name: *const c_char,
    [value, size, flags]: [usize; 3],
) -> Result<(), Errno> {
    memory::check(name.addr())?;
    at.act(call, UPDATE, |link| {
        if gives_capabilities(name)? {
            return Err(at.refuse(call));
        }
        sys::judged(libc::SYS_setxattr, [link, name.expose_provenance(), value, size, flags])
    })
    .map(|_| ())
}

#[unsafe(no_mangle)]
extern "C" fn setxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let value = [value.expose_provenance(), size, word(flags)];
    set_attribute(c"setxattr", At::object(path), name, value).reply()
}

#[unsafe(no_mangle)]
extern "C" fn lsetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let value = [value.expose_provenance(), size, word(flags)];
    set_attribute(c"lsetxattr", At::symlink(path), name, value).reply()
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

pub(super) fn remove_attribute(call: &CStr, at: At, name: *const c_char) -> Result<(), Errno> {
    memory::check(name.addr())?;
    at.act(call, UPDATE, |link| {
        sys::judged(libc::SYS_removexattr, [link, name.expose_provenance(), 0, 0, 0])
    })
    .map(|_| ())
}

#[unsafe(no_mangle)]
extern "C" fn removexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"removexattr", At::object(path), name).reply()
}

#[unsafe(no_mangle)]
extern "C" fn lremovexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"lremovexattr", At::symlink(path), name).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fremovexattr(fd: c_int, name: *const c_char) -> c_int {
    let args = [word(fd), name.expose_provenance(), 0, 0, 0];
    on_descriptor(c"fremovexattr", fd, libc::SYS_fremovexattr, args).reply()
}

pub(super) fn read_attribute(
    call: &CStr,
    at: At,
    name: *const c_char,
    [value, size]: [usize; 2],
) -> Result<usize, Errno> {
    let name_at = name.expose_provenance();
    let Some(need) = need_to_read(name)? else {
        let number = if at.flags == 0 { libc::SYS_getxattr } else { libc::SYS_lgetxattr };
        return metadata::look(at.dirfd, at.path, at.flags != 0, |_, path| {
            sys::judged(number, [path.expose_provenance(), name_at, value, size, 0])
        });
    };
    at.act(call, need, |link| sys::judged(libc::SYS_getxattr, [link, name_at, value, size, 0]))
}

#[unsafe(no_mangle)]
extern "C" fn getxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    let value = [value.expose_provenance(), size];
    read_attribute(c"getxattr", At::object(path), name, value).reply()
}

#[unsafe(no_mangle)]
extern "C" fn lgetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    let value = [value.expose_provenance(), size];
    read_attribute(c"lgetxattr", At::symlink(path), name, value).reply()
}

pub(super) fn list_attributes(at: At, list: *mut c_char, size: usize) -> Result<usize, Errno> {
    let number = if at.flags == 0 { libc::SYS_listxattr } else { libc::SYS_llistxattr };
    metadata::look(at.dirfd, at.path, at.flags != 0, |_, path| {
        sys::call(number, [path.expose_provenance(), list.expose_provenance(), size, 0, 0, 0])
    })
}

#[unsafe(no_mangle)]
extern "C" fn listxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(At::object(path), list, size).reply()
}

#[unsafe(no_mangle)]
extern "C" fn llistxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(At::symlink(path), list, size).reply()
}
