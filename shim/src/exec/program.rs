//! Determines the kind of a program file, by the kernel's rules.

use core::ffi::c_int;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::executable::{Contents, ExecutableKind, HEAD, Head, LINE};
use jp_confine_engine::image::Image;

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::resolve;
use crate::sys::{self, Fd, Object};

#[cfg(target_os = "macos")]
mod mach_o;

/// The path of a script's interpreter or of a loader. If the script gives the interpreter an argument, it follows a NUL.
/// Both stand in a line of [`LINE`] bytes. Each system has only one loader, with a shorter path.
pub(crate) type Interpreter = Buffer<LINE>;

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
pub(crate) fn inspect(
    program: &Executable,
    next: &mut Interpreter,
) -> Result<ExecutableKind, Errno> {
    let file = match &program.file {
        Ok(file) => file,
        Err(errno) => return Err(*errno),
    };
    let mut room = [0_u8; HEAD];
    let head = Head::read(file, &mut room)?;
    let mut keep = |before: usize, part: &[u8]| {
        if before == 0 {
            next.clear();
        }
        next.push(part)
    };
    if head.is_script() {
        let Some(line) = head.first_line() else { return Ok(ExecutableKind::Other) };
        keep(0, line.interpreter)?;
        if let Some(argument) = line.argument {
            next.push(b"\0")?;
            next.push(argument)?;
        }
        return Ok(ExecutableKind::Script);
    }
    #[cfg(target_os = "linux")]
    return head.binary(keep);
    #[cfg(target_os = "macos")]
    return mach_o::binary(file, &head);
}

impl Contents for Fd {
    type Error = Errno;
    const CUT_OFF: Errno = Errno::EIO;

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize, Errno> {
        let mut filled = 0_usize;
        while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match sys::pread(self.raw(), rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled = filled.saturating_add(count),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(filled)
    }
}
