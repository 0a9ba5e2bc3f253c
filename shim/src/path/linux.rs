//! Methods for paths that openat2(2) walks from the root without following a symlink.

use core::ffi::{CStr, c_int};

use super::Spelling;
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::fd_paths::{self, REMOVED};
use crate::mmap_box::MmapBox;

/// Most paths of directories are shorter, and stacks may be small.
const SHORT: usize = 256;

impl Spelling {
    /// Whether the path is relative to a descriptor.
    pub(crate) const fn is_by_descriptor(&self) -> bool {
        self.tail > 0 && self.dirfd != libc::AT_FDCWD
    }

    /// The whole path, from the root. Another thread may meanwhile replace the directory that it is relative to
    /// (`chdir`, `dup2`). So the kernel reaches the judged object from here only if it follows no symlink.
    pub(crate) fn rooted(&self) -> (c_int, &CStr) {
        (libc::AT_FDCWD, self.text.c_str(0))
    }

    /// Whether `errno`, the kernel's error for the path from the root, may be wrong for the program's own spelling. The
    /// starting directory may have moved, or may be unreachable by its path.
    #[cold]
    pub(crate) fn is_elsewhere(&self, errno: Errno) -> bool {
        match errno {
            Errno::ENOENT if self.tail > 0 => !self.stands(),
            Errno::EACCES => self.tail > 0,
            _ => false,
        }
    }

    /// Whether the directory that the path is relative to is still at its place.
    #[inline(never)]
    fn stands(&self) -> bool {
        if self.text.as_bytes().get(..self.tail).is_some_and(|path| path.ends_with(REMOVED)) {
            return false;
        }
        if self.tail < SHORT {
            return self.is_at(&mut Buffer::<SHORT>::new());
        }
        MmapBox::<PathBuffer>::blank().is_ok_and(|mut place| self.is_at(&mut place))
    }

    /// Like [`Self::stands`]. `place` must have room for that directory's path.
    fn is_at<const N: usize>(&self, place: &mut Buffer<N>) -> bool {
        fd_paths::ask(self.dirfd, place).is_ok()
            && place.push_separator().is_ok()
            && self.text.as_bytes().get(..self.tail) == Some(place.as_bytes())
    }

    /// The end of the path of a directory that the kernel can be confined to. It is the directory that the spelling is
    /// relative to, or the working directory if an absolute spelling is below that.
    pub(crate) fn directory_end(&self) -> Option<usize> {
        let text = self.text.as_bytes();
        if self.tail > 1 && self.tail < text.len() {
            return Some(self.tail.saturating_sub(1));
        }
        let mut here = PathBuffer::new();
        fd_paths::of_directory(libc::AT_FDCWD, &mut here).ok()?;
        let rest = text.strip_prefix(here.as_bytes())?.strip_prefix(b"/")?;
        Some(text.len().saturating_sub(rest.len()).saturating_sub(1))
    }
}
