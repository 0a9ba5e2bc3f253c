//! Pins judged objects: a descriptor makes sure that the object used is the object judged, whatever happens to names in
//! between (spec §4.2).

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

use crate::canonical::{self, Root};
use crate::capability::Capability;
use crate::moves_alone::{RenameKind, move_alone, replace};

/// An object on which one capability was granted, pinned by an `O_PATH` descriptor. To create and to delete, and for a
/// path that does not exist, the descriptor is that of the nearest existing directory above it.
///
/// Each method demands the capability that it uses, and fails with [`io::ErrorKind::PermissionDenied`] for any other.
/// No method follows a symlink.
#[derive(Debug)]
pub struct Pin {
    path: PathBuf,
    capability: Capability,
    held: OwnedFd,
    /// The way from the pinned directory to the path. Empty if the path itself is pinned.
    rest: PathBuf,
}

impl Pin {
    /// Pins `path`, which is canonical and was judged. Verifies that no symlink is on the way now, so that the pinned
    /// object is the judged one.
    ///
    /// # Errors
    /// The kernel's error, or `ELOOP` if a symlink has come in between.
    pub(crate) fn hold(path: &Path, capability: Capability) -> io::Result<Self> {
        Self::hold_from(None, path, capability)
    }

    /// As [`Self::hold`]. Opens a path in the workspace beneath its root, if that is pinned.
    pub(crate) fn hold_from(
        root: Option<&HeldRoot>,
        path: &Path,
        capability: Capability,
    ) -> io::Result<Self> {
        let is_entry = matches!(capability, Capability::Create | Capability::Delete);
        Self::nearest(root, path, capability, is_entry)
    }

    /// Pins the directory of an entry, for any capability.
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

    /// The granted capability.
    #[must_use]
    pub const fn capability(&self) -> Capability {
        self.capability
    }

    /// The `fstat(2)` data of the object. For a judged entry that is a symlink, the data of the symlink itself.
    ///
    /// # Errors
    /// The kernel's error, such as `ENOENT` if nothing exists.
    pub fn metadata(&self) -> io::Result<Metadata> {
        if self.is_object() {
            return File::from(self.held.try_clone()?).metadata();
        }
        File::from(self.open_entry(OFlags::PATH)?).metadata()
    }

    /// Opens for reading, with [`Capability::Read`]. A pipe is opened without waiting for its other side, and reads as
    /// if it were empty.
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`.
    pub fn open(&self) -> io::Result<File> {
        self.demand(Capability::Read)?;
        self.reopen(OFlags::RDONLY)
    }

    /// The names in the directory, in no order, with [`Capability::Read`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`.
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

    /// Opens the file for writing without truncating it, with [`Capability::Update`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`.
    pub fn open_to_write(&self) -> io::Result<File> {
        self.demand(Capability::Update)?;
        self.reopen(OFlags::WRONLY)
    }

    /// Creates the file and opens it for writing, with [`Capability::Create`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`. `EEXIST` means that the name is taken, perhaps by a dangling symlink,
    /// and `ENOENT` that its directory is missing.
    pub fn create_new(&self) -> io::Result<File> {
        self.demand(Capability::Create)?;
        Ok(self.open_entry(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?.into())
    }

    /// Creates the directory, with [`Capability::Create`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`, as for [`Self::create_new`].
    pub fn create_dir(&self) -> io::Result<()> {
        self.demand(Capability::Create)?;
        let (dir, name) = self.entry()?;
        Ok(rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777))?)
    }

    /// Makes `contents` the whole content of the file. A new file takes [`Capability::Create`], an existing one
    /// [`Capability::Update`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`.
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        let mut file = match self.capability {
            Capability::Create => self.create_new()?,
            _ => self.open_to_write()?,
        };
        file.set_len(0)?;
        file.write_all(contents)
    }

    /// Removes the file, the symlink or the empty directory, with [`Capability::Delete`].
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`.
    pub fn remove(&self) -> io::Result<()> {
        self.demand(Capability::Delete)?;
        let (dir, name) = self.entry()?;
        let flags = if self.metadata()?.is_dir() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(rustix::fs::unlinkat(dir, name, flags)?)
    }

    /// Renames this entry to the entry of `to`. This pin needs [`Capability::Delete`], and `to` needs
    /// [`Capability::Create`]. To replace an entry, `to` needs [`Capability::Update`] from [`Granted::pin_entry`].
    ///
    /// [`Context::rename_kind`] says what may move. [`RenameKind::Whole`] is one step (`rename(2)`). [`RenameKind::Alone`] takes
    /// several (`link(2)` and `unlink(2)`): for a moment others may see both names, or none if an entry is replaced.
    ///
    /// # Errors
    /// The kernel's error, or `PermissionDenied`. `EEXIST` means that replacing was not requested. [`RenameKind::Alone`]
    /// also has these:
    ///
    /// - `EISDIR` for a directory
    /// - `ELOOP` for a symlink that must not move
    /// - `EXDEV` if the kernel allows no such hard link, or none may be tried beside the destination. Copy the entry
    ///   then.
    ///
    /// [`Context::rename_kind`]: crate::check::Context::rename_kind
    /// [`Granted::pin_entry`]: crate::granted::Granted::pin_entry
    pub fn rename_to(&self, to: &Self, kind: RenameKind) -> io::Result<()> {
        self.demand(Capability::Delete)?;
        let flags = match to.capability {
            Capability::Update => RenameFlags::empty(),
            _ => to.demand(Capability::Create).map(|()| RenameFlags::NOREPLACE)?,
        };
        let (from, to) = (self.entry()?, to.entry()?);
        Ok(match kind {
            RenameKind::Alone(way) => {
                move_alone((from.0.as_fd(), from.1), (to.0.as_fd(), to.1), flags, way)
            }
            RenameKind::Over(movable) if flags.is_empty() => {
                replace((from.0.as_fd(), from.1), (to.0.as_fd(), to.1), movable)
            }
            RenameKind::Over(_) => Err(Errno::EXIST),
            RenameKind::Whole => renameat_with(from.0, from.1, to.0, to.1, flags),
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

    /// Opens the path with other rights, and never waits for the other side of a pipe. `/proc` leads from the
    /// descriptor to its object. The result is verified, because anything may be mounted there.
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

    /// The directory of the entry, and its name. Directories on the way that were missing may exist by now.
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

/// The descriptor of the object, or of the nearest existing directory for an entry or a missing path. It says where the
/// object is, and gives no right to it (`O_PATH`, `open(2)`).
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

/// The pinned root of a workspace. Paths in it are opened beneath this directory, even if its name has changed.
#[derive(Debug)]
pub struct HeldRoot {
    path: PathBuf,
    directory: OwnedFd,
}

impl Root {
    /// Pins the directory itself, whatever gets its name later.
    ///
    /// # Errors
    /// The kernel's error, or `ELOOP` if a symlink has come in between.
    pub fn hold(&self) -> io::Result<HeldRoot> {
        HeldRoot::new(self.as_path())
    }
}

impl HeldRoot {
    /// Pins the directory at `path`, absolute and canonical.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let directory = hold_plainly(None, path, OFlags::DIRECTORY)?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Whether its path still leads to it.
    ///
    /// # Errors
    /// The kernel's error about the directory itself.
    pub fn stands(&self) -> io::Result<bool> {
        let held = fstat(&self.directory)?;
        let there = rustix::fs::lstat(&self.path);
        Ok(there.is_ok_and(|there| (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)))
    }

    /// The metadata of the entry at `path`, canonical, without following a symlink. `None` if nothing exists. It needs
    /// no right and gives none.
    ///
    /// # Errors
    /// The kernel's error, or `ELOOP` if `path` is not canonical.
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

/// Pins the object at `path`, absolute and canonical, if no symlink is on the way. Opens it beneath `root` if it is
/// there.
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
        // From kernels before 5.6, and from filters of system calls such as jp-confine's own.
        Err(Errno::NOSYS) => hold_and_compare(path, flags),
        held => held,
    }
}

/// The same without `openat2(2)`: asks the kernel for the path of the pinned object.
fn hold_and_compare(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let held = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let place = rustix::fs::readlink(link_to(&held), Vec::new())?;
    let is_link = FileType::from_raw_mode(fstat(&held)?.st_mode) == FileType::Symlink;
    // Only this ending marks a removed file.
    let may_be_removed = place.to_bytes().ends_with(b" (deleted)");
    if is_link || may_be_removed || place.to_bytes() != path.as_os_str().as_bytes() {
        return Err(Errno::LOOP);
    }
    Ok(held)
}

/// The name under which `/proc` leads to the pinned object.
fn link_to(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

#[cfg(test)]
mod tests;
