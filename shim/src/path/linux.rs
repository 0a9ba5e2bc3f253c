//! Paths that are walked from the root, which openat2(2) does without following a link.

use core::ffi::{CStr, c_int};

use super::Spelling;
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::far::Far;
use crate::places::{self, REMOVED};

/// Paths of directories are seldom longer, and stacks may be small.
const SHORT: usize = 256;

impl Spelling {
    /// Whether the path is relative to a descriptor.
    pub(crate) const fn is_by_descriptor(&self) -> bool {
        self.tail > 0 && self.dirfd != libc::AT_FDCWD
    }

    /// All of the path, from the root. What it is relative to may be replaced meanwhile, by `chdir`
    /// or `dup2` in another thread: only where no link is followed does the kernel arrive from here
    /// at what was judged.
    pub(crate) fn rooted(&self) -> (c_int, &CStr) {
        (libc::AT_FDCWD, self.text.c_str(0))
    }

    /// Whether `errno`, the kernel's answer from the root, may not be the one to what the program
    /// meant: the directory it is relative to was moved, or cannot be reached by its path.
    #[cold]
    pub(crate) fn is_elsewhere(&self, errno: Errno) -> bool {
        match errno {
            Errno::ENOENT if self.tail > 0 => !self.stands(),
            Errno::EACCES => self.tail > 0,
            _ => false,
        }
    }

    /// Whether the directory that the path is relative to still is where it was.
    #[inline(never)]
    fn stands(&self) -> bool {
        if self.text.as_bytes().get(..self.tail).is_some_and(|path| path.ends_with(REMOVED)) {
            return false;
        }
        if self.tail < SHORT {
            return self.is_at(&mut Buffer::<SHORT>::new());
        }
        Far::<PathBuffer>::blank().is_ok_and(|mut place| self.is_at(&mut place))
    }

    /// As [`Self::stands`]; `place` has room for that directory.
    fn is_at<const N: usize>(&self, place: &mut Buffer<N>) -> bool {
        places::ask(self.dirfd, place).is_ok()
            && place.push_separator().is_ok()
            && self.text.as_bytes().get(..self.tail) == Some(place.as_bytes())
    }

    /// Where the path ends of a directory beneath which the kernel may be kept: that to which the
    /// spelling is relative, or the working directory if an absolute spelling is below that.
    pub(crate) fn directory_end(&self) -> Option<usize> {
        let text = self.text.as_bytes();
        if self.tail > 1 && self.tail < text.len() {
            return Some(self.tail.saturating_sub(1));
        }
        let mut here = PathBuffer::new();
        places::of_directory(libc::AT_FDCWD, &mut here).ok()?;
        let rest = text.strip_prefix(here.as_bytes())?.strip_prefix(b"/")?;
        Some(text.len().saturating_sub(rest.len()).saturating_sub(1))
    }
}
