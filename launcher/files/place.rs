//! Writes a file to a name in a pinned directory. Used by the event log, `learn` and `init`.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op, Step};
use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, access, accessat, fchmod, fstat,
    linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::{AT_ONCE, is_system_device, kind, unfit};
use crate::error::Failure;
use crate::sys::open_canonical::open_canonical;
use crate::text::quote;

/// Directories in which every symlink counts as the system's, also if root runs the launcher. Root may write to them,
/// so their permissions do not tell.
const OF_SYSTEM: [&str; 5] = ["/", "/usr", "/var", "/run", "/home"];

/// The permissions of a file that people edit, and of one that they only read, before the umask.
const WRITTEN: Mode = Mode::from_raw_mode(0o666);
const READ: Mode = Mode::from_raw_mode(0o644);

/// How many names are tried for an unfinished file.
const ATTEMPTS: u32 = 16;

/// Where a file will be written: a name in a pinned directory.
#[derive(Debug)]
pub(crate) struct WritePlace {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
}

/// Why the launcher does not write to a path.
#[derive(Debug)]
pub(crate) enum Unsafe {
    /// It leads through a symlink that a run could have created.
    Symlink {
        /// The canonical path of the symlink.
        link: PathBuf,
        /// Where the path leads, if it resolves.
        target: Option<PathBuf>,
    },
    /// It does not resolve, or leads to something other than a file.
    Error(io::Error),
}

impl Unsafe {
    /// The failure to report for `option`, whose value is `typed`.
    pub(crate) fn failure(&self, option: &str, typed: &Path) -> Failure {
        let typed = quote::place(typed);
        match self {
            Self::Symlink { link, target } => {
                let link = quote::quoted(link.as_os_str().as_bytes());
                let target = target.as_ref().map_or_else(
                    || "FILE".to_owned(),
                    |target| quote::operand(target.as_os_str().as_bytes()),
                );
                Failure::advised(
                    format!("{option} {typed}: {link} is a symlink that a run could have made"),
                    format!("name the file that is meant: {option} {target}"),
                )
            }
            Self::Error(error) => Failure::advised(
                format!("{option} {typed} cannot be written: {error}"),
                format!("name a file in a directory that you may write to: {option} FILE"),
            ),
        }
    }
}

impl From<io::Error> for Unsafe {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

impl From<Errno> for Unsafe {
    fn from(error: Errno) -> Self {
        Self::Error(error.into())
    }
}

impl WritePlace {
    /// Resolves `path` from `base`. A symlink at its end is not followed. The directory is pinned: if another one
    /// replaces it later, nothing changes.
    ///
    /// # Errors
    /// [`Unsafe`].
    pub(crate) fn of(base: &Path, path: &Path) -> Result<Self, Unsafe> {
        Self::resolved(base, path, Op::Entry)
    }

    /// Like [`Self::of`], for a file that stands there already. The system's symlink at the end of `path` is followed.
    ///
    /// # Errors
    /// [`Unsafe`].
    pub(crate) fn of_standing(base: &Path, path: &Path) -> Result<Self, Unsafe> {
        Self::resolved(base, path, Op::Content)
    }

    fn resolved(base: &Path, path: &Path, op: Op) -> Result<Self, Unsafe> {
        let found = canonical::resolve(base, path, op).map_err(io::Error::other)?;
        if let Some(Step { link, .. }) = found.steps.iter().find(|step| !is_systems(&step.link)) {
            return Err(leading(base, path, link.clone()));
        }
        let path = found.path;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(unfit(FileType::Directory).into());
        };
        // `PATH`, since opening a directory to read it needs a permission that creating files in it does not.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open_canonical(parent, flags)?;
        Ok(Self { directory, name: name.to_owned(), path })
    }

    /// The canonical path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The pinned directory and the name in it.
    pub(crate) fn held(&self) -> (BorrowedFd<'_>, &OsStr) {
        (self.directory.as_fd(), &self.name)
    }

    /// The entry that has the name already, if there is one.
    ///
    /// # Errors
    /// Those of `fstatat(2)`.
    pub(crate) fn standing(&self) -> io::Result<Option<Stat>> {
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(status)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a file may be created or replaced there.
    ///
    /// # Errors
    /// Those of `access(2)`, if it may not.
    pub(crate) fn may_be_replaced(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK.union(Access::EXEC_OK);
        Ok(accessat(&self.directory, ".", wanted, AtFlags::empty())?)
    }

    /// Opens the file for appending, and creates it if need be. It is a regular file, or a device of the system. Writes
    /// do not wait for the device.
    ///
    /// # Errors
    /// [`Unsafe`]. A symlink at the end counts as one that a run could have created.
    pub(crate) fn append(&self) -> Result<File, Unsafe> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | AT_ONCE;
        let file = match openat(&self.directory, &self.name, flags, WRITTEN) {
            Err(Errno::LOOP) => {
                return Err(leading(Path::new("/"), &self.path, self.path.clone()));
            }
            // A pipe that no process reads from.
            Err(Errno::NXIO) => return Err(unfit(FileType::Fifo).into()),
            opened => opened?,
        };
        let kind = kind(&fstat(&file)?);
        if kind == FileType::RegularFile || is_system_device(&self.path, kind) {
            return Ok(file.into());
        }
        Err(unfit(kind).into())
    }

    /// Pins the socket that has the name now.
    ///
    /// # Errors
    /// Those of `open(2)`. Also if it is no socket.
    pub(crate) fn pin_socket(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat(&self.directory, &self.name, flags, Mode::empty())?;
        match kind(&fstat(&socket)?) {
            FileType::Socket => Ok(socket),
            _ => Err(io::Error::other("it is no socket")),
        }
    }

    /// Writes `text` into a new file for people to edit, whole or not at all.
    ///
    /// # Errors
    /// Those of `open(2)` and `write(2)`. `EEXIST` if the name is taken.
    pub(crate) fn create(&self, text: &[u8]) -> io::Result<()> {
        self.write(text, WRITTEN, false)
    }

    /// Writes `text` into the file in one step. If `replaces` is set, it replaces an existing file, and keeps its
    /// permissions.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub(crate) fn put(&self, text: &[u8], replaces: bool) -> io::Result<()> {
        self.write(text, READ, replaces)
    }

    fn write(&self, text: &[u8], mode: Mode, replaces: bool) -> io::Result<()> {
        let (mut file, unfinished) = self.unfinished(mode)?;
        let known = if replaces { self.standing()? } else { None };
        let outcome = known
            .map_or(Ok(()), |known| Ok(fchmod(&file, Mode::from_raw_mode(known.st_mode))?))
            .and_then(|()| file.write_all(text))
            .and_then(|()| self.name(&unfinished, replaces));
        if outcome.is_err() {
            // If that fails, the file stays under a name that nothing looks for.
            let _ = unlinkat(&self.directory, &unfinished, AtFlags::empty());
        }
        outcome
    }

    /// Creates a new file in the same directory, and returns it with its name.
    fn unfinished(&self, mode: Mode) -> io::Result<(File, OsString)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let number = RandomState::new().build_hasher().finish();
            let name = OsString::from(format!(".jp-confine-{number:016x}"));
            match openat(&self.directory, &name, flags, mode) {
                Err(Errno::EXIST) => {}
                opened => return Ok((opened?.into(), name)),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Gives the file `unfinished` its final name.
    fn name(&self, unfinished: &OsStr, replaces: bool) -> io::Result<()> {
        let (from, to) = (&self.directory, &self.directory);
        if replaces {
            return Ok(renameat(from, unfinished, to, &self.name)?);
        }
        match renameat_with(from, unfinished, to, &self.name, RenameFlags::NOREPLACE) {
            // Not every file system supports `RENAME_NOREPLACE`.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(from, unfinished, to, &self.name, AtFlags::empty())?;
                Ok(unlinkat(from, unfinished, AtFlags::empty())?)
            }
            outcome => Ok(outcome?),
        }
    }
}

fn leading(base: &Path, path: &Path, link: PathBuf) -> Unsafe {
    let target = canonical::resolve(base, path, Op::Content).ok().map(|found| found.path);
    Unsafe::Symlink { link, target }
}

/// Whether a symlink at this canonical path is the system's. A run may have created any other one: nothing records who
/// created it, and earlier runs may have had other options.
fn is_systems(link: &Path) -> bool {
    let Some(parent) = link.parent() else { return true };
    let bytes = parent.as_os_str().as_bytes();
    OF_SYSTEM.iter().any(|known| known.as_bytes() == bytes)
        || ["/dev", "/proc"].iter().any(|known| parent.starts_with(known))
        || access(parent, Access::WRITE_OK) == Err(Errno::ACCESS)
        || access(parent, Access::WRITE_OK) == Err(Errno::ROFS)
}
