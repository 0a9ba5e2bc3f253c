//! Holding what was judged: a descriptor of it, so that what is used is what was checked, whatever
//! happens to names in between (spec §4.2).

use std::borrow::ToOwned as _;
use std::ffi::OsString;
use std::format;
use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::vec::Vec;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fstat, openat2,
    renameat_with,
};
use rustix::io::Errno;

use crate::canonical;
use crate::capability::Capability;
use crate::granted::Going;
use crate::moves_alone::{move_alone, replace};

/// Something that one capability was granted on, held by an `O_PATH` descriptor: the object itself,
/// or, to create and to delete, and for what does not exist, the nearest directory above it.
///
/// Methods ask for the capability that they exercise and fail with
/// [`io::ErrorKind::PermissionDenied`] where it is another one; no method follows a symbolic link.
#[derive(Debug)]
pub struct Pin {
    path: PathBuf,
    capability: Capability,
    held: OwnedFd,
    /// The way from what is held to what is meant; empty where that is the same.
    rest: PathBuf,
}

impl Pin {
    /// Holds `path`, canonical and judged. It is proved that no link is on the way now, so that what
    /// is held is what was judged.
    ///
    /// # Errors
    /// The kernel's; `ELOOP` where a link has come in between.
    pub(crate) fn hold(path: &Path, capability: Capability) -> io::Result<Self> {
        Self::hold_from(None, path, capability)
    }

    /// As [`Self::hold`]; what lies in the workspace beneath its root, if that is held.
    pub(crate) fn hold_from(
        root: Option<&HeldRoot>,
        path: &Path,
        capability: Capability,
    ) -> io::Result<Self> {
        let is_entry = matches!(capability, Capability::Create | Capability::Delete);
        Self::nearest(root, path, capability, is_entry)
    }

    /// Holds the directory of an entry, whatever the capability.
    pub(crate) fn of_entry(
        root: Option<&HeldRoot>,
        path: &Path,
        capability: Capability,
    ) -> io::Result<Self> {
        Self::nearest(root, path, capability, true)
    }

    fn nearest(
        root: Option<&HeldRoot>,
        path: &Path,
        capability: Capability,
        is_entry: bool,
    ) -> io::Result<Self> {
        for dir in path.ancestors().skip(usize::from(is_entry)) {
            let rest = path.strip_prefix(dir).unwrap_or(path).to_owned();
            let is_object = rest.as_os_str().is_empty();
            let kind = if is_object { OFlags::empty() } else { OFlags::DIRECTORY };
            match hold_plainly(root, dir, kind) {
                Ok(held) => return Ok(Self { path: path.to_owned(), capability, held, rest }),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// The canonical absolute path that was judged.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was granted.
    #[must_use]
    pub const fn capability(&self) -> Capability {
        self.capability
    }

    /// What `fstat(2)` says about the object; about a link itself where the entry was judged.
    ///
    /// # Errors
    /// The kernel's; `ENOENT` where there is nothing.
    pub fn metadata(&self) -> io::Result<Metadata> {
        if self.is_object() {
            return File::from(self.held.try_clone()?).metadata();
        }
        File::from(self.open_entry(OFlags::PATH)?).metadata()
    }

    /// Opens for reading, with [`Capability::Read`]. A pipe is opened without waiting for its other
    /// side, and reads as if it were empty.
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`.
    pub fn open(&self) -> io::Result<File> {
        self.demand(Capability::Read)?;
        self.reopen(OFlags::RDONLY)
    }

    /// The names in the directory, in no order, with [`Capability::Read`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.demand(Capability::Read)?;
        let mut names = Vec::new();
        for entry in Dir::new(self.reopen(OFlags::RDONLY | OFlags::DIRECTORY)?)? {
            let name = entry?.file_name().to_bytes().to_owned();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Opens the file for writing, what it holds kept, with [`Capability::Update`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`.
    pub fn open_to_write(&self) -> io::Result<File> {
        self.demand(Capability::Update)?;
        self.reopen(OFlags::WRONLY)
    }

    /// Creates the file and opens it for writing, with [`Capability::Create`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`: `EEXIST` where something has the name, be it a dangling
    /// link, and `ENOENT` where its directory is missing.
    pub fn create_new(&self) -> io::Result<File> {
        self.demand(Capability::Create)?;
        Ok(self.open_entry(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?.into())
    }

    /// Creates the directory, with [`Capability::Create`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`, as [`Self::create_new`].
    pub fn create_dir(&self) -> io::Result<()> {
        self.demand(Capability::Create)?;
        let (dir, name) = self.entry()?;
        Ok(rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?)
    }

    /// Makes `contents` all that the file holds: of a new file with [`Capability::Create`], of one
    /// that exists with [`Capability::Update`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`.
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        let mut file = match self.capability {
            Capability::Create => self.create_new()?,
            _ => self.open_to_write()?,
        };
        file.set_len(0)?;
        file.write_all(contents)
    }

    /// Removes the file, the link or the empty directory, with [`Capability::Delete`].
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`.
    pub fn remove(&self) -> io::Result<()> {
        self.demand(Capability::Delete)?;
        let (dir, name) = self.entry()?;
        let flags = if self.metadata()?.is_dir() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(rustix::fs::unlinkat(dir, name, flags)?)
    }

    /// Gives what is meant the name that `to` means, both entries: this one with
    /// [`Capability::Delete`], that one with [`Capability::Create`] or, where it is to be replaced,
    /// [`Capability::Update`] that was asked for with [`Granted::pin_entry`]. What may go is for
    /// [`Context::going`] to say: [`Going::Whole`] is one step (`rename(2)`); [`Going::Alone`] takes several (`link(2)`
    /// and `unlink(2)`), so that others may see both names for a moment, or none where one is replaced.
    ///
    /// # Errors
    /// The kernel's, or `PermissionDenied`: `EEXIST` where there is something to replace, and that was
    /// not asked for. Of what goes alone also `EISDIR` for a directory, `ELOOP` for a symlink that must not go, and
    /// `EXDEV` where the kernel makes no such link, or none may be tried beside the destination: then it is to be copied.
    ///
    /// [`Context::going`]: crate::check::Context::going
    /// [`Granted::pin_entry`]: crate::granted::Granted::pin_entry
    pub fn rename_to(&self, to: &Self, going: Going) -> io::Result<()> {
        self.demand(Capability::Delete)?;
        let flags = match to.capability {
            Capability::Update => RenameFlags::empty(),
            _ => to.demand(Capability::Create).map(|()| RenameFlags::NOREPLACE)?,
        };
        let (from, to) = (self.entry()?, to.entry()?);
        Ok(match going {
            Going::Alone(way) => {
                move_alone((from.0.as_fd(), from.1), (to.0.as_fd(), to.1), flags, way)
            }
            Going::Over(movable) if flags.is_empty() => {
                replace((from.0.as_fd(), from.1), (to.0.as_fd(), to.1), movable)
            }
            Going::Over(_) => Err(Errno::EXIST),
            Going::Whole => renameat_with(from.0, from.1, to.0, to.1, flags),
        }?)
    }

    fn demand(&self, capability: Capability) -> io::Result<()> {
        if self.capability == capability {
            return Ok(());
        }
        let text = format!("{capability} was not asked for, but {}", self.capability);
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }

    fn is_object(&self) -> bool {
        self.rest.as_os_str().is_empty()
    }

    /// Opens what is meant with other rights, never waiting for the other side of a pipe. `/proc` leads from the
    /// descriptor to its object; that it did is looked at, because anything may be mounted there.
    fn reopen(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOCTTY | OFlags::NONBLOCK;
        if !self.is_object() {
            return Ok(self.open_entry(flags)?.into());
        }
        let link = link_to(&self.held);
        let file = File::from(rustix::fs::open(link, flags | OFlags::CLOEXEC, Mode::empty())?);
        let (opened, held) = (fstat(&file)?, fstat(&self.held)?);
        if (opened.st_dev, opened.st_ino) == (held.st_dev, held.st_ino) {
            Ok(file)
        } else {
            Err(io::Error::other("/proc/self/fd leads to another file"))
        }
    }

    /// Opens the entry itself, in its directory.
    fn open_entry(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let (dir, name) = self.entry()?;
        let created = if flags.contains(OFlags::CREATE) { 0o666 } else { 0 };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(created))?)
    }

    /// The directory of the entry, and its name. Directories on the way to it that were missing may
    /// have come since.
    fn entry(&self) -> io::Result<(OwnedFd, &Path)> {
        let name = self.rest.file_name().map_or(Path::new(""), Path::new);
        let between = self.rest.parent().unwrap_or(Path::new(""));
        if between.as_os_str().is_empty() {
            return Ok((self.held.try_clone()?, name));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok((openat2(&self.held, between, flags, Mode::empty(), resolve)?, name))
    }
}

/// The descriptor: of the object, or of the directory nearest to what does not exist or is meant as
/// an entry. It says where something is, and gives no right to anything (`O_PATH`, `open(2)`).
impl AsFd for Pin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

impl From<Pin> for OwnedFd {
    fn from(pin: Pin) -> Self {
        pin.held
    }
}

/// The root of a workspace, held: what is used in it is opened beneath this directory, whatever has its name.
#[derive(Debug)]
pub struct HeldRoot {
    path: PathBuf,
    directory: OwnedFd,
}

impl HeldRoot {
    /// Holds the directory at `path`, absolute and canonical.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let directory = hold_plainly(None, path, OFlags::DIRECTORY)?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Whether its path still leads to it.
    ///
    /// # Errors
    /// The kernel's, about the directory itself.
    pub fn stands(&self) -> io::Result<bool> {
        let held = fstat(&self.directory)?;
        let there = rustix::fs::lstat(&self.path);
        Ok(there.is_ok_and(|there| (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)))
    }

    /// What is at `path`, canonical, itself: `None` where there is nothing. No right is needed, and none
    /// is given.
    ///
    /// # Errors
    /// The kernel's; `ELOOP` where `path` is not canonical.
    pub fn look(&self, path: &Path) -> io::Result<Option<Metadata>> {
        match Pin::of_entry(Some(self), path, Capability::Read).and_then(|pin| pin.metadata()) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for HeldRoot {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Holds what is at `path`, absolute and canonical, where no symbolic link is on the way: beneath `root`, if it
/// lies there.
fn hold_plainly(root: Option<&HeldRoot>, path: &Path, kind: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | kind;
    let inside = root.and_then(|root| Some((root, canonical::below(&root.path, path)?)));
    let held = match inside {
        Some((root, rest)) => {
            let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            openat2(&root.directory, rest, flags, Mode::empty(), resolve)
        }
        None => openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS),
    };
    match held {
        // Of kernels before 5.6, and of filters of system calls: jp-confine's own is one.
        Err(Errno::NOSYS) => hold_and_compare(path, flags),
        held => held,
    }
}

/// The same without `openat2(2)`: whatever it was that got held, the kernel tells where that is.
fn hold_and_compare(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let held = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let place = rustix::fs::readlink(link_to(&held), Vec::new())?;
    let is_link = FileType::from_raw_mode(fstat(&held)?.st_mode) == FileType::Symlink;
    // What was removed is told apart by nothing but this ending.
    let may_be_removed = place.to_bytes().ends_with(b" (deleted)");
    if is_link || may_be_removed || place.to_bytes() != path.as_os_str().as_bytes() {
        return Err(Errno::LOOP);
    }
    Ok(held)
}

/// The name under which `/proc` leads to what is held.
fn link_to(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

#[cfg(test)]
mod tests;
