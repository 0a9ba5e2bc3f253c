//! Finds requests that the system denies the user whatever a policy grants: by modes, by ownership, or since the file
//! system is read-only. Asks with the user's own rights, only for suggestions.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{Destination, Request};
use rustix::fs::Access;
use rustix::io::Errno;

use super::file_ownership;
use crate::advice::advisor::Advisor;
use crate::advice::kernel_obstacles::{Obstacle, RunHistory};
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::record::denials::Denials;
use crate::sys::path::path_of;
use crate::text::quote;

/// Calls that open the file they name. Others that only read need less than permission to read.
const OPENING: [&[u8]; 4] = [b"open", b"fopen", b"freopen", b"scandir"];

/// Calls that execute the file they name. Others that need the right to execute only read it.
const STARTING: [&[u8]; 4] = [b"exec", b"fexecve", b"posix_spawn", b"pidfd_spawn"];

/// Name prefix of the calls on message queues. These belong to the kernel and need no file.
const QUEUES: &[u8] = b"mq_";

/// Remark on a directory that is not empty.
const FULL: &str = "it is not empty: a help to who empties it then";

/// An operation that the system denies the user, and where.
struct Refusal<'d> {
    what: &'static str,
    place: &'d Path,
    why: Errno,
}

impl<'d> Refusal<'d> {
    /// A denial for everybody but the owner.
    const fn to(what: &'static str, place: &'d Path) -> Self {
        Self { what, place, why: Errno::PERM }
    }
}

impl<'a> Advisor<'a> {
    /// Whether `denial` is about deleting a directory that is not empty, which would have failed anyway. Looks at the
    /// disk.
    pub(crate) fn is_in_vain(&self, denial: &Denial) -> bool {
        let found = self.past().removal(denial).filter(|one| self.is_known(denial, *one));
        matches!(found, Some(Obstacle::NotEmpty(_) | Obstacle::Directory(_)))
    }

    pub(super) fn past(&self) -> RunHistory<'a> {
        RunHistory { began: self.began, refused: self.denials.map_or(&[], Denials::open) }
    }

    /// Why a grant would not help: the kernel denies `asked` because of an entry there. Looks at the disk.
    pub(super) fn refused_in_any_case(&self, denial: &Denial, asked: Asked<'_>) -> Option<String> {
        let obstacle = match asked {
            Asked::Rename { from, to, destination } => {
                self.past().movement(path_of(from.path), path_of(to.path), destination)
            }
            _ => self.past().removal(denial).or_else(|| self.past().writing(denial)),
        };
        let obstacle = obstacle.filter(|one| self.is_known(denial, *one))?;
        Some(format!("no option and no rule helps: {}", obstacle.words(self.workspace)))
    }

    /// Whether the program knew of the obstacle, or fails because of it in any case. A program takes a hidden directory
    /// for a file. Once it sees the directory, it empties it or moves things into it.
    fn is_known(&self, denial: &Denial, obstacle: Obstacle<'_>) -> bool {
        let (Obstacle::NotEmpty(path) | Obstacle::Directory(path) | Obstacle::Written(path)) =
            obstacle
        else {
            return true;
        };
        let sight = Asked::ScreenVisibility(Request::canonical(path.as_os_str().as_bytes()));
        match denial.call.as_slice() {
            // Other programs try rmdir(2) first, and empty the directory when that fails.
            b"rmdir" => path_of(&denial.program).file_name() == Some(OsStr::new("rmdir")),
            _ => self.allows(sight),
        }
    }

    /// The remark on a directory that is to be deleted as it is. Looks at the disk.
    pub(super) fn is_to_be_emptied(&self, asked: Asked<'_>) -> Option<&'static str> {
        let Asked::Removal(entry) = asked else { return None };
        self.past().full(path_of(entry.path)).then_some(FULL)
    }

    /// Why a grant would not help: the system also denies `asked`. Looks at the disk.
    pub(super) fn refused_by_system(&self, denial: &Denial, asked: Asked<'_>) -> Option<String> {
        if denial.call.starts_with(QUEUES) {
            return None;
        }
        let Refusal { what, place, why } = match asked {
            Asked::Rename { from, to, destination } => {
                self.refuses_move(path_of(from.path), path_of(to.path), destination)
            }
            Asked::Link { old, new } => {
                let (old, new) = (path_of(old.path), path_of(new.path));
                let may_not = || file_ownership::refuses_link(old, self.rights);
                self.refuses_entry(new).or_else(|| may_not().then(|| Refusal::to("link to", old)))
            }
            _ => self.refuses(denial),
        }?;
        let place = quote::shown(place.as_os_str().as_bytes(), self.workspace);
        let why = match why {
            Errno::ROFS => format!("{place} is on a read-only file system"),
            _ => format!("the user may not {what} {place}"),
        };
        Some(format!("no option and no rule helps: {why}"))
    }

    /// The system's denial of the request behind a `denial` on one path.
    fn refuses<'d>(&self, denial: &'d Denial) -> Option<Refusal<'d>> {
        let path = path_of(&denial.path);
        let lacks = |capabilities| denial.missing.intersects(capabilities);
        let is_of = |calls: &[&[u8]]| calls.iter().any(|call| denial.call.starts_with(call));
        if lacks(Capabilities::DELETE)
            && let Some(found) = self.refuses_removal(path)
        {
            return Some(found);
        }
        if lacks(Capabilities::CREATE.union(Capabilities::UPDATE))
            && let Some(found) = self.refuses_change(path)
            // Otherwise the owner may change the mode, whatever that is.
            && (is_of(&OPENING) || found.why == Errno::ROFS || !file_ownership::owns(path))
        {
            return Some(found);
        }
        if let Some(what) = file_ownership::refuses_setting(&denial.call, path) {
            return Some(Refusal::to(what, path));
        }
        let (access, what) = match () {
            () if lacks(Capabilities::READ) && is_of(&OPENING) => (Access::READ_OK, "read"),
            () if lacks(Capabilities::EXECUTE) && is_of(&STARTING) => (Access::EXEC_OK, "execute"),
            () => (Access::EXISTS, "look at"),
        };
        self.refuses_to(what, path, access)
    }

    /// The system's denial of creating or deleting the entry at `path`.
    fn refuses_entry<'d>(&self, path: &'d Path) -> Option<Refusal<'d>> {
        self.refuses_change(path.parent()?)
    }

    /// The system's denial of deleting or replacing the entry at `path`, if there is one.
    fn refuses_removal<'d>(&self, path: &'d Path) -> Option<Refusal<'d>> {
        let may_not = || file_ownership::refuses_removal(path).then(|| Refusal::to("remove", path));
        self.refuses_entry(path).or_else(may_not)
    }

    /// The system's denial of moving an entry.
    fn refuses_move<'d>(
        &self,
        from: &'d Path,
        to: &'d Path,
        destination: Destination,
    ) -> Option<Refusal<'d>> {
        let back = (destination == Destination::Exchange).then_some((to, from));
        let ways = || std::iter::once((from, to)).chain(back);
        let ends = [from, to].into_iter().find_map(|end| self.refuses_removal(end));
        ends.or_else(|| ways().find_map(|(from, to)| self.refuses_to_leave(from, to)))
    }

    /// The system's denial of moving a directory into another one, which changes its `..` entry. Between file systems
    /// nothing moves: programs copy there instead.
    fn refuses_to_leave<'d>(&self, from: &'d Path, to: &Path) -> Option<Refusal<'d>> {
        let (old, new) = (from.parent()?, to.parent()?);
        let found = from.symlink_metadata().ok().filter(Metadata::is_dir)?;
        let stays = new.metadata().map_or(true, |new| new.dev() != found.dev());
        if old == new || stays {
            return None;
        }
        self.refuses_to("change", from, Access::WRITE_OK)
    }

    /// The system's denial of changing the entry at `path`, or the nearest existing directory above it.
    fn refuses_change<'d>(&self, path: &'d Path) -> Option<Refusal<'d>> {
        let is_there = |place: &&Path| (self.rights)(place, Access::EXISTS) != Err(Errno::NOENT);
        let place = path.ancestors().find(is_there)?;
        let search = if place.is_dir() { Access::EXEC_OK } else { Access::EXISTS };
        self.refuses_to("change", place, Access::WRITE_OK | search)
    }

    fn refuses_to<'d>(
        &self,
        what: &'static str,
        place: &'d Path,
        access: Access,
    ) -> Option<Refusal<'d>> {
        let why = (self.rights)(place, access).err()?;
        let is_refused = matches!(why, Errno::ACCESS | Errno::PERM | Errno::ROFS);
        is_refused.then_some(Refusal { what, place, why })
    }
}
