//! Calls on an entry of a pinned directory. macOS has no `O_PATH`, and opening an object takes the right to read it. So
//! the library pins the object's directory, by a canonical path, and uses the object's name there, never through a
//! symlink.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::calls::{mode, outcome, path, size};
use super::{fstat, openat};
use crate::buffer::{Buffer, CAPACITY, PathBuffer};
use crate::errno::Errno;
use crate::sys::Fd;

/// Room for a name. HFS+ allows 255 units of UTF-16, each up to three bytes.
pub(crate) const NAME: usize = 768;

/// An object: its directory, pinned, and its name there. The name is `.` for the directory itself.
pub(crate) struct Object {
    pub(crate) directory: Fd,
    pub(crate) name: Buffer<NAME>,
}

impl Object {
    fn at(&self) -> (c_int, &CStr) {
        (self.directory.raw(), self.name.c_str(0))
    }

    /// Stores the canonical path in `to`.
    ///
    /// # Errors
    /// `EACCES` if the system does not tell; `ENAMETOOLONG`.
    pub(crate) fn place(&self, to: &mut PathBuffer) -> Result<(), Errno> {
        to.fill(|bytes, room| path_of(self.directory.raw(), bytes, room))?;
        if self.name.as_bytes() == b"." {
            return Ok(());
        }
        to.push_separator()?;
        to.push(self.name.as_bytes())
    }
}

/// Zero: macOS has no flag for "the descriptor itself".
pub(crate) const EMPTY_PATH: c_int = 0;

/// Whether these flags allow an empty path.
pub(crate) const fn may_be_empty(_flags: c_int) -> bool {
    false
}

/// The flags of [`rename`].
pub(crate) const RENAME_NOREPLACE: c_uint = libc::RENAME_EXCL;
pub(crate) const RENAME_EXCHANGE: c_uint = libc::RENAME_SWAP;

/// The error of unlink(2) for a directory.
pub(crate) const IS_DIRECTORY: Errno = Errno::EPERM;

/// A path that does not exist.
pub(crate) const NOWHERE: &CStr = c"/dev/fd/-";

/// The text that stands for the path of an object without one.
pub(crate) const ANONYMOUS: &[u8] = b"anonymous:";

/// Flags that pin a directory for searching, which takes no right to list it.
pub(crate) const HOLD_DIRECTORY: c_int = libc::O_SEARCH | libc::O_CLOEXEC;

/// Stores the path of a descriptor's object in `buffer`. Returns its length.
pub(crate) fn path_of(fd: c_int, buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    if capacity < CAPACITY {
        return Err(Errno::ENAMETOOLONG);
    }
    // SAFETY: `buffer` has room for `PATH_MAX` bytes.
    match unsafe { path(fd, buffer) } {
        Ok(()) => {
            // SAFETY: the kernel wrote a NUL-terminated path.
            Ok(unsafe { CStr::from_ptr(buffer.cast()) }.count_bytes())
        }
        Err(errno) => {
            // It is a pipe, a socket or a removed file. Otherwise the descriptor is not open.
            let stat = fstat(fd)?;
            if errno != Errno::EBADF && stat.st_nlink > 0 {
                return Err(Errno::EACCES);
            }
            // SAFETY: the text is shorter than the buffer.
            unsafe { buffer.copy_from_nonoverlapping(ANONYMOUS.as_ptr(), ANONYMOUS.len()) };
            Ok(ANONYMOUS.len())
        }
    }
}

/// A path for libc that led to the directory of a descriptor a moment ago.
pub(crate) struct DirectoryName(PathBuffer);

impl DirectoryName {
    pub(crate) fn as_c_str(&self) -> &CStr {
        self.0.c_str(0)
    }
}

/// Creates a [`DirectoryName`].
///
/// # Errors
/// `EACCES` if the system does not tell.
pub(crate) fn directory_name(directory: &Fd) -> Result<DirectoryName, Errno> {
    let mut path = PathBuffer::new();
    path.fill(|bytes, room| path_of(directory.raw(), bytes, room))?;
    Ok(DirectoryName(path))
}

/// lstat(2) of an entry.
pub(crate) fn look(dirfd: c_int, name: &CStr) -> Result<libc::stat, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::uninit();
    let to = stat.as_mut_ptr().cast();
    fstatat(dirfd, name.as_ptr(), to, libc::AT_SYMLINK_NOFOLLOW)?;
    // SAFETY: the call succeeded.
    Ok(unsafe { stat.assume_init() })
}

/// Stores the name of an entry in `to` as its directory has it. The volume may accept a name in another case or normal
/// form.
///
/// # Errors
/// Those of getattrlist(2).
pub(crate) fn true_name(dirfd: c_int, name: &CStr, to: &mut Buffer<NAME>) -> Result<(), Errno> {
    /// The result of getattrlist(2): its length, and the position of the name.
    #[repr(C)]
    struct Answer {
        length: u32,
        offset: i32,
        size: u32,
        text: [u8; NAME],
    }
    /// The field that `offset` counts from.
    const FROM: usize = core::mem::offset_of!(Answer, offset);
    const TEXT: usize = core::mem::offset_of!(Answer, text) - FROM;
    let mut wanted = libc::attrlist {
        bitmapcount: libc::ATTR_BIT_MAP_COUNT,
        reserved: 0,
        commonattr: libc::ATTR_CMN_NAME,
        volattr: 0,
        dirattr: 0,
        fileattr: 0,
        forkattr: 0,
    };
    let mut answer = Answer { length: 0, offset: 0, size: 0, text: [0; NAME] };
    // SAFETY: the kernel reads the list and writes at most the size of the answer.
    let result = unsafe {
        libc::getattrlistat(
            dirfd,
            name.as_ptr(),
            (&raw mut wanted).cast(),
            (&raw mut answer).cast(),
            size_of::<Answer>(),
            libc::c_ulong::from(libc::FSOPT_NOFOLLOW),
        )
    };
    outcome(result)?;
    let start = usize::try_from(answer.offset).ok().and_then(|at| at.checked_sub(TEXT));
    let text = start.and_then(|start| answer.text.get(start..)).ok_or(Errno::EACCES)?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or(&[]);
    to.clear();
    if text.is_empty() { Err(Errno::EACCES) } else { to.push(text) }
}

/// stat(2) of the object, even if it is a symlink.
pub(crate) fn status(object: &Object) -> Result<libc::stat, Errno> {
    let (dirfd, name) = object.at();
    look(dirfd, name)
}

/// Opens the object.
pub(crate) fn reopen(object: &Object, flags: c_int) -> Result<Fd, Errno> {
    let (dirfd, name) = object.at();
    openat(dirfd, name, flags | libc::O_NOFOLLOW, 0)
}

/// Opens the object for a call on its descriptor, even if it is a symlink.
pub(crate) fn open_for_call(object: &Object) -> Result<Fd, Errno> {
    let (dirfd, name) = object.at();
    openat(dirfd, name, libc::O_EVTONLY | libc::O_SYMLINK | libc::O_CLOEXEC, 0)
}

/// Looks for an entry of that name, even a dangling symlink. The error says why there is none.
pub(crate) fn find(dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    look(dirfd, name).map(|_| ())
}

/// Whether the entry of that name is a directory.
pub(crate) fn is_directory(dirfd: c_int, name: &CStr) -> bool {
    look(dirfd, name).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// truncate(2).
pub(crate) fn truncate(object: &Object, length: i64) -> Result<(), Errno> {
    let file = reopen(object, libc::O_WRONLY | libc::O_NONBLOCK | libc::O_CLOEXEC)?;
    // SAFETY: both arguments are numbers.
    outcome(unsafe { libc::ftruncate(file.raw(), length) }).map(|_| ())
}

/// chmod(2). For a symlink, its own mode.
pub(crate) fn set_mode(object: &Object, bits: c_uint) -> Result<(), Errno> {
    let (dirfd, name) = object.at();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the name is NUL-terminated.
    outcome(unsafe { libc::fchmodat(dirfd, name.as_ptr(), mode(bits), flags) }).map(|_| ())
}

/// fchmod(2).
pub(crate) fn fchmod(fd: c_int, bits: c_uint) -> Result<(), Errno> {
    // SAFETY: both arguments are numbers.
    outcome(unsafe { libc::fchmod(fd, mode(bits)) }).map(|_| ())
}

/// chown(2).
pub(crate) fn set_owner(object: &Object, [uid, gid]: [c_uint; 2]) -> Result<(), Errno> {
    let (dirfd, name) = object.at();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the name is NUL-terminated.
    outcome(unsafe { libc::fchownat(dirfd, name.as_ptr(), uid, gid, flags) }).map(|_| ())
}

/// fchown(2).
pub(crate) fn fchown(fd: c_int, [uid, gid]: [c_uint; 2]) -> Result<(), Errno> {
    // SAFETY: all arguments are numbers.
    outcome(unsafe { libc::fchown(fd, uid, gid) }).map(|_| ())
}

// Descriptors here are never bare, so the calls on descriptors work for all.
pub(crate) use self::{fchown as set_owner_of, futimens as set_times_of};

/// Two times of the program or the library. Null means now.
pub(crate) type TimesPointer = *const libc::timespec;

/// `utimensat(2)`.
pub(crate) fn set_times(object: &Object, times: TimesPointer) -> Result<(), Errno> {
    let (dirfd, name) = object.at();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: libc reads the times as it does without the library.
    outcome(unsafe { libc::utimensat(dirfd, name.as_ptr(), times, flags) }).map(|_| ())
}

/// futimens(3).
pub(crate) fn futimens(fd: c_int, times: TimesPointer) -> Result<(), Errno> {
    // SAFETY: as above.
    outcome(unsafe { libc::futimens(fd, times) }).map(|_| ())
}

/// mkdirat(2).
pub(crate) fn mkdirat(dirfd: c_int, name: &CStr, bits: c_uint) -> Result<(), Errno> {
    // SAFETY: the name is NUL-terminated.
    outcome(unsafe { libc::mkdirat(dirfd, name.as_ptr(), mode(bits)) }).map(|_| ())
}

/// mknodat(2), or mkfifoat(2) for a fifo.
pub(crate) fn mknodat(
    dirfd: c_int,
    name: &CStr,
    bits: c_uint,
    device: libc::dev_t,
) -> Result<(), Errno> {
    let bits = mode(bits);
    let result = if bits & libc::S_IFMT == libc::S_IFIFO {
        // SAFETY: the name is NUL-terminated.
        unsafe { libc::mkfifoat(dirfd, name.as_ptr(), bits & !libc::S_IFMT) }
    } else {
        // SAFETY: as above.
        unsafe { libc::mknodat(dirfd, name.as_ptr(), bits, device) }
    };
    outcome(result).map(|_| ())
}

/// symlinkat(2), with the program's own target text.
pub(crate) fn symlinkat(target: *const c_char, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    // SAFETY: the kernel checks the program's pointer.
    outcome(unsafe { libc::symlinkat(target, dirfd, name.as_ptr()) }).map(|_| ())
}

/// unlinkat(2).
pub(crate) fn unlinkat(dirfd: c_int, name: &CStr, flags: c_int) -> Result<(), Errno> {
    // SAFETY: the name is NUL-terminated.
    outcome(unsafe { libc::unlinkat(dirfd, name.as_ptr(), flags) }).map(|_| ())
}

/// `renameatx_np(2)`.
pub(crate) fn rename(from: (c_int, &CStr), to: (c_int, &CStr), flags: c_uint) -> Result<(), Errno> {
    let (source, target) = (from.1.as_ptr(), to.1.as_ptr());
    // SAFETY: the names are NUL-terminated.
    outcome(unsafe { libc::renameatx_np(from.0, source, to.0, target, flags) }).map(|_| ())
}

/// Always fails: macOS has no supervisor.
pub(crate) fn rename_by_supervisor(_: (c_int, &CStr), _: (c_int, &CStr)) -> Result<(), Errno> {
    Err(Errno::EACCES)
}

/// linkat(2) of an entry. Links a symlink itself, and fails for a directory.
pub(crate) fn link_entry(from: (c_int, &CStr), to: (c_int, &CStr)) -> Result<(), Errno> {
    let (old, new) = (from.1.as_ptr(), to.1.as_ptr());
    // SAFETY: the names are NUL-terminated.
    outcome(unsafe { libc::linkat(from.0, old, to.0, new, 0) }).map(|_| ())
}

/// Like [`link_entry`], but also fails for a symlink (`ELOOP`; a directory gives `EPERM`). The system cannot pin an
/// object. So if a symlink replaces the file meanwhile, it has the new name for a moment.
pub(crate) fn link_plain(from: (c_int, &CStr), to: (c_int, &CStr)) -> Result<(), Errno> {
    if is_symlink(from.0, from.1) {
        return Err(Errno::ELOOP);
    }
    link_entry(from, to)?;
    if is_symlink(to.0, to.1) {
        unlinkat(to.0, to.1, 0)?;
        return Err(Errno::ELOOP);
    }
    Ok(())
}

/// Whether the entry of that name is a symlink.
pub(crate) fn is_symlink(dirfd: c_int, name: &CStr) -> bool {
    look(dirfd, name).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

/// Whether the pinned object is itself a symlink.
pub(crate) fn is_held_symlink(object: &Object) -> bool {
    let (dirfd, name) = object.at();
    is_symlink(dirfd, name)
}

/// Adds a hard link to the object.
pub(crate) fn link(object: &Object, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    link_entry(object.at(), (dirfd, name))
}

/// `clonefileat(2)`: clones the object under another name.
pub(crate) fn clone(object: &Object, dirfd: c_int, name: &CStr, flags: u32) -> Result<(), Errno> {
    /// `CLONE_NOFOLLOW` (sys/clonefile.h).
    const NOFOLLOW: u32 = 1;
    let (from, old) = object.at();
    let (old, new, flags) = (old.as_ptr(), name.as_ptr(), flags | NOFOLLOW);
    // SAFETY: the names are NUL-terminated.
    outcome(unsafe { libc::clonefileat(from, old, dirfd, new, flags) }).map(|_| ())
}

/// fstatat(2) of the program's path into its buffer.
pub(crate) fn fstatat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> Result<(), Errno> {
    // SAFETY: the kernel checks the program's pointers.
    outcome(unsafe { libc::fstatat(dirfd, path, buffer.cast(), flags) }).map(|_| ())
}

/// faccessat(2) of the program's path.
pub(crate) fn faccessat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> Result<(), Errno> {
    // SAFETY: the kernel checks the program's pointer.
    outcome(unsafe { libc::faccessat(dirfd, path, mode, flags) }).map(|_| ())
}

/// readlinkat(2) of the program's path into its buffer.
pub(crate) fn read_link(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> Result<usize, Errno> {
    // SAFETY: the kernel checks the program's pointers.
    size(unsafe { libc::readlinkat(dirfd, path, buffer, room) })
}

/// Whether the effective IDs may access the object in this mode.
pub(crate) fn accessible(object: &Object, mode: c_int) -> Result<(), Errno> {
    let (dirfd, name) = object.at();
    faccessat(dirfd, name.as_ptr(), mode, libc::AT_EACCESS)
}

/// Stores the path of this process's program in `buffer`. Returns its length.
pub(crate) fn own_program(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    let room = u32::try_from(capacity).unwrap_or(0);
    // SAFETY: the kernel writes at most `room` bytes.
    let length = unsafe { libc::proc_pidpath(super::getpid(), buffer.cast(), room) };
    usize::try_from(length).ok().filter(|&length| length > 0).ok_or(Errno::EACCES)
}

/// The numbers that identify an object.
pub(crate) fn identity(stat: &libc::stat) -> [u64; 2] {
    [u64::from(stat.st_dev.cast_unsigned()), stat.st_ino]
}
