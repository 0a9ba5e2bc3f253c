//! Walks a path one component at a time, from pinned directories. This is needed because some links mean the process
//! that looks: `/proc/self`, and those in `/proc/PID/fd`.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat, readlinkat,
};
use rustix::io::Errno;

use super::location::{self, ObjectLocation};
use super::object::{Object, PinnedEntry, ResolvedObject};
use super::{HELD, HELD_DIRECTORY, HELD_ENTRY, Split, as_it_stands, split};
use crate::supervisor::caller::Caller;
use crate::supervisor::views::{Way, lexical};
use crate::sys::identity::look_into;
use crate::sys::proc::link_protection::Directory;

/// How many links are followed before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// The inode of the root of every procfs.
const PROC_ROOT: u64 = 1;

/// A walk in progress.
pub(crate) struct Walk<'w, 'a> {
    caller: &'w Caller<'a>,
    current: OwnedFd,
    rest: Vec<u8>,
    links: u32,
    own: bool,
    /// No view shows names from here on, because a link's text began with two slashes.
    real: bool,
    /// The directory that contains `current`, or `None` after a link that stands for an object.
    directory: Option<Directory>,
}

/// The result for one component.
enum Step {
    Reached(OwnedFd, Stat),
    Link(OwnedFd),
    Missing,
}

impl<'w, 'a> Walk<'w, 'a> {
    /// A walk for `caller` along `path`, from the directory `current`.
    pub(crate) fn new(caller: &'w Caller<'a>, current: OwnedFd, path: &[u8]) -> Self {
        let rest = path.to_vec();
        Self { caller, current, rest, links: LINK_BUDGET, own: false, real: false, directory: None }
    }

    /// The target of the path. With `stops`, does not follow a link at the end.
    ///
    /// # Errors
    /// The kernel's for a path that leads nowhere.
    pub(crate) fn finish(mut self, stops: bool) -> Result<ResolvedObject, Errno> {
        while let Some((name, rest)) = self.next_component() {
            let last = is_end(&rest);
            let slash = !rest.is_empty();
            let Some(name) = self.turn(name, &rest)? else { continue };
            match self.step(&name)? {
                Step::Missing if last => {
                    return PinnedEntry::new(self.caller, self.current, &name, slash)
                        .map(ResolvedObject::Missing);
                }
                Step::Missing => return Err(Errno::NOENT),
                Step::Link(link) if last && !slash && stops => {
                    return Object::locate(self.caller, link, self.own).map(ResolvedObject::Object);
                }
                Step::Link(link) => self.follow(&link, &name, rest)?,
                Step::Reached(_, stat) if slash && !is_directory(&stat) => {
                    return Err(Errno::NOTDIR);
                }
                Step::Reached(file, _) => {
                    self.directory = Some(fstat(&self.current)?.into());
                    self.current = file;
                    self.rest = rest;
                }
            }
        }
        let object = Object::locate(self.caller, self.current, self.own)?;
        Ok(ResolvedObject::Object(object.below(self.directory)))
    }

    /// The place of a path that leads nowhere. Follows the links that the policy `shows`. `None` if the place is unknown.
    pub(crate) fn place(mut self, shows: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        while let Some((name, rest)) = self.next_component() {
            let Some(name) = self.turn(name, &rest).ok()? else { continue };
            let stat = fstat(&self.current).ok()?;
            let here = location::of(self.caller, self.current.as_fd(), &stat).ok()?;
            let ObjectLocation::Named(here) = here else { return None };
            match self.step(&name) {
                Ok(Step::Link(link)) if shows(&lexical(&here, &name)) => {
                    self.follow(&link, &name, rest).ok()?;
                }
                Ok(Step::Reached(file, _)) => {
                    self.current = file;
                    self.rest = rest;
                }
                _ => return Some(lexical(&here, &[name, rest].concat())),
            }
        }
        None
    }

    /// The next component, and the rest including slashes.
    fn next_component(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        first(&self.rest).map(|(name, rest)| (name.to_vec(), rest.to_vec()))
    }

    /// Goes to the directory in which the caller sees the next component, if a view begins or ends here. Returns the
    /// component's name there. `None` if the walk goes another way now.
    fn turn(&mut self, name: Vec<u8>, rest: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        if self.real && name != b".." {
            return Ok(Some(name));
        }
        match self.caller.way(&self.current, |views, path| views.step(path, &name)) {
            Way::Plain => Ok(Some(name)),
            Way::To(path) => {
                let Split { parent, name, .. } = split(&path);
                self.current = as_it_stands(self.caller, parent, HELD_DIRECTORY)?;
                Ok(Some(name.to_vec()))
            }
            Way::Along(path) => {
                self.count_link()?;
                self.begin([&path, rest].concat())?;
                Ok(None)
            }
        }
    }

    /// Goes on from the root.
    fn begin(&mut self, path: Vec<u8>) -> Result<(), Errno> {
        self.current = self.caller.root()?;
        self.caller.confirm()?;
        self.own = false;
        self.real = false;
        self.rest = path;
        Ok(())
    }

    /// Counts a link, so that every walk ends.
    fn count_link(&mut self) -> Result<(), Errno> {
        self.links = self.links.checked_sub(1).ok_or(Errno::LOOP)?;
        Ok(())
    }

    fn step(&self, name: &[u8]) -> Result<Step, Errno> {
        if !is_directory(&fstat(&self.current)?) {
            return Err(Errno::NOTDIR);
        }
        let found = match self.hold(name, HELD_ENTRY) {
            Err(Errno::NOENT) => return Ok(Step::Missing),
            found => found?,
        };
        let stat = fstat(&found)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Ok(Step::Link(found));
        }
        Ok(Step::Reached(found, stat))
    }

    /// Pins an entry of the current directory.
    fn hold(&self, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let hold = || openat(&self.current, name, flags, Mode::empty());
        look_up(self.caller, &self.current, name, hold)
    }

    fn follow(&mut self, link: &OwnedFd, name: &[u8], rest: Vec<u8>) -> Result<(), Errno> {
        self.count_link()?;
        if is_end(&rest) {
            check_planted(self.caller, link, &self.current)?;
        }
        if stands_for_object(link, &self.current)? {
            return self.pass_through(name, rest);
        }
        let text = text_of(self.caller, link, name)?;
        let is_real = text.starts_with(b"//");
        let path = [&text[..], &rest].concat();
        match text.first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => {
                self.begin(path)?;
                self.real = is_real;
            }
            Some(_) => self.rest = path,
        }
        Ok(())
    }

    /// Follows a link that stands for an object instead of a path, as the kernel does.
    fn pass_through(&mut self, name: &[u8], rest: Vec<u8>) -> Result<(), Errno> {
        let place = location::of_entry(self.caller, self.current.as_fd(), name)?;
        if matches!(place, ObjectLocation::OfOutsider(_)) {
            // It may lead into another mount namespace, where the same path means another object.
            return Err(Errno::ACCESS);
        }
        let object = self.hold(name, HELD)?;
        self.enter(object, rest, is_own(&place))
    }

    /// Continues from an object, of the caller's own descriptor or another.
    ///
    /// # Errors
    /// `ENOTDIR` if the path continues and this is no directory.
    pub(crate) fn enter(&mut self, object: OwnedFd, rest: Vec<u8>, own: bool) -> Result<(), Errno> {
        if !rest.is_empty() && !is_directory(&fstat(&object)?) {
            return Err(Errno::NOTDIR);
        }
        self.own = own;
        self.real = false;
        self.directory = None;
        self.current = object;
        self.rest = rest;
        Ok(())
    }
}

/// Looks up an entry of a directory with `look`. A process may see its own entries in `/proc` even if other processes
/// of the same user may not (`proc(5)`, "dumpable").
pub(crate) fn look_up(
    caller: &Caller<'_>,
    directory: &OwnedFd,
    name: &[u8],
    look: impl Fn() -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    match look() {
        Err(Errno::ACCESS) if is_of_own_process(caller, directory, name)? => {
            let found = look_into(look);
            caller.confirm()?;
            found
        }
        found => found,
    }
}

/// Whether an entry of a directory is one of the caller's own process in `/proc`.
fn is_of_own_process(caller: &Caller<'_>, directory: &OwnedFd, name: &[u8]) -> Result<bool, Errno> {
    Ok(is_in_proc(directory)? && is_own(&location::of_entry(caller, directory.as_fd(), name)?))
}

/// The first component of a path, and the rest including slashes.
pub(crate) fn first(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = path.iter().position(|&byte| byte != b'/')?;
    let path = path.get(start..)?;
    path.split_at_checked(path.iter().position(|&byte| byte == b'/').unwrap_or(path.len()))
}

/// Whether no component follows.
pub(crate) fn is_end(rest: &[u8]) -> bool {
    rest.iter().all(|&byte| byte == b'/')
}

/// Protects against a planted link at the end of a path, in a directory where everybody may create links.
pub(crate) fn check_planted(
    caller: &Caller<'_>,
    link: &OwnedFd,
    directory: &OwnedFd,
) -> Result<(), Errno> {
    let (link, directory) = (fstat(link)?, fstat(directory)?);
    let kept = caller.proc().protection().keeps_link(&link, directory.into());
    if kept { require_owner(caller, &link) } else { Ok(()) }
}

/// Whether a link in this directory is one in `/proc` that stands for an object instead of a path.
pub(crate) fn stands_for_object(link: &OwnedFd, directory: &OwnedFd) -> Result<bool, Errno> {
    Ok(is_in_proc(link)? && fstat(directory)?.st_ino != PROC_ROOT)
}

/// The text of any other link, as the caller would read it.
pub(crate) fn text_of(caller: &Caller<'_>, link: &OwnedFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    match name {
        b"self" if is_in_proc(link)? => Ok(caller.status()?.process.to_string().into_bytes()),
        b"thread-self" if is_in_proc(link)? => {
            Ok(format!("{}/task/{}", caller.status()?.process, caller.tid()).into_bytes())
        }
        _ => Ok(readlinkat(link, "", Vec::new())?.into_bytes()),
    }
}

/// Whether the place belongs to the caller's own process.
fn is_own(place: &ObjectLocation) -> bool {
    matches!(place, ObjectLocation::Named(path) if path.starts_with(b"/proc/self/"))
}

fn is_in_proc(link: &OwnedFd) -> Result<bool, Errno> {
    Ok(fstatfs(link)?.f_type == PROC_SUPER_MAGIC)
}

/// Denies an object that the caller does not own.
pub(crate) fn require_owner(caller: &Caller<'_>, stat: &Stat) -> Result<(), Errno> {
    let own = caller.status()?.identity.user[1];
    if stat.st_uid == own { Ok(()) } else { Err(Errno::ACCESS) }
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
