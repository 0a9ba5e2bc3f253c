//! Resolves a path of the caller's to a pinned object.
//!
//! If no symlink is on the way, the kernel resolves the path and proves that. Otherwise the supervisor follows the
//! links one by one from pinned directories. Some links mean the process that looks: `/proc/self`, and those in
//! `/proc/PID/fd`. Calls act on the pinned object. No path is resolved twice.

pub(crate) mod descriptor_path;
pub(crate) mod location;
pub(crate) mod object;
pub(crate) mod openat2;
pub(crate) mod walk;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use jp_confine_engine::no_entry::Last;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use super::caller::Caller;
use super::resolve::descriptor_path::Through;
use super::resolve::location::ObjectLocation;
use super::resolve::object::{Object, PinnedEntry, ResolvedObject};
use super::resolve::walk::{Walk, require_owner};
use super::views::Way;

pub(super) const HELD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const HELD_DIRECTORY: OFlags = HELD.union(OFlags::DIRECTORY);
pub(super) const HELD_ENTRY: OFlags = HELD.union(OFlags::NOFOLLOW);

/// A path argument, read once, and the directory that it starts from.
pub(crate) struct Argument<'a> {
    caller: Caller<'a>,
    text: CString,
    start: OwnedFd,
    /// Set if the path begins with a descriptor of the caller's own in `/proc`.
    through: Option<Through>,
}

impl<'a> Argument<'a> {
    /// Reads the path at `address`, relative to `dirfd` as in `openat(2)`.
    ///
    /// # Errors
    /// `EFAULT`, `ENAMETOOLONG`, `ENOENT` for an empty path, `EBADF`.
    pub(crate) fn read(caller: Caller<'a>, dirfd: i32, address: u64) -> Result<Self, Errno> {
        Self::of_text(caller, dirfd, caller.text(address)?)
    }

    /// As [`Self::read`], with a path that has been read.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn of_text(caller: Caller<'a>, dirfd: i32, text: CString) -> Result<Self, Errno> {
        let start = match text.to_bytes().first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => caller.root()?,
            Some(_) => caller.object_at(dirfd)?,
        };
        let through = Through::of(&caller, text.to_bytes());
        Ok(Self { caller, text, start, through })
    }

    /// A name in a pinned directory.
    pub(crate) fn below(caller: Caller<'a>, directory: OwnedFd, name: CString) -> Self {
        Self { caller, text: name, start: directory, through: None }
    }

    /// The directory before the `.` or `..` at the end of the path.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(crate) fn before_dots(&self) -> Result<Self, Errno> {
        let copy = |held: &OwnedFd| held.try_clone().map_err(|_| Errno::MFILE);
        let Split { parent, .. } = split(self.text.to_bytes());
        let through = match &self.through {
            Some(Through { object, end }) => Some(Through { object: copy(object)?, end: *end }),
            None => None,
        };
        let text = CString::new([parent, b"."].concat()).map_err(|_| Errno::ACCESS)?;
        let start = copy(&self.start)?;
        Ok(Self { caller: self.caller, text, start, through })
    }

    pub(crate) fn caller(&self) -> &Caller<'a> {
        &self.caller
    }

    pub(crate) fn text(&self) -> &CStr {
        &self.text
    }

    pub(crate) fn start(&self) -> BorrowedFd<'_> {
        self.start.as_fd()
    }

    /// Whether the path ends in a slash, `.` or `..`.
    pub(crate) fn wants_directory(&self) -> bool {
        let bytes = self.text.to_bytes();
        bytes.ends_with(b"/") || self.is_dotted()
    }

    /// Whether the last component is `.` or `..`.
    pub(crate) fn is_dotted(&self) -> bool {
        self.last() != Last::Name
    }

    /// The kind of the last component.
    pub(crate) fn last(&self) -> Last {
        Last::of(split(self.text.to_bytes()).name)
    }

    /// The path as written, made absolute, and led through the views. Used if it leads nowhere, or there are several
    /// ways.
    ///
    /// # Errors
    /// Fails if its start is unknown.
    pub(crate) fn lexical(&self) -> Result<Vec<u8>, Errno> {
        let mut start = Vec::new();
        if !self.text.to_bytes().starts_with(b"/")
            && let ObjectLocation::Named(path) =
                location::of(&self.caller, self.start.as_fd(), &fstat(&self.start)?)?
        {
            start = path;
        }
        Ok(self.caller.spelled(&start, self.text.to_bytes()))
    }

    /// The place that a path which leads nowhere would have. Follows the links on the way that the policy `shows`. `None`
    /// if there is none.
    pub(crate) fn absent_place(&self, shows: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        // Usually no link is on the way, as the kernel tells at once.
        match self.without_links(&self.text, HELD) {
            Ok(_) | Err(Errno::NOENT) => None,
            Err(_) => self.walk_along(self.text.to_bytes(), false).ok()?.place(shows),
        }
    }

    /// Pins the target of the path. With `stops`, does not follow a link at the end.
    ///
    /// # Errors
    /// The kernel's for a path that leads nowhere.
    pub(crate) fn find(&self, stops: bool) -> Result<ResolvedObject, Errno> {
        let flags = if stops { HELD_ENTRY } else { HELD };
        match self.without_links(&self.text, flags) {
            Ok(file) => {
                let object = Object::locate(&self.caller, file, false)?;
                Ok(ResolvedObject::Object(object.directly()))
            }
            Err(Errno::NOENT) => match self.missing() {
                Some(entry) => Ok(ResolvedObject::Missing(entry)),
                None => self.find_by_links(stops),
            },
            Err(_) => self.find_by_links(stops),
        }
    }

    fn find_by_links(&self, stops: bool) -> Result<ResolvedObject, Errno> {
        Ok(match self.walk(self.text.to_bytes(), stops)? {
            ResolvedObject::Missing(entry) => {
                ResolvedObject::Missing(entry.by_route(self.lexical()?))
            }
            found @ ResolvedObject::Object(_) => found,
        })
    }

    /// Pins the directory that contains the last component. `None` for `.`, `..` and the root, which name no entry.
    ///
    /// # Errors
    /// The kernel's if there is no such directory.
    pub(crate) fn entry(&self) -> Result<Option<PinnedEntry>, Errno> {
        let Split { parent, name, slash } = split(self.text.to_bytes());
        if matches!(name, b"" | b"." | b"..") {
            return Ok(None);
        }
        let parent = if parent.is_empty() { &b"."[..] } else { parent };
        let text = CString::new(parent).map_err(|_| Errno::ACCESS)?;
        let directory = match self.without_links(&text, HELD_DIRECTORY) {
            Ok(directory) => directory,
            Err(_) => match self.walk(parent, false)? {
                ResolvedObject::Object(object) if object.kind() == FileType::Directory => {
                    object.file
                }
                ResolvedObject::Object(_) => return Err(Errno::NOTDIR),
                ResolvedObject::Missing(_) => return Err(Errno::NOENT),
            },
        };
        let directory = self.directory_of(directory, name)?;
        let entry = PinnedEntry::new(&self.caller, directory, name, slash)?;
        let route = self.lexical().unwrap_or_else(|_| entry.path.clone());
        Ok(Some(entry.by_route(route)))
    }

    /// Whether an open that may create the object may open it, even if another user owns it.
    ///
    /// # Errors
    /// `EACCES` if it may not, or that is unknown.
    pub(crate) fn check_planted(&self, object: &Object) -> Result<(), Errno> {
        let directory = if object.is_direct() {
            let Split { parent, .. } = split(self.text.to_bytes());
            let parent = CString::new(parent).map_err(|_| Errno::ACCESS)?;
            Some(fstat(self.without_links(&parent, HELD_DIRECTORY)?)?.into())
        } else {
            object.directory()
        };
        let protection = self.caller.proc().protection();
        let kept = directory.is_some_and(|it| protection.keeps_file(&object.stat, it));
        if kept { require_owner(&self.caller, &object.stat) } else { Ok(()) }
    }

    /// The missing entry, if no link is on the way to its directory.
    fn missing(&self) -> Option<PinnedEntry> {
        let Split { parent, name, slash } = split(self.text.to_bytes());
        if matches!(name, b"" | b"." | b"..") {
            return None;
        }
        let parent = if parent.is_empty() { &b"."[..] } else { parent };
        let text = CString::new(parent).ok()?;
        let directory = self.without_links(&text, HELD_DIRECTORY).ok()?;
        let directory = self.directory_of(directory, name).ok()?;
        let entry = PinnedEntry::new(&self.caller, directory, name, slash).ok()?;
        let found = openat(&entry.directory, name, HELD_ENTRY, Mode::empty());
        (found.err() == Some(Errno::NOENT)).then_some(entry)
    }

    /// The directory in which the caller sees the entry `name` of this one. They differ where a view begins or ends.
    fn directory_of(&self, directory: OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        let way = self.caller.way(&directory, |views, path| views.entry(path, name));
        let Way::To(path) = way else { return Ok(directory) };
        match as_it_stands(&self.caller, split(&path).parent, HELD_DIRECTORY) {
            // A link on that way led here.
            Err(Errno::LOOP) => Ok(directory),
            found => found,
        }
    }

    fn without_links(&self, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        match self.caller.way(&self.start, |views, start| views.way(start, path.to_bytes())) {
            Way::Plain => below(&self.start, path, flags),
            Way::To(path) => as_it_stands(&self.caller, &path, flags),
            Way::Along(_) => Err(Errno::LOOP),
        }
    }

    fn walk(&self, path: &[u8], stops: bool) -> Result<ResolvedObject, Errno> {
        self.walk_along(path, stops)?.finish(stops)
    }

    fn walk_along(&self, path: &[u8], stops: bool) -> Result<Walk<'_, 'a>, Errno> {
        let current = openat(&self.start, ".", HELD_DIRECTORY, Mode::empty())?;
        let mut walk = Walk::new(&self.caller, current, path);
        let through = self.through.as_ref().map(|through| (through, path.get(through.end..)));
        if let Some((Through { object, .. }, Some(rest))) = through
            && !(stops && rest.is_empty())
        {
            walk.enter(object.try_clone().map_err(|_| Errno::MFILE)?, rest.to_vec(), true)?;
        }
        Ok(walk)
    }
}

/// Pins what is at a path that no view shows and no link is on.
fn as_it_stands(caller: &Caller<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = caller.root()?;
    caller.confirm()?;
    below(&root, &CString::new(path).map_err(|_| Errno::ACCESS)?, flags)
}

/// Pins what a path without links leads to, from a directory even if the path begins with a slash.
fn below(start: &OwnedFd, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let relative = path.to_bytes().iter().position(|&byte| byte != b'/');
    let relative = relative.and_then(|at| path.to_bytes_with_nul().get(at..));
    let relative = relative.and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok());
    let path = relative.unwrap_or(c".");
    openat2(start, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The parts of a path.
pub(crate) struct Split<'p> {
    pub(crate) parent: &'p [u8],
    pub(crate) name: &'p [u8],
    pub(crate) slash: bool,
}

/// The directory's path, the last component, and whether a slash follows it.
pub(crate) fn split(path: &[u8]) -> Split<'_> {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let (whole, slashes) = path.split_at_checked(end).unwrap_or((path, b""));
    let start = whole.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (parent, name) = whole.split_at_checked(start).unwrap_or((b"", whole));
    Split { parent, name, slash: !slashes.is_empty() }
}
