//! Extended attributes. Changes need `update`. The `user.` attributes are content, so reading them needs `read`.

use std::ffi::CString;
use std::os::fd::AsFd as _;

use jp_confine_engine::{Capabilities, set_id};
use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, getxattr, removexattr, setxattr};
use rustix::io::Errno;

use super::attributes::{At, AttributeTarget, on_descriptor, refuse_bits};
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::name_of;

/// The limits of `xattr(7)`.
const LONGEST_NAME: usize = 255;
const LARGEST_VALUE: u64 = 65536;

/// The prefix of attributes that are content. All others describe the file.
const OF_THE_USER: &[u8] = b"user.";

/// The size of `struct xattr_args` of setxattrat(2).
const ARGUMENTS_SIZE: u64 = 16;

/// An attribute to set.
struct Attribute {
    name: CString,
    value: Vec<u8>,
    flags: XattrFlags,
}

fn name(task: &Task<'_>, address: u64) -> Result<CString, Errno> {
    let name = task.caller.text(address).map_err(|errno| match errno {
        Errno::NAMETOOLONG => Errno::RANGE,
        errno => errno,
    })?;
    if (1..=LONGEST_NAME).contains(&name.count_bytes()) { Ok(name) } else { Err(Errno::RANGE) }
}

impl Attribute {
    fn read(
        task: &Task<'_>,
        name_at: u64,
        (value, size): (u64, u64),
        flags: u32,
    ) -> Result<Self, Errno> {
        if flags & !(XattrFlags::CREATE | XattrFlags::REPLACE).bits() != 0 {
            return Err(Errno::INVAL);
        }
        let name = name(task, name_at)?;
        if size > LARGEST_VALUE {
            return Err(Errno::TOOBIG);
        }
        let size = usize::try_from(size).map_err(|_| Errno::TOOBIG)?;
        let value = if size == 0 { Vec::new() } else { task.caller.bytes(value, size)? };
        Ok(Self { name, value, flags: XattrFlags::from_bits_retain(flags) })
    }

    /// Denies the attribute that gives a program capabilities.
    fn check(&self, task: &Task<'_>, object: &Object) -> Result<(), Errno> {
        let gives_capabilities = self.name.to_bytes() == set_id::CAPABILITY_ATTRIBUTE;
        if gives_capabilities { Err(refuse_bits(task, object)) } else { Ok(()) }
    }
}

impl At {
    fn check(self) -> Result<(), Errno> {
        let known = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
        if self.flags & !known == 0 { Ok(()) } else { Err(Errno::INVAL) }
    }
}

/// setxattr(2), lsetxattr(2).
pub(crate) fn set(
    task: &Task<'_>,
    at: At,
    name: u64,
    value: (u64, u64),
    flags: u32,
) -> Result<CallResult, Errno> {
    at.check()?;
    let attribute = Attribute::read(task, name, value, flags)?;
    let target = AttributeTarget::read_optional(task, at.dirfd, at.path, at.flags)?;
    let _acting = task.begin()?;
    let object = target.hold(task, at.flags)?;
    attribute.check(task, &object)?;
    let path = name_of(object.file.as_fd());
    setxattr(path, &attribute.name, &attribute.value, attribute.flags)
        .map(|()| CallResult::Value(0))
}

/// setxattrat(2).
pub(crate) fn set_at(
    task: &Task<'_>,
    at: At,
    name: u64,
    (arguments, size): (u64, u64),
) -> Result<CallResult, Errno> {
    let (value, size, flags) = arguments_of_at(task, arguments, size)?;
    set(task, at, name, (value, size), flags)
}

/// fsetxattr(2).
pub(crate) fn set_of(
    task: &Task<'_>,
    fd: i32,
    name: u64,
    value: (u64, u64),
    flags: u32,
) -> Result<CallResult, Errno> {
    let attribute = Attribute::read(task, name, value, flags)?;
    on_descriptor(task, fd, |object| {
        attribute.check(task, object)?;
        fsetxattr(&object.file, &attribute.name, &attribute.value, attribute.flags)
    })
}

/// getxattr(2), lgetxattr(2).
pub(crate) fn get(
    task: &Task<'_>,
    at: At,
    name_at: u64,
    (value_at, size): (u64, u64),
) -> Result<CallResult, Errno> {
    at.check()?;
    let name = name(task, name_at)?;
    let is_content = name.to_bytes().starts_with(OF_THE_USER);
    let need = Capabilities::NONE.with_if(is_content, Capabilities::READ);
    let target = AttributeTarget::read_optional(task, at.dirfd, at.path, at.flags)?;
    // A size of zero asks for the needed size.
    let room = if size == 0 { LARGEST_VALUE } else { size.min(LARGEST_VALUE) };
    let mut value = vec![0; usize::try_from(room).unwrap_or(0)];
    let acting = task.begin()?;
    let object = target.hold_for(task, at.flags, need)?;
    let length = getxattr(name_of(object.file.as_fd()), &name, value.as_mut_slice())?;
    // Writing to the caller's memory needs the supervisor's own rights.
    drop(acting);
    if size != 0 {
        task.caller.write(value_at, value.get(..length).unwrap_or_default())?;
    }
    Ok(CallResult::Value(i64::try_from(length).map_err(|_| Errno::OVERFLOW)?))
}

/// getxattrat(2).
pub(crate) fn get_at(
    task: &Task<'_>,
    at: At,
    name: u64,
    (arguments, size): (u64, u64),
) -> Result<CallResult, Errno> {
    let (value, size, flags) = arguments_of_at(task, arguments, size)?;
    if flags != 0 {
        return Err(Errno::INVAL);
    }
    get(task, at, name, (value, size))
}

/// The value's address and size, and the flags, from the structure of the newest calls.
fn arguments_of_at(task: &Task<'_>, at: u64, size: u64) -> Result<(u64, u64, u32), Errno> {
    if size != ARGUMENTS_SIZE {
        return Err(if size < ARGUMENTS_SIZE { Errno::INVAL } else { Errno::TOOBIG });
    }
    let [value, sizes] = task.caller.words(at)?;
    let flags = u32::try_from(sizes >> 32).unwrap_or(u32::MAX);
    Ok((value, sizes & u64::from(u32::MAX), flags))
}

/// removexattr(2), lremovexattr(2), removexattrat(2).
pub(crate) fn remove(task: &Task<'_>, at: At, name_at: u64) -> Result<CallResult, Errno> {
    at.check()?;
    let name = name(task, name_at)?;
    let target = AttributeTarget::read_optional(task, at.dirfd, at.path, at.flags)?;
    let _acting = task.begin()?;
    let object = target.hold(task, at.flags)?;
    removexattr(name_of(object.file.as_fd()), &name).map(|()| CallResult::Value(0))
}

/// fremovexattr(2).
pub(crate) fn remove_of(task: &Task<'_>, fd: i32, name_at: u64) -> Result<CallResult, Errno> {
    let name = name(task, name_at)?;
    on_descriptor(task, fd, |object| fremovexattr(&object.file, &name))
}
