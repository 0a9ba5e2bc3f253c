//! The target of a path: a pinned object, or a missing entry in a pinned directory.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::decide::Request;
use jp_confine_engine::device::Device;
use rustix::fs::{FileType, Stat, fstat, major, minor};
use rustix::io::Errno;

use super::Argument;
use super::location::{self, ObjectLocation};
use crate::supervisor::caller::Caller;
use crate::sys::proc::link_protection::Directory;

/// The result of resolving a path.
pub(crate) enum ResolvedObject {
    /// An object.
    Object(Object),
    /// A missing entry in a directory that exists.
    Missing(PinnedEntry),
}

/// A pinned object.
pub(crate) struct Object {
    pub(crate) file: OwnedFd,
    pub(crate) stat: Stat,
    place: ObjectLocation,
    /// It was reached through a descriptor of the caller's own process.
    own: bool,
    /// No link was on the way, so the path as written is canonical.
    direct: bool,
    /// The directory whose entry led to it, if known.
    directory: Option<Directory>,
}

/// How the policy judges an object.
pub(crate) enum ObjectRules<'o> {
    /// Its canonical path.
    ByPath(&'o [u8]),
    /// Not at all: it has no path, and the caller already has it.
    Own,
    /// Always denied: it belongs to another process.
    Refused(&'o [u8]),
}

/// An entry of a pinned directory.
pub(crate) struct PinnedEntry {
    pub(crate) directory: OwnedFd,
    /// Its name, with a slash if one was given.
    pub(crate) name: CString,
    /// Its canonical path.
    pub(crate) path: Vec<u8>,
    /// The spelling by which it was reached.
    pub(crate) route: Vec<u8>,
    /// A slash was given.
    pub(crate) slash: bool,
}

impl Object {
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// The device, if it is one.
    pub(crate) fn device(&self) -> Option<Device> {
        let is_block = match self.kind() {
            FileType::BlockDevice => true,
            FileType::CharacterDevice => false,
            _ => return None,
        };
        let number = self.stat.st_rdev;
        Some(Device { is_block, major: major(number), minor: minor(number) })
    }

    pub(crate) fn judged(&self) -> ObjectRules<'_> {
        match &self.place {
            ObjectLocation::Named(path) => ObjectRules::ByPath(path),
            ObjectLocation::Anonymous if self.own => ObjectRules::Own,
            ObjectLocation::Anonymous => ObjectRules::Refused(b""),
            ObjectLocation::OfOutsider(path) => ObjectRules::Refused(path),
        }
    }

    /// The canonical path, if it has one.
    pub(crate) fn path(&self) -> Option<&[u8]> {
        match &self.place {
            ObjectLocation::Named(path) => Some(path),
            _ => None,
        }
    }

    /// Whether no link was on the way.
    pub(crate) const fn is_direct(&self) -> bool {
        self.direct
    }

    /// The directory whose entry led to it, if known.
    pub(crate) const fn directory(&self) -> Option<Directory> {
        self.directory
    }

    /// The same, marked as reached without a link.
    pub(crate) fn directly(self) -> Self {
        Self { direct: true, ..self }
    }

    /// The same, with the directory whose entry led to it.
    pub(crate) fn below(self, directory: Option<Directory>) -> Self {
        Self { directory, ..self }
    }

    /// The object of a descriptor of the caller's.
    ///
    /// # Errors
    /// `EACCES` if its location is unknown.
    pub(crate) fn of_descriptor(caller: &Caller<'_>, file: OwnedFd) -> Result<Self, Errno> {
        Self::locate(caller, file, true)
    }

    /// The spelling by which a path of the caller's led here, to choose between external rules.
    pub(crate) fn route(&self, argument: &Argument<'_>) -> Vec<u8> {
        match &self.place {
            ObjectLocation::Named(path) if self.direct => path.clone(),
            _ => argument.lexical().unwrap_or_default(),
        }
    }

    /// An object that the kernel resolved for the supervisor.
    ///
    /// # Errors
    /// As [`Self::of_descriptor`].
    pub(crate) fn reached(caller: &Caller<'_>, file: OwnedFd) -> Result<Self, Errno> {
        Self::locate(caller, file, false)
    }

    pub(crate) fn locate(caller: &Caller<'_>, file: OwnedFd, own: bool) -> Result<Self, Errno> {
        let stat = fstat(&file)?;
        let place = location::of(caller, file.as_fd(), &stat)?;
        Ok(Self { file, stat, place, own, direct: false, directory: None })
    }
}

impl PinnedEntry {
    pub(crate) fn request(&self) -> Request<'_> {
        Request::by_route(&self.path, &self.route)
    }

    /// The same, with this spelling.
    pub(crate) fn by_route(self, route: Vec<u8>) -> Self {
        Self { route, ..self }
    }

    pub(crate) fn new(
        caller: &Caller<'_>,
        directory: OwnedFd,
        name: &[u8],
        slash: bool,
    ) -> Result<Self, Errno> {
        let stat = fstat(&directory)?;
        let mut path = match location::of(caller, directory.as_fd(), &stat)? {
            ObjectLocation::Named(path) => path,
            ObjectLocation::Anonymous | ObjectLocation::OfOutsider(_) => return Err(Errno::ACCESS),
        };
        if !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let name = [name, if slash { b"/" } else { b"" }].concat();
        let name = CString::new(name).map_err(|_| Errno::ACCESS)?;
        Ok(Self { directory, name, route: path.clone(), path, slash })
    }
}
