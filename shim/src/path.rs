//! Makes a program's path argument absolute and normalises it. Used by all hooks that take paths.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::decide::Request;
use jp_confine_engine::no_entry::Last;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::fd_paths;
use crate::memory::Text;
#[cfg(target_os = "linux")]
use crate::views;

#[cfg(target_os = "linux")]
mod linux;

/// The longest name, with a slash and the NUL. HFS+ has names of 765 bytes.
pub(crate) const NAME: usize = if cfg!(target_os = "macos") { 768 } else { 257 };

/// A path argument of the program, read once and made absolute.
pub(crate) struct Spelling {
    text: PathBuffer,
    dirfd: c_int,
    /// Start of the part that is relative to `dirfd`. Zero if the kernel gets the whole text.
    tail: usize,
    /// A `..` follows a name, so only the kernel knows where the path leads.
    physical: bool,
    /// The program wrote a slash (or `/.`) at the end, so the object must be a directory.
    slash: bool,
    /// The kind of the last component, as the program wrote it.
    last: Last,
    /// It goes up from a directory that a view shows, so the kernel would go up elsewhere.
    #[cfg(target_os = "linux")]
    from_view: bool,
}

impl Spelling {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else the buffer is copied to the caller")]
    pub(crate) fn new() -> Self {
        Self {
            text: PathBuffer::new(),
            dirfd: libc::AT_FDCWD,
            tail: 0,
            physical: false,
            slash: false,
            last: Last::Name,
            #[cfg(target_os = "linux")]
            from_view: false,
        }
    }

    /// Reads the argument at `path`, relative to `dirfd` as in openat(2).
    ///
    /// # Errors
    /// `EFAULT`, `ENAMETOOLONG`, `ENOENT` (an empty path), `EBADF`, `ENOTDIR`, or `EACCES` if the starting directory
    /// has no path.
    pub(crate) fn read(&mut self, dirfd: c_int, path: *const c_char) -> Result<(), Errno> {
        self.read_text(dirfd, Text::at(path)?)
    }

    /// Like [`Self::read`], for an argument that was found readable.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_text(&mut self, dirfd: c_int, path: Text) -> Result<(), Errno> {
        if path.first() == 0 {
            return Err(Errno::ENOENT);
        }
        self.dirfd = dirfd;
        if path.first() == b'/' {
            self.dirfd = libc::AT_FDCWD;
            self.text.clear();
        } else {
            if let Err(errno) = fd_paths::of_directory(dirfd, &mut self.text) {
                // The kernel also reads the string before it checks the descriptor.
                self.text.clear();
                return path.copy_to(&mut self.text).and(Err(errno));
            }
            self.text.push_separator()?;
        }
        self.tail = self.text.len();
        path.copy_to(&mut self.text)?;
        self.normalise_argument()
    }

    /// Like [`Self::read`], for a path in the library's own memory.
    pub(crate) fn read_own(&mut self, dirfd: c_int, path: &[u8]) -> Result<(), Errno> {
        self.dirfd = dirfd;
        self.text.clear();
        if path.first() != Some(&b'/') {
            fd_paths::of_directory(dirfd, &mut self.text)?;
            self.text.push_separator()?;
        }
        self.tail = self.text.len();
        self.text.push(path)?;
        self.normalise_argument()
    }

    /// Whether the text's lexical meaning is the kernel's, as long as no symlink is on the way.
    pub(crate) const fn is_lexical(&self) -> bool {
        !self.physical
    }

    pub(crate) const fn wants_directory(&self) -> bool {
        self.slash
    }

    /// Whether it goes up from a directory that a view shows.
    #[cfg(target_os = "linux")]
    pub(crate) const fn is_from_view(&self) -> bool {
        self.from_view
    }

    /// Whether the last component is `.` or `..`.
    pub(crate) const fn is_dotted(&self) -> bool {
        !matches!(self.last, Last::Name)
    }

    /// The kind of the last component.
    pub(crate) const fn last(&self) -> Last {
        self.last
    }

    /// The program's own spelling: a directory descriptor and a path relative to it. The caller must determine
    /// afterwards where it led.
    pub(crate) fn as_spelled(&self) -> (c_int, &CStr) {
        if self.tail == 0 {
            (libc::AT_FDCWD, self.text.c_str(0))
        } else if self.tail >= self.text.len() {
            (self.dirfd, c".")
        } else {
            (self.dirfd, self.text.c_str(self.tail))
        }
    }

    /// The absolute path without a trailing slash.
    pub(crate) fn lexical(&self) -> &[u8] {
        match self.text.as_bytes() {
            [path @ .., b'/'] if !path.is_empty() && self.slash => path,
            path => path,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request::canonical(self.lexical())
    }

    /// Replaces the first `consumed` bytes with `target`, a canonical absolute path.
    pub(crate) fn rewrite(&mut self, consumed: usize, target: &[u8]) -> Result<(), Errno> {
        self.tail = 0;
        self.text.replace_start(consumed, target)
    }

    /// Replaces the first `consumed` bytes of the text, which may have been changed, with `target`, and normalises it anew.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    #[cfg(target_os = "linux")]
    pub(crate) fn lead(&mut self, consumed: usize, target: &[u8]) -> Result<(), Errno> {
        let last = self.last;
        self.rewrite(consumed, target)?;
        self.dirfd = libc::AT_FDCWD;
        self.physical = false;
        self.normalise_argument()?;
        if self.last == Last::Name {
            self.last = last;
        }
        Ok(())
    }

    /// Respells the entry relative to its directory, whose canonical path `locate` writes.
    ///
    /// # Errors
    /// Those of `locate`, and `ENAMETOOLONG`.
    pub(crate) fn respell_directory(
        &mut self,
        locate: impl FnOnce(&mut PathBuffer) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut name = Buffer::<NAME>::new();
        let name_at = self.split().name_at;
        name.push(self.text.as_bytes().get(name_at..).unwrap_or(&[]))?;
        locate(&mut self.text)?;
        if self.text.as_bytes().first() != Some(&b'/') {
            return Err(Errno::EACCES);
        }
        self.text.push_separator()?;
        self.text.push(name.as_bytes())?;
        self.tail = 0;
        self.physical = false;
        Ok(())
    }

    /// Replaces the last component, a symlink to `target`, by its target. The path of its directory must be canonical.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    pub(crate) fn follow(&mut self, target: &[u8]) -> Result<(), Errno> {
        let kept = if target.first() == Some(&b'/') { 0 } else { self.split().name_at };
        self.text.truncate(kept);
        self.text.push(target)?;
        self.dirfd = libc::AT_FDCWD;
        self.tail = 0;
        self.physical = false;
        self.normalise_argument()
    }

    /// Copies `other` into `self`.
    ///
    /// # Errors
    /// None, because it fits.
    pub(crate) fn copy(&mut self, other: &Self) -> Result<(), Errno> {
        self.text.clear();
        self.text.push(other.text.as_bytes())?;
        self.dirfd = other.dirfd;
        self.tail = other.tail;
        self.physical = other.physical;
        self.slash = other.slash;
        self.last = other.last;
        #[cfg(target_os = "linux")]
        {
            self.from_view = other.from_view;
        }
        Ok(())
    }

    /// Replaces the entry's name by the one that its directory has for it, without a trailing slash. The directory's
    /// path must be canonical.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    #[cfg(target_os = "macos")]
    pub(crate) fn rename(&mut self, name: &[u8]) -> Result<(), Errno> {
        let name_at = self.split().name_at;
        self.text.truncate(name_at);
        self.text.push(name)
    }

    /// Requires a directory, as a trailing slash does.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    #[cfg(target_os = "macos")]
    pub(crate) fn end_in_slash(&mut self) -> Result<(), Errno> {
        self.slash = true;
        self.text.push_separator()
    }

    /// Resolves every `..` lexically, for a verdict on the spelling alone.
    pub(crate) fn collapse(&mut self) {
        self.physical = false;
        self.tail = 0;
        self.normalise(0, true);
    }

    /// The start of the last component, and whether it is an ordinary name.
    pub(crate) fn split(&self) -> Split {
        let path = self.lexical();
        let name_at =
            path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash.saturating_add(1));
        let name = path.get(name_at..).unwrap_or(&[]);
        Split { name_at, ordinary: !self.is_dotted() && !name.is_empty() }
    }

    pub(crate) const fn text(&self) -> &PathBuffer {
        &self.text
    }

    pub(crate) const fn text_mut(&mut self) -> &mut PathBuffer {
        &mut self.text
    }

    pub(crate) const fn tail(&self) -> usize {
        self.tail
    }

    pub(crate) const fn dirfd(&self) -> c_int {
        self.dirfd
    }

    /// Normalises the program's part, as far as that keeps its meaning.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    fn normalise_argument(&mut self) -> Result<(), Errno> {
        #[cfg(target_os = "linux")]
        {
            self.from_view = false;
        }
        let form = self.form();
        self.slash = form.slash;
        self.last = form.last;
        match form.shape {
            Shape::Normal => {}
            Shape::Untidy => self.normalise(self.tail, false),
            Shape::Climbs => {
                // The directory that it is relative to is canonical, so going up from there lexically is exact.
                #[cfg(target_os = "linux")]
                {
                    self.from_view = views::show_start(&mut self.text, self.tail)?;
                }
                self.tail = 0;
                self.normalise(0, true);
            }
            Shape::Physical => {
                self.physical = true;
                while self.text.as_bytes().ends_with(b"//") {
                    self.text.truncate(self.text.len().saturating_sub(1));
                }
            }
        }
        if self.tail == 0 {
            self.dirfd = libc::AT_FDCWD;
        }
        Ok(())
    }

    fn form(&self) -> Form {
        let mut form = Form { shape: Shape::Normal, slash: false, last: Last::Name };
        let mut named = false;
        let mut rest = self.text.as_bytes().get(self.tail..).unwrap_or(&[]);
        if self.tail == 0 {
            rest = rest.get(1..).unwrap_or(&[]);
        }
        if is_plain(rest) {
            return form;
        }
        for component in rest.split(|&byte| byte == b'/') {
            form.slash = matches!(component, [] | b"." | b"..");
            form.last = if component.is_empty() { form.last } else { Last::of(component) };
            let shape = match component {
                b".." if named => Shape::Physical,
                b".." => Shape::Climbs,
                [] | b"." => Shape::Untidy,
                _ => Shape::Normal,
            };
            named |= !form.slash;
            form.shape = form.shape.max(shape);
        }
        form
    }

    /// Rewrites the text from byte `from` on without empty components and `.`. If `climb` is set, also without `..`.
    /// Keeps a slash that requires a directory.
    fn normalise(&mut self, from: usize, climb: bool) {
        let len = self.text.len();
        let mut to = from;
        let mut at = from;
        while at < len {
            if self.text.get(at) == b'/' {
                at = at.saturating_add(1);
                continue;
            }
            let mut end = at;
            while end < len && self.text.get(end) != b'/' {
                end = end.saturating_add(1);
            }
            let component = self.text.as_bytes().get(at..end).unwrap_or(&[]);
            match component {
                b"." => {}
                b".." if climb => to = self.parent_end(to),
                _ => {
                    if to == 0 || self.text.get(to.saturating_sub(1)) != b'/' {
                        self.text.set(to, b'/');
                        to = to.saturating_add(1);
                    }
                    for from in at..end {
                        let byte = self.text.get(from);
                        self.text.set(to, byte);
                        to = to.saturating_add(1);
                    }
                }
            }
            at = end;
        }
        self.end_at(to);
    }

    /// Ends the text at `to`. The result is the root, or keeps the slash that requires a directory.
    fn end_at(&mut self, to: usize) {
        let mut to = to;
        if to == 0 {
            self.text.set(0, b'/');
            to = 1;
        }
        if to > 1 && self.text.get(to.saturating_sub(1)) == b'/' {
            to = to.saturating_sub(1);
        }
        self.text.truncate(to);
        if self.slash && to > 1 && to > self.tail {
            // There is room, because the program's own text was at least the slash longer.
            let _ = self.text.push(b"/");
        }
    }

    /// The end of the path that ends at `end`, without its last component.
    fn parent_end(&self, end: usize) -> usize {
        let path = self.text.as_bytes().get(..end).unwrap_or(&[]);
        path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)
    }
}

/// Whether no component is empty or begins with a dot. A quick test for the common case.
fn is_plain(path: &[u8]) -> bool {
    let begins = |&byte: &u8| matches!(byte, b'/' | b'.');
    let after = path.get(1..).unwrap_or(&[]);
    // Has no early exit, so that one step covers many bytes.
    let untidy = |found, (&byte, next)| found | (byte == b'/' && begins(next));
    let within = path.iter().zip(after).fold(false, untidy);
    !within && !path.first().is_none_or(begins) && path.last() != Some(&b'/')
}

/// The position of a path's last component.
#[derive(Clone, Copy)]
pub(crate) struct Split {
    pub(crate) name_at: usize,
    /// The component is not `.`, `..` or the root, but an entry that can be created, renamed or deleted.
    pub(crate) ordinary: bool,
}

struct Form {
    shape: Shape,
    slash: bool,
    last: Last,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// Nothing to normalise.
    Normal,
    /// Has empty components or `.`.
    Untidy,
    /// Has `..`, but only at the front.
    Climbs,
    /// Has `..` after a name.
    Physical,
}
