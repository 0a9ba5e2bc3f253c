//! Hooks for nftw(3) and ftw(3). libc's walk would open directories inside libc. This one opens each with mediation,
//! and examines entries relative to their directory's descriptor.
//!
//! It ignores the limit `nopenfd`. A walk holds one descriptor for each level below its start, and descends at most
//! [`DEEPEST`] levels.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::offset_of;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::directories::LISTING;
use crate::hooks::metadata;
use crate::hooks::open::{How, open_at};
use crate::mmap_box::MmapBox;
use crate::sys::{self, Fd, ftw, process};
use crate::{libc_functions, memory, working_directory};

/// The deepest level of a walk. Each level takes stack.
const DEEPEST: c_int = 512;

/// Flags of nftw(3) (ftw.h).
use ftw::{ACTIONS, CHANGE, DEPTH, MOUNT, PHYSICAL};

/// glibc's return values by which the program's function controls the walk.
const SKIP_SUBTREE: c_int = 2;
const SKIP_SIBLINGS: c_int = 3;

/// The kind of an object.
#[derive(Clone, Copy)]
pub(crate) enum ObjectKind {
    File,
    Directory,
    Unreadable,
    Unknown,
    Link,
    DirectoryAfter,
    DanglingLink,
}

impl ObjectKind {
    /// Maps the kind to one of the first four, because ftw(3) knows no others.
    const fn plain(self) -> Self {
        match self {
            Self::Link => Self::File,
            Self::DirectoryAfter => Self::Directory,
            Self::DanglingLink => Self::Unknown,
            other => other,
        }
    }
}

/// `struct FTW` (ftw.h).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Position {
    base: c_int,
    level: c_int,
}

/// The program's function. That of ftw(3) has no fourth argument and ignores it.
pub(super) type Visit =
    extern "C" fn(*const c_char, *const libc::stat, c_int, *mut Position) -> c_int;

struct Walk {
    call: &'static CStr,
    visit: Visit,
    flags: c_int,
    plain: bool,
    path: MmapBox<PathBuffer>,
    position: Position,
    /// The working directory at the start, which the starting path is relative to.
    from: c_int,
    device: libc::dev_t,
}

/// A directory being walked. Linked to those above it.
struct Level<'a> {
    above: Option<&'a Self>,
    fd: c_int,
    stat: &'a libc::stat,
}

impl Level<'_> {
    /// Whether `stat` belongs to this directory or one above.
    fn contains(&self, stat: &libc::stat) -> bool {
        let mut level = Some(self);
        while let Some(here) = level {
            if here.stat.st_ino == stat.st_ino && here.stat.st_dev == stat.st_dev {
                return true;
            }
            level = here.above;
        }
        false
    }
}

/// A stream that is closed on drop.
struct Stream(*mut c_void);

impl Drop for Stream {
    fn drop(&mut self) {
        libc_functions::jp_closedir(self.0);
    }
}

impl Stream {
    /// The next name, or null at the end.
    fn next(&self) -> Result<*const c_char, Errno> {
        let before = Errno::last();
        Errno(0).set();
        let entry = libc_functions::jp_readdir(self.0);
        let errno = Errno::last();
        before.set();
        if entry.is_null() {
            return if errno.0 == 0 { Ok(core::ptr::null()) } else { Err(errno) };
        }
        Ok(entry.cast::<c_char>().wrapping_add(offset_of!(ftw::Entry, d_name)))
    }
}

fn enter(fd: c_int) -> Result<(), Errno> {
    working_directory::change(|| process::change_directory_to(fd))
}

/// Stores the result of fstatat(2) in `to`.
#[inline(never)]
fn look_at(
    dirfd: c_int,
    name: *const c_char,
    flags: c_int,
    to: &mut libc::stat,
) -> Result<(), Errno> {
    let to = &raw mut *to;
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    metadata::look(dirfd, name, stops, |dirfd, name| sys::fstatat(dirfd, name, to.cast(), flags))
}

#[inline(never)]
fn list(call: &CStr, dirfd: c_int, name: *const c_char, flags: c_int) -> Result<Stream, Errno> {
    let fd = Fd::adopt(open_at(call, dirfd, name, How::new(LISTING | flags, 0))?);
    let stream = libc_functions::jp_fdopendir(fd.raw());
    if stream.is_null() {
        return Err(Errno::ENOMEM);
    }
    fd.into_raw();
    Ok(Stream(stream))
}

const fn file_type(stat: &libc::stat) -> libc::mode_t {
    stat.st_mode & libc::S_IFMT
}

impl Walk {
    const fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }

    fn report(&mut self, kind: ObjectKind, stat: &libc::stat) -> c_int {
        let kind = if self.plain { kind.plain() } else { kind };
        let number = ftw::number(kind);
        (self.visit)(self.path.c_str(0).as_ptr(), stat, number, &raw mut self.position)
    }

    /// The kind of the entry `name` in `dirfd`. Stores its status in `stat`.
    fn classify(
        &self,
        dirfd: c_int,
        name: *const c_char,
        is_start: bool,
        stat: &mut libc::stat,
    ) -> Result<ObjectKind, Errno> {
        let physical = self.has(PHYSICAL);
        let follow = if physical { libc::AT_SYMLINK_NOFOLLOW } else { 0 };
        match look_at(dirfd, name, follow, stat) {
            Ok(()) => Ok(match file_type(stat) {
                libc::S_IFDIR => ObjectKind::Directory,
                libc::S_IFLNK => ObjectKind::Link,
                _ => ObjectKind::File,
            }),
            Err(errno @ (Errno::EACCES | Errno::ENOENT)) => {
                let itself = look_at(dirfd, name, libc::AT_SYMLINK_NOFOLLOW, stat);
                if itself.is_ok() && !physical && file_type(stat) == libc::S_IFLNK {
                    Ok(ObjectKind::DanglingLink)
                } else if is_start {
                    Err(errno)
                } else {
                    Ok(ObjectKind::Unknown)
                }
            }
            Err(errno) => Err(errno),
        }
    }

    /// Visits the object at `path`, whose name begins at `name_at`.
    fn object(&mut self, above: Option<&Level<'_>>, name_at: usize) -> Result<c_int, Errno> {
        // The start is looked up by its whole path.
        let (dirfd, name_at) = above.map_or((self.from, 0), |level| (level.fd, name_at));
        let name = self.path.c_str(name_at).as_ptr();
        // SAFETY: the structure consists of integers, and zero is valid for each.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        let kind = self.classify(dirfd, name, above.is_none(), &mut stat)?;
        if above.is_none() {
            self.device = stat.st_dev;
        }
        if !matches!(kind, ObjectKind::Unknown) && self.has(MOUNT) && stat.st_dev != self.device {
            return Ok(0);
        }
        if !matches!(kind, ObjectKind::Directory) {
            return Ok(self.report(kind, &stat));
        }
        if !self.has(PHYSICAL) && above.is_some_and(|level| level.contains(&stat)) {
            return Ok(0);
        }
        let nofollow = if self.has(PHYSICAL) { libc::O_NOFOLLOW } else { 0 };
        match list(self.call, dirfd, name, nofollow) {
            Ok(stream) => self.directory(above, &stream, &stat),
            Err(Errno::EACCES) => Ok(self.report(ObjectKind::Unreadable, &stat)),
            Err(errno) => Err(errno),
        }
    }

    fn directory(
        &mut self,
        above: Option<&Level<'_>>,
        stream: &Stream,
        stat: &libc::stat,
    ) -> Result<c_int, Errno> {
        if self.position.level >= DEEPEST {
            return Err(Errno::ENAMETOOLONG);
        }
        let before = if self.has(DEPTH) { 0 } else { self.report(ObjectKind::Directory, stat) };
        if before != 0 {
            return Ok(before);
        }
        let level = Level { above, fd: libc_functions::jp_dirfd(stream.0), stat };
        if self.has(CHANGE) {
            enter(level.fd)?;
        }
        let (len, position) = (self.path.len(), self.position);
        let entries = self.entries(&level, stream);
        self.path.truncate(len);
        self.position = position;
        let mut result = entries?;
        if result == SKIP_SIBLINGS && self.has(ACTIONS) {
            result = 0;
        }
        if result == 0 && self.has(DEPTH) {
            result = self.report(ObjectKind::DirectoryAfter, stat);
        }
        if self.has(CHANGE)
            && let Some(above) = above
        {
            enter(above.fd)?;
        }
        Ok(result)
    }

    fn entries(&mut self, level: &Level<'_>, stream: &Stream) -> Result<c_int, Errno> {
        self.path.push_separator()?;
        let name_at = self.path.len();
        self.position.base = c_int::try_from(name_at).unwrap_or(0);
        self.position.level = self.position.level.saturating_add(1);
        loop {
            let name = stream.next()?;
            if name.is_null() {
                return Ok(0);
            }
            self.path.truncate(name_at);
            memory::copy_path(name, &mut self.path)?;
            if matches!(self.path.as_bytes().get(name_at..), Some(b"." | b"..")) {
                continue;
            }
            match self.object(Some(level), name_at)? {
                0 => {}
                SKIP_SUBTREE if self.has(ACTIONS) => {}
                result => return Ok(result),
            }
        }
    }

    /// Visits the start and everything below it.
    fn run(&mut self, start: *const c_char) -> Result<c_int, Errno> {
        memory::copy_path(start, &mut self.path)?;
        while self.path.len() > 1 && self.path.as_bytes().last() == Some(&b'/') {
            let shorter = self.path.len().saturating_sub(1);
            self.path.truncate(shorter);
        }
        if self.path.len() == 0 {
            return Err(Errno::ENOENT);
        }
        let text = self.path.as_bytes();
        let slash = text.iter().rposition(|&byte| byte == b'/');
        let base = slash.filter(|_| text.len() > 1).map_or(0, |slash| slash.saturating_add(1));
        self.position.base = c_int::try_from(base).unwrap_or(0);
        if !self.has(CHANGE) {
            return self.object(None, base);
        }
        let here = sys::openat(libc::AT_FDCWD, c".", sys::HOLD_DIRECTORY, 0)?;
        self.from = here.raw();
        let outcome = self.enter_parent(base).and_then(|()| self.object(None, base));
        let back = enter(here.raw());
        let result = outcome?;
        back.map(|()| result)
    }

    /// Changes to the directory of the start.
    fn enter_parent(&self, base: usize) -> Result<(), Errno> {
        let mut parent = MmapBox::<PathBuffer>::blank()?;
        parent.push(self.path.as_bytes().get(..base).unwrap_or(&[]))?;
        if base == 0 {
            return Ok(());
        }
        metadata::look(libc::AT_FDCWD, parent.c_str(0).as_ptr(), false, |_, parent| {
            working_directory::change(|| process::change_directory(parent))
        })
    }
}

fn walk(
    call: &'static CStr,
    start: *const c_char,
    visit: Visit,
    flags: c_int,
    plain: bool,
) -> Result<c_int, Errno> {
    // musl does not have the other flags and ignores them.
    #[cfg(target_os = "linux")]
    let flags = if libc_functions::is_glibc() { flags } else { flags & (PHYSICAL | MOUNT | DEPTH) };
    if flags & !(PHYSICAL | MOUNT | CHANGE | DEPTH | ACTIONS) != 0 {
        return Err(Errno::EINVAL);
    }
    let mut walk = Walk {
        call,
        visit,
        flags,
        plain,
        path: MmapBox::blank()?,
        position: Position { base: 0, level: 0 },
        from: libc::AT_FDCWD,
        device: 0,
    };
    match walk.run(start)? {
        SKIP_SUBTREE | SKIP_SIBLINGS if walk.has(ACTIONS) => Ok(0),
        result => Ok(result),
    }
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn nftw(
    start: *const c_char,
    visit: Visit,
    _descriptors: c_int,
    flags: c_int,
) -> c_int {
    walk(c"nftw", start, visit, flags, false).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn ftw(start: *const c_char, visit: Visit, _descriptors: c_int) -> c_int {
    walk(c"ftw", start, visit, 0, true).reply()
}
