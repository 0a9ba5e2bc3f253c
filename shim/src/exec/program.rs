//! What kind of program a file is, read as the kernel reads it.

use core::ffi::c_int;

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;
use jp_confine_policy::script::interpreter;

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

/// How much of a file the kernel looks at for a `#!` line (`BINPRM_BUF_SIZE`).
const LINE: usize = 256;
/// Enough for the header and the program headers of nearly every binary.
const HEAD: usize = 1024;
/// The path of the interpreter of a script, which a line of [`LINE`] names, or of a loader, of which there
/// is one, with a shorter path, on every system.
pub(crate) type Interpreter = Buffer<LINE>;

/// A kind of executable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A `#!` line names the interpreter.
    Script,
    /// A binary of this machine that names its loader.
    Dynamic,
    /// A binary of this machine without a loader: nothing can be preloaded into it.
    Static,
    /// A loader itself, which starts whatever its words say.
    #[cfg(target_os = "linux")]
    Loader,
    /// A binary of another machine or word size.
    Foreign,
    /// A binary into which the system preloads nothing.
    #[cfg(target_os = "macos")]
    Protected,
    /// Nothing that the kernel itself can run.
    Other,
}

/// A file that is to be started, held.
pub(crate) struct Executable {
    pub(crate) object: Object,
    /// Whether it is a regular file, which every program is.
    pub(crate) is_file: bool,
    /// Whether it still has a name.
    pub(crate) is_named: bool,
    /// The same, open for reading.
    file: Result<Fd, Errno>,
}

impl Executable {
    /// What is held, with what fstat(2) says of it; `open` opens a regular file.
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

    /// As [`Self::new`], of what a spelling leads to. Where the kernel holds what cannot be looked into, it is
    /// not tried for what the policy keeps from being read, or asks about: another layer would report that, and looks
    /// again at what may have changed while somebody was asked.
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

    /// As [`Self::spelled`], of what `request` is about, and `open` opens.
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

    /// Whether it has capabilities of its own.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_capabilities(&self) -> bool {
        self.file.as_ref().is_ok_and(sys::has_capabilities)
    }
}

/// How a program is opened to look into it. What it is was asked before; should it be something else by
/// now, nobody waits for that.
pub(crate) const FLAGS: c_int =
    libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;

/// Looks into the program. Afterwards `next` is the path of the interpreter of a script, or
/// of the loader of a dynamic program; it stays as it is for other programs.
///
/// # Errors
/// `ELOOP` for a link, `EACCES` for what else is no regular file, or may not be read; `ENAMETOOLONG` for a
/// loader of no system.
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

/// Fills `to` from `offset` of the file, whose beginning is `head`; whether that much is there.
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

/// Reads until `to` is full or the file ends; how much that was.
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
