//! Starts a script's interpreter in the kernel's stead, if a view is on the way to it or to the script. The kernel knows
//! no views. Used by `exec`.

use core::ffi::{CStr, c_int};

use jp_confine_engine::executable::LINE;
use jp_confine_engine::image::Image;

use super::program::{Executable, Interpreter};
use super::reader::Reader;
use super::scratch::Scratch;
use super::{Program, SCRIPT_DEPTH};
use crate::buffer::{Buffer, CAPACITY};
use crate::errno::Errno;
use crate::fd_paths::DescriptorLink;
use crate::mmap_box::MmapBox;
use crate::sys::process::Strings;
use crate::{sys, views};

/// The first line of each script, and the name of the first one.
const ROOM: usize = (SCRIPT_DEPTH as usize + 1) * LINE + CAPACITY + LINE;

/// A command line of up to this many words needs no mapping.
const ARGUMENTS: usize = 64;

/// The scripts between a program's name and the file that the processor runs first.
pub(super) struct Scripts {
    /// The words that stand before the caller's own, each with a NUL. The kernel puts them there, too (`load_script` in
    /// `fs/binfmt_script.c`).
    words: Option<MmapBox<Buffer<ROOM>>>,
    /// A view is on the way to one of them.
    are_led: bool,
}

impl Scripts {
    /// None so far. `is_led` says whether a view is on the way to the program.
    pub(super) const fn new(is_led: bool) -> Self {
        Self { words: None, are_led: is_led }
    }

    /// Adds a script with its first line, if the run has views.
    ///
    /// # Errors
    /// `EACCES` for a script that is not executable. The kernel may not look at it.
    #[inline(never)]
    pub(super) fn add(
        &mut self,
        image: &Image<'_>,
        script: &Executable,
        line: &Interpreter,
    ) -> Result<(), Errno> {
        if !jp_confine_engine::views::exist(image) {
            return Ok(());
        }
        sys::accessible(&script.object, libc::X_OK)?;
        self.are_led |= views::led(image, libc::AT_FDCWD, line.c_str(0), 0).is_some();
        let words = match &mut self.words {
            Some(words) => words,
            none => none.insert(MmapBox::blank()?),
        };
        words.replace(0, 0, b"\0")?;
        words.replace(0, 0, line.as_bytes())
    }

    /// Calls `run` with what the kernel should start: the program's `path`, or the interpreter of the script that the
    /// caller named `name`.
    pub(super) fn with_start(
        &mut self,
        image: &Image<'_>,
        program: Program,
        (name, path): (&CStr, &CStr),
        run: impl FnOnce(&CStr, Program) -> Errno,
    ) -> Errno {
        let Some(words) = self.words.as_mut().filter(|_| self.are_led) else {
            return run(path, program);
        };
        let mut scratch = Scratch::<ARGUMENTS>::new();
        let argv = match push_name(words, program.dirfd, name)
            .and_then(|()| list(words.as_bytes(), program.argv, &mut scratch))
        {
            Ok(argv) => argv,
            Err(errno) => return errno,
        };
        let led = views::led(image, libc::AT_FDCWD, words.c_str(0), 0);
        let path = led.as_ref().map_or(words.c_str(0), |led| led.text().c_str(0));
        run(path, Program { dirfd: libc::AT_FDCWD, argv, flags: 0, ..program })
    }
}

/// Adds the name by which the interpreter can open the script (`alloc_bprm` in `fs/exec.c`).
///
/// # Errors
/// `ENOENT` if the descriptor will be closed.
#[inline(never)]
fn push_name(words: &mut Buffer<ROOM>, dirfd: c_int, name: &CStr) -> Result<(), Errno> {
    let name = name.to_bytes();
    if dirfd != libc::AT_FDCWD && name.first() != Some(&b'/') {
        if sys::fcntl(dirfd, libc::F_GETFD, 0)? & libc::FD_CLOEXEC != 0 {
            return Err(Errno::ENOENT);
        }
        let link = DescriptorLink::new(dirfd);
        let number = link.as_c_str().to_bytes().get(sys::DESCRIPTORS.len()..).unwrap_or(&[]);
        words.push(b"/dev/fd/")?;
        words.push(number)?;
        if !name.is_empty() {
            words.push(b"/")?;
        }
    }
    words.push(name)?;
    words.push(b"\0")
}

/// Stores pointers to the `words` and to all of `argv` but its first.
#[inline(never)]
fn list(words: &[u8], argv: Strings, scratch: &mut Scratch<ARGUMENTS>) -> Result<Strings, Errno> {
    let mut reader = Reader::new();
    let given = reader.count(argv)?;
    // What follows the last word counts, too, and takes the place of the null pointer at the end.
    let own = words.split(|&byte| byte == 0).count();
    let room = scratch.words(own.saturating_add(given))?;
    let mut slots = room.iter_mut();
    let mut rest = words;
    while let Some(end) = rest.iter().position(|&byte| byte == 0) {
        *slots.next().ok_or(Errno::E2BIG)? = rest.as_ptr().expose_provenance();
        rest = rest.get(end.saturating_add(1)..).unwrap_or(&[]);
    }
    for index in 1..given {
        *slots.next().ok_or(Errno::E2BIG)? = reader.string(argv, index)?.expose_provenance();
    }
    *slots.next().ok_or(Errno::E2BIG)? = 0;
    Ok(room.as_ptr().cast())
}
