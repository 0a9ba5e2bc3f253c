//! Performs the file actions of `posix_spawn(3)` with mediated primitives. Used by the spawn hooks.
//!
//! Each libc stores them in a private format, unchanged since glibc 2.29 and musl 1.1.24:
//! `sysdeps/unix/sysv/linux/spawni.c`, `posix/spawn_int.h`; `src/process/fdop.h`.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::errno::Errno;
use crate::hooks::{metadata, open};
use crate::libc_functions;
use crate::sys::{self, process};

/// One action in the child.
#[derive(Clone, Copy)]
enum Action {
    Close(c_int),
    Duplicate { from: c_int, to: c_int },
    Open { fd: c_int, path: *const c_char, flags: c_int, mode: c_uint },
    ChangeDirectory(*const c_char),
    ChangeDirectoryTo(c_int),
    CloseFrom(c_int),
    TakeTerminal(c_int),
}

/// `posix_spawn_file_actions_t`. glibc counts an array; musl has only the pointer.
#[derive(Clone, Copy)]
#[repr(C)]
struct FileActions {
    allocated: c_int,
    used: c_int,
    actions: *const c_void,
}

/// glibc's `struct __spawn_action`: a tag and the arguments of the longest action.
#[derive(Clone, Copy)]
#[repr(C)]
struct GlibcAction {
    tag: c_int,
    /// A descriptor, or the first half of a path.
    first: Word,
    /// A path. If `first` is a descriptor, another descriptor may stand beside it.
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
}

/// Two numbers, or a pointer in the same place.
#[derive(Clone, Copy)]
#[repr(C)]
union Word {
    numbers: [c_int; 2],
    path: *const c_char,
}

/// musl's `struct fdop`, without the path at its end. The list begins with the last action.
#[derive(Clone, Copy)]
#[repr(C)]
struct MuslAction {
    next: *const Self,
    previous: *const Self,
    command: c_int,
    fd: c_int,
    from: c_int,
    flags: c_int,
    mode: c_uint,
    path: [c_char; 0],
}

/// Performs the program's file actions. Null means none.
///
/// # Errors
/// The first failure, from the kernel or the policy.
pub(crate) fn perform(call: &CStr, actions: *const c_void) -> Result<(), Errno> {
    if actions.is_null() {
        return Ok(());
    }
    // SAFETY: the program's object, which libc initialised. libc itself relies on that, too.
    let actions: FileActions = unsafe { actions.cast::<FileActions>().read() };
    if libc_functions::is_glibc() {
        perform_glibc(call, &actions)
    } else {
        perform_musl(call, &actions)
    }
}

fn perform_glibc(call: &CStr, actions: &FileActions) -> Result<(), Errno> {
    let count = usize::try_from(actions.used).map_err(|_| Errno::EINVAL)?;
    for index in 0..count {
        let at = actions.actions.cast::<GlibcAction>().wrapping_add(index);
        // SAFETY: the array has `used` elements.
        let action = unsafe { at.read() };
        action.decode()?.perform(call)?;
    }
    Ok(())
}

impl GlibcAction {
    /// Decodes the action.
    ///
    /// # Errors
    /// `EACCES` for an unknown action.
    fn decode(&self) -> Result<Action, Errno> {
        // SAFETY: any bytes are valid as two numbers. libc has cleared or written those that matter.
        let [fd, other] = unsafe { self.first.numbers };
        // SAFETY: any bytes are valid as an address. Only actions with a path dereference it.
        let first_path = unsafe { self.first.path };
        Ok(match self.tag {
            0 => Action::Close(fd),
            1 => Action::Duplicate { from: fd, to: other },
            2 => Action::Open { fd, path: self.path, flags: self.flags, mode: self.mode },
            3 => Action::ChangeDirectory(first_path),
            4 => Action::ChangeDirectoryTo(fd),
            5 => Action::CloseFrom(fd),
            6 => Action::TakeTerminal(fd),
            _ => return Err(Errno::EACCES),
        })
    }
}

fn perform_musl(call: &CStr, actions: &FileActions) -> Result<(), Errno> {
    let mut at = actions.actions.cast::<MuslAction>();
    if at.is_null() {
        return Ok(());
    }
    loop {
        // SAFETY: an element of libc's list.
        let action = unsafe { at.read() };
        if action.next.is_null() {
            break;
        }
        at = action.next;
    }
    while !at.is_null() {
        // SAFETY: as above.
        let action = unsafe { at.read() };
        let path = at.cast::<c_char>().wrapping_add(core::mem::offset_of!(MuslAction, path));
        action.decode(path)?.perform(call)?;
        at = action.previous;
    }
    Ok(())
}

impl MuslAction {
    /// Decodes the action.
    ///
    /// # Errors
    /// `EACCES` for an unknown action.
    fn decode(&self, path: *const c_char) -> Result<Action, Errno> {
        let fd = self.fd;
        Ok(match self.command {
            1 => Action::Close(fd),
            2 => Action::Duplicate { from: self.from, to: fd },
            3 => Action::Open { fd, path, flags: self.flags, mode: self.mode },
            4 => Action::ChangeDirectory(path),
            5 => Action::ChangeDirectoryTo(fd),
            _ => return Err(Errno::EACCES),
        })
    }
}

impl Action {
    fn perform(self, call: &CStr) -> Result<(), Errno> {
        match self {
            Self::Close(fd) => {
                // Closing a descriptor that is not open is not an error (`posix_spawn_file_actions_addclose`).
                sys::close(fd);
                Ok(())
            }
            Self::Duplicate { from, to } => process::duplicate(from, to),
            Self::Open { fd, path, flags, mode } => open_as(call, fd, path, flags, mode),
            Self::ChangeDirectory(path) => {
                metadata::look(libc::AT_FDCWD, path, false, |_, path| {
                    process::change_directory(path)
                })
            }
            Self::ChangeDirectoryTo(fd) => process::change_directory_to(fd),
            Self::CloseFrom(first) => process::close_from(first),
            Self::TakeTerminal(fd) => process::take_terminal(fd),
        }
    }
}

/// Opens a file as descriptor `fd`. Closes `fd` first if it is open.
fn open_as(
    call: &CStr,
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> Result<(), Errno> {
    sys::close(fd);
    let opened = open::open_at(call, libc::AT_FDCWD, path, open::How::new(flags, mode))?;
    if opened == fd {
        return Ok(());
    }
    let outcome = process::duplicate(opened, fd);
    sys::close(opened);
    outcome
}
