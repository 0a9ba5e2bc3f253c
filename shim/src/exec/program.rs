//! Determines the kind of a program file, by the kernel's rules.

use core::ffi::c_int;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::script::interpreter;

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::resolve;
use crate::sys::{self, Fd, Object};

#[cfg(target_os = "linux")]
#[path = "program/elf.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "program/mach_o.rs"]
mod system;

/// How much of a file the kernel examines for a `#!` line (`BINPRM_BUF_SIZE`).
const LINE: usize = 256;
/// Enough for the header and the program headers of nearly every binary.
const HEAD: usize = 1024;
/// The path of a script's interpreter or of a loader. A line of [`LINE`] bytes names the interpreter. Each system has
/// only one loader, with a shorter path.
pub(crate) type Interpreter = Buffer<LINE>;

/// A kind of executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A `#!` line names the interpreter.
    Script,
    /// A binary of this machine that names its loader.
    Dynamic,
    /// A binary of this machine without a loader. Nothing can be preloaded into it.
    Static,
    /// A loader itself, which starts the program that its arguments name.
    #[cfg(target_os = "linux")]
    Loader,
    /// A binary of another machine or word size.
    Foreign,
    /// A binary that the system preloads nothing into.
    #[cfg(target_os = "macos")]
    Protected,
    /// A file that the kernel itself cannot run.
    Other,
}

/// A pinned file that should be started.
pub(crate) struct Executable {
    pub(crate) object: Object,
    /// Whether it is a regular file, which every program is.
    pub(crate) is_file: bool,
    /// Whether it still has a name.
    pub(crate) is_named: bool,
    /// The same file, open for reading.
    file: Result<Fd, Errno>,
}

impl Executable {
    /// Wraps a pinned object with its fstat(2) result. `open` opens a regular file.
    #[inline(never)]
    fn new(
        object: Object,
        status: &libc::stat,
        open: impl FnOnce(&Object) -> Result<Fd, Errno>,
    ) -> Self {
        let kind = status.st_mode & libc::S_IFMT;
        let file = match kind {
            libc::S_IFREG => open(&object),
            libc::S_IFLNK => Err(Errno::ELOOP),
            _ => Err(Errno::EACCES),
        };
        Self { object, is_file: kind == libc::S_IFREG, is_named: status.st_nlink > 0, file }
    }

    /// Like [`Self::new`], for the object that a spelling leads to. If other layers confine programs that cannot be
    /// inspected, this opens only files that the policy allows to be read without a prompt. Another layer would report
    /// other attempts, and it checks again whether the file changed during a prompt.
    pub(crate) fn spelled(
        image: &Image<'_>,
        object: Object,
        status: &libc::stat,
        spelling: &Spelling,
    ) -> Self {
        Self::looked_into(image, object, status, &spelling.request(), |object| {
            resolve::open_held(object, status, spelling, FLAGS)
        })
    }

    /// Like [`Self::spelled`], for the object of `request`, which `open` opens.
    pub(crate) fn looked_into(
        image: &Image<'_>,
        object: Object,
        status: &libc::stat,
        request: &Request<'_>,
        open: impl FnOnce(&Object) -> Result<Fd, Errno>,
    ) -> Self {
        let read = || decide::access(image, request, Capabilities::READ);
        let may_look = !image.holds_other_programs() || read() == Verdict::Allow;
        let file = |object: &Object| if may_look { open(object) } else { Err(Errno::EACCES) };
        Self::new(object, status, file)
    }

    /// Whether the file has capabilities.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_capabilities(&self) -> bool {
        self.file.as_ref().is_ok_and(sys::has_capabilities)
    }
}

/// Flags for opening a program to inspect it. Its type was checked before; if it has changed since, the open does not
/// block.
pub(crate) const FLAGS: c_int =
    libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;

/// Inspects the program. Stores the path of a script's interpreter or of a dynamic program's loader in `next`, which
/// otherwise stays unchanged.
///
/// # Errors
/// `ELOOP` for a symlink; `EACCES` for other objects that are not regular files, and for unreadable files;
/// `ENAMETOOLONG` for a loader that no system has.
#[inline(never)]
pub(crate) fn inspect(program: &Executable, next: &mut Interpreter) -> Result<Kind, Errno> {
    let file = match &program.file {
        Ok(file) => file,
        Err(errno) => return Err(*errno),
    };
    let mut head = [0_u8; HEAD];
    let len = read_at(file, &mut head, 0)?;
    let found = head.get(..len).unwrap_or(&[]);
    if let Some(line) = found.strip_prefix(b"#!") {
        let room = LINE.saturating_sub(2);
        return match interpreter(line.get(..line.len().min(room)).unwrap_or(&[]), room) {
            Some(path) => {
                next.clear();
                next.push(path).map(|()| Kind::Script)
            }
            None => Ok(Kind::Other),
        };
    }
    system::binary(file, found, next)
}

/// Fills `to` from `offset` of the file, which begins with `head`. Returns whether the file has that many bytes.
fn fetch(file: &Fd, head: &[u8], offset: u64, to: &mut [u8]) -> Result<bool, Errno> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if let Some(known) = head.get(start..start.saturating_add(to.len())) {
        for (to, &from) in to.iter_mut().zip(known) {
            *to = from;
        }
        return Ok(true);
    }
    Ok(read_at(file, to, offset)? == to.len())
}

/// Reads until `to` is full or the file ends. Returns the number of bytes.
fn read_at(file: &Fd, to: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut filled = 0_usize;
    while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match sys::pread(file.raw(), rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// A little-endian number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let field = bytes.get(at..at.saturating_add(size)).unwrap_or(&[]);
    field.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}
