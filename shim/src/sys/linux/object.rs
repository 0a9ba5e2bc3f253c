//! Calls on a pinned object, or on an entry of a pinned directory. So the kernel changes exactly what a hook judged.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::calls::only_judged;
use super::{call, call_out, fstat, judged, openat, unjudged, word};
use crate::errno::Errno;
use crate::fd_paths::DescriptorLink;
use crate::sys::Fd;

/// An object that an `O_PATH` descriptor pins.
pub(crate) type Object = Fd;

/// The `AT_` flag for "the descriptor itself" with an empty path.
pub(crate) const EMPTY_PATH: c_int = libc::AT_EMPTY_PATH;

/// Whether these flags allow an empty path.
pub(crate) const fn may_be_empty(flags: c_int) -> bool {
    flags & EMPTY_PATH != 0
}

/// The flags of [`rename`].
pub(crate) const RENAME_NOREPLACE: c_uint = libc::RENAME_NOREPLACE;
pub(crate) const RENAME_EXCHANGE: c_uint = libc::RENAME_EXCHANGE;

const EMPTY: &CStr = c"";

/// fchmodat2(2), which libc's headers do not define yet.
pub(crate) const FCHMODAT2: core::ffi::c_long = 452;

fn address(text: &CStr) -> usize {
    text.as_ptr().expose_provenance()
}

/// Makes a call that takes a path, on exactly the pinned object.
fn through_link(
    object: &Object,
    act: impl FnOnce(usize) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    act(address(DescriptorLink::new(object.raw()).as_c_str())).map(|_| ())
}

/// stat(2) of the object, even if it is a symlink.
pub(crate) fn status(object: &Object) -> Result<libc::stat, Errno> {
    fstat(object.raw())
}

/// Flags that pin a directory.
pub(crate) const HOLD_DIRECTORY: c_int = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// Opens the object again.
pub(crate) fn reopen(object: &Object, flags: c_int) -> Result<Fd, Errno> {
    openat(libc::AT_FDCWD, DescriptorLink::new(object.raw()).as_c_str(), flags, 0)
}

/// Looks for an entry of that name, even a dangling symlink. The error says why there is none.
pub(crate) fn find(dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    openat(dirfd, name, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC, 0).map(|_| ())
}

/// stat(2) of the entry of that name, even if it is a symlink.
pub(crate) fn look(dirfd: c_int, name: &CStr) -> Result<libc::stat, Errno> {
    fstat(openat(dirfd, name, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC, 0)?.raw())
}

/// Whether the entry of that name is a directory.
pub(crate) fn is_directory(dirfd: c_int, name: &CStr) -> bool {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_CLOEXEC;
    openat(dirfd, name, flags, 0).is_ok()
}

/// truncate(2).
pub(crate) fn truncate(object: &Object, length: i64) -> Result<(), Errno> {
    let length = usize::try_from(length.cast_unsigned()).map_err(|_| Errno::EINVAL)?;
    through_link(object, |link| judged(libc::SYS_truncate, [link, length, 0, 0, 0]))
}

/// chmod(2). A symlink has no mode of its own.
pub(crate) fn set_mode(object: &Object, mode: c_uint) -> Result<(), Errno> {
    if status(object).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK) {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    through_link(object, |link| {
        judged(libc::SYS_fchmodat, [word(libc::AT_FDCWD), link, mode as usize, 0, 0])
    })
}

/// fchmodat2(2) of a descriptor's object. The descriptor may be bare or `AT_FDCWD`.
pub(crate) fn set_mode_of(fd: c_int, mode: c_uint) -> Result<(), Errno> {
    let flags = word(libc::AT_EMPTY_PATH);
    judged(FCHMODAT2, [word(fd), address(EMPTY), mode as usize, flags, 0]).map(|_| ())
}

/// fchmod(2).
pub(crate) fn fchmod(fd: c_int, mode: c_uint) -> Result<(), Errno> {
    judged(libc::SYS_fchmod, [word(fd), mode as usize, 0, 0, 0]).map(|_| ())
}

/// chown(2).
pub(crate) fn set_owner(object: &Object, owner: [c_uint; 2]) -> Result<(), Errno> {
    set_owner_of(object.raw(), owner)
}

/// chown(2) of a descriptor's object. The descriptor may be bare or `AT_FDCWD`.
pub(crate) fn set_owner_of(fd: c_int, owner: [c_uint; 2]) -> Result<(), Errno> {
    let [uid, gid] = owner.map(|id| id as usize);
    let args = [word(fd), address(EMPTY), uid, gid, word(libc::AT_EMPTY_PATH)];
    judged(libc::SYS_fchownat, args).map(|_| ())
}

/// fchown(2).
pub(crate) fn fchown(fd: c_int, owner: [c_uint; 2]) -> Result<(), Errno> {
    let [uid, gid] = owner.map(|id| id as usize);
    judged(libc::SYS_fchown, [word(fd), uid, gid, 0, 0]).map(|_| ())
}

/// Two times of the program or the library. Null means now.
pub(crate) type TimesPointer = *const libc::timespec;

/// `utimensat(2)`.
pub(crate) fn set_times(object: &Object, times: TimesPointer) -> Result<(), Errno> {
    if status(object).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK) {
        return set_times_of(object.raw(), times);
    }
    let times = times.expose_provenance();
    through_link(object, |link| {
        judged(libc::SYS_utimensat, [word(libc::AT_FDCWD), link, times, 0, 0])
    })
}

/// `utimensat(2)` of a descriptor's object. The descriptor may be bare or `AT_FDCWD`.
pub(crate) fn set_times_of(fd: c_int, times: TimesPointer) -> Result<(), Errno> {
    let flags = word(libc::AT_EMPTY_PATH);
    let args = [word(fd), address(EMPTY), times.expose_provenance(), flags, 0];
    judged(libc::SYS_utimensat, args).map(|_| ())
}

/// futimens(3).
pub(crate) fn futimens(fd: c_int, times: TimesPointer) -> Result<(), Errno> {
    judged(libc::SYS_utimensat, [word(fd), 0, times.expose_provenance(), 0, 0]).map(|_| ())
}

/// mkdirat(2).
pub(crate) fn mkdirat(dirfd: c_int, name: &CStr, mode: c_uint) -> Result<(), Errno> {
    judged(libc::SYS_mkdirat, [word(dirfd), address(name), mode as usize, 0, 0]).map(|_| ())
}

/// mknodat(2).
pub(crate) fn mknodat(
    dirfd: c_int,
    name: &CStr,
    mode: c_uint,
    device: libc::dev_t,
) -> Result<(), Errno> {
    let device = usize::try_from(device).map_err(|_| Errno::EINVAL)?;
    judged(libc::SYS_mknodat, [word(dirfd), address(name), mode as usize, device, 0]).map(|_| ())
}

/// symlinkat(2), with the program's own target text.
pub(crate) fn symlinkat(target: *const c_char, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    let args = [target.expose_provenance(), word(dirfd), address(name), 0, 0];
    judged(libc::SYS_symlinkat, args).map(|_| ())
}

/// unlinkat(2).
pub(crate) fn unlinkat(dirfd: c_int, name: &CStr, flags: c_int) -> Result<(), Errno> {
    judged(libc::SYS_unlinkat, [word(dirfd), address(name), word(flags), 0, 0]).map(|_| ())
}

/// renameat2(2).
pub(crate) fn rename(from: (c_int, &CStr), to: (c_int, &CStr), flags: c_uint) -> Result<(), Errno> {
    let args = [word(from.0), address(from.1), word(to.0), address(to.1), flags as usize];
    judged(libc::SYS_renameat2, args).map(|_| ())
}

/// Like [`rename`] without flags. The supervisor judges and performs it.
pub(crate) fn rename_by_supervisor(from: (c_int, &CStr), to: (c_int, &CStr)) -> Result<(), Errno> {
    let args = [word(from.0), address(from.1), word(to.0), address(to.1), 0];
    unjudged(libc::SYS_renameat2, args).map(|_| ())
}

/// linkat(2) of an entry. Links a symlink itself, and fails for a directory.
pub(crate) fn link_entry(from: (c_int, &CStr), to: (c_int, &CStr)) -> Result<(), Errno> {
    let args = [word(from.0), address(from.1), word(to.0), address(to.1), 0];
    judged(libc::SYS_linkat, args).map(|_| ())
}

/// Like [`link_entry`], but also fails for a symlink (`ELOOP`; a directory gives `EPERM`), whatever has the name by
/// then.
pub(crate) fn link_plain(from: (c_int, &CStr), to: (c_int, &CStr)) -> Result<(), Errno> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let pinned = openat(from.0, from.1, flags, 0)?;
    match fstat(pinned.raw())?.st_mode & libc::S_IFMT {
        libc::S_IFLNK => Err(Errno::ELOOP),
        libc::S_IFDIR => Err(Errno::EPERM),
        _ => link_descriptor(pinned.raw(), to.0, to.1),
    }
}

/// Whether the entry of that name is a symlink.
pub(crate) fn is_symlink(dirfd: c_int, name: &CStr) -> bool {
    look(dirfd, name).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

/// Whether a descriptor refers to a symlink itself.
pub(crate) fn is_symlink_descriptor(fd: c_int) -> bool {
    fstat(fd).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

/// Whether the pinned object is itself a symlink.
pub(crate) fn is_held_symlink(object: &Object) -> bool {
    status(object).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

/// Adds a hard link to the object.
pub(crate) fn link(object: &Object, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    link_descriptor(object.raw(), dirfd, name)
}

/// Like [`link`], for the object of a program's descriptor.
pub(crate) fn link_descriptor(fd: c_int, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    let link = DescriptorLink::new(fd);
    let flags = word(libc::AT_SYMLINK_FOLLOW);
    let args = [word(libc::AT_FDCWD), address(link.as_c_str()), word(dirfd), address(name), flags];
    judged(libc::SYS_linkat, args).map(|_| ())
}

/// fstatat(2) of the program's path into its buffer.
pub(crate) fn fstatat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> Result<(), Errno> {
    let args =
        [word(dirfd), path.expose_provenance(), buffer.expose_provenance(), word(flags), 0, 0];
    // SAFETY: the buffer is the program's, or the library's own `struct stat`.
    unsafe { call_out(libc::SYS_newfstatat, args) }.map(|_| ())
}

/// faccessat(2) of the program's path.
pub(crate) fn faccessat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> Result<(), Errno> {
    let (dirfd, path, mode) = (word(dirfd), path.expose_provenance(), word(mode));
    if flags == 0 {
        return call(libc::SYS_faccessat, [dirfd, path, mode, 0, 0, 0]).map(|_| ());
    }
    call(libc::SYS_faccessat2, [dirfd, path, mode, word(flags), 0, 0]).map(|_| ())
}

/// readlinkat(2) of the program's path into its buffer.
pub(crate) fn read_link(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> Result<usize, Errno> {
    let args = [word(dirfd), path.expose_provenance(), buffer.expose_provenance(), room, 0, 0];
    call(libc::SYS_readlinkat, args)
}

/// Whether the file has capabilities (`capabilities(7)`). The loader of such a program ignores `LD_PRELOAD` unless its
/// user is root, even if the kernel does not grant the capabilities.
pub(crate) fn has_capabilities(file: &Fd) -> bool {
    let name = c"security.capability".as_ptr().expose_provenance();
    judged(libc::SYS_fgetxattr, [word(file.raw()), name, 0, 0, 0]).is_ok()
}

/// Whether the effective IDs may access the object in this mode (`faccessat2(2)`).
pub(crate) fn accessible(object: &Object, mode: c_int) -> Result<(), Errno> {
    let (path, flags) = (c"".as_ptr().expose_provenance(), libc::AT_EACCESS | EMPTY_PATH);
    match call(libc::SYS_faccessat2, [word(object.raw()), path, word(mode), word(flags), 0, 0]) {
        Err(Errno::ENOSYS | Errno::EPERM) => {
            super::process::accessible(DescriptorLink::new(object.raw()).as_c_str(), mode)
        }
        outcome => outcome.map(|_| ()),
    }
}

/// connect(2).
pub(crate) fn connect(fd: c_int, address: *const c_void, len: usize) -> Result<(), Errno> {
    only_judged(libc::SYS_connect, [word(fd), address.expose_provenance(), len, 0, 0]).map(|_| ())
}

/// bind(2) to an address that is not a path.
pub(crate) fn bind(fd: c_int, address: *const c_void, len: usize) -> Result<(), Errno> {
    only_judged(libc::SYS_bind, [word(fd), address.expose_provenance(), len, 0, 0]).map(|_| ())
}

/// Like [`bind`], for a path that may lead elsewhere since it was judged. A supervisor judges it and binds it in the
/// directory that it has pinned.
pub(crate) fn bind_name(fd: c_int, address: *const c_void, len: usize) -> Result<(), Errno> {
    unjudged(libc::SYS_bind, [word(fd), address.expose_provenance(), len, 0, 0]).map(|_| ())
}

/// sendto(2) of the program's bytes. With an address, it uses sendmsg(2), whose arguments have room for the mark of a
/// judged call. The kernel rejects an address that is too long.
pub(crate) fn sendto(
    fd: c_int,
    (bytes, count): (*const c_void, usize),
    flags: c_int,
    (address, len): (*const c_void, usize),
) -> Result<usize, Errno> {
    if address.is_null() || len > size_of::<libc::sockaddr_storage>() {
        return sendto_name(fd, (bytes, count), flags, (address, len));
    }
    let mut piece = libc::iovec { iov_base: bytes.cast_mut(), iov_len: count };
    // SAFETY: the structure consists of numbers and pointers, and zero is valid for each.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_name = address.cast_mut();
    message.msg_namelen = u32::try_from(len).unwrap_or(0);
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    sendmsg(fd, &raw const message, flags)
}

/// Like [`sendto`], for a name that a supervisor must judge.
pub(crate) fn sendto_name(
    fd: c_int,
    (bytes, count): (*const c_void, usize),
    flags: c_int,
    (address, len): (*const c_void, usize),
) -> Result<usize, Errno> {
    let (bytes, address) = (bytes.expose_provenance(), address.expose_provenance());
    call(libc::SYS_sendto, [word(fd), bytes, count, word(flags), address, len])
}

/// Like [`sendmsg`], for a name that a supervisor must judge.
pub(crate) fn sendmsg_name(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    unjudged(libc::SYS_sendmsg, [word(fd), message.expose_provenance(), word(flags), 0, 0])
}

/// sendmsg(2).
pub(crate) fn sendmsg(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    only_judged(libc::SYS_sendmsg, [word(fd), message.expose_provenance(), word(flags), 0, 0])
}

/// sendmmsg(2).
pub(crate) fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> Result<usize, Errno> {
    let messages = messages.expose_provenance();
    only_judged(libc::SYS_sendmmsg, [word(fd), messages, count as usize, word(flags), 0])
}

/// An address for a pinned Unix socket, which leads through its descriptor.
pub(crate) fn socket_address(object: &Object) -> Result<libc::sockaddr_un, Errno> {
    unix_address(DescriptorLink::new(object.raw()).as_c_str().to_bytes().iter())
}

/// An address for an entry of a pinned directory: its path, or a shorter name that leads through the directory.
///
/// # Errors
/// `ENAMETOOLONG`.
pub(crate) fn entry_address(
    path: &[u8],
    dirfd: c_int,
    name: &CStr,
) -> Result<libc::sockaddr_un, Errno> {
    let directory = DescriptorLink::new(dirfd);
    let short = directory.as_c_str().to_bytes().iter().chain(b"/").chain(name.to_bytes());
    unix_address(path.iter()).or_else(|_| unix_address(short))
}

fn unix_address<'p>(path: impl Iterator<Item = &'p u8>) -> Result<libc::sockaddr_un, Errno> {
    let mut address = libc::sockaddr_un {
        sun_family: u16::try_from(libc::AF_UNIX).unwrap_or(0),
        sun_path: [0; 108],
    };
    let mut room = address.sun_path.iter_mut();
    for &byte in path {
        *room.next().ok_or(Errno::ENAMETOOLONG)? = c_char::from_ne_bytes([byte]);
    }
    Ok(address)
}

/// Stores the path of this process's program in `buffer`. Returns its length.
pub(crate) fn own_program(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    super::readlinkat(libc::AT_FDCWD, c"/proc/self/exe", buffer, capacity)
}

/// The numbers that identify an object.
pub(crate) const fn identity(stat: &libc::stat) -> [u64; 2] {
    [stat.st_dev, stat.st_ino]
}

/// Whether the bytes before the path of a socket address name the family of Unix sockets.
pub(crate) fn is_unix(family: &[u8]) -> bool {
    family == u16::try_from(libc::AF_UNIX).unwrap_or(0).to_ne_bytes()
}

/// The error of unlink(2) for a directory.
pub(crate) const IS_DIRECTORY: Errno = Errno::EISDIR;

/// A path that does not exist.
pub(crate) const NOWHERE: &CStr = c"/proc/self/fd/-";

/// The directory with the names of descriptors. It is the calling thread's, which may have a table of its own
/// (`unshare(2)`, `close_range(2)`). `/proc/self` has the first thread's, and none once that has ended.
pub(crate) const DESCRIPTORS: &[u8] = b"/proc/thread-self/fd/";

/// Stores the target of a descriptor's name in `buffer`: a path, or text such as `pipe:[…]`. Returns its length.
pub(crate) fn path_of(fd: c_int, buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    let link = DescriptorLink::new(fd);
    super::readlinkat(libc::AT_FDCWD, link.as_c_str(), buffer, capacity).map_err(
        |errno| match errno {
            Errno::ENOENT if super::fcntl(fd, libc::F_GETFD, 0).is_err() => Errno::EBADF,
            Errno::ENAMETOOLONG => Errno::ENAMETOOLONG,
            _ => Errno::EACCES,
        },
    )
}
