//! From a path of the caller's to what it leads to, held.
//!
//! The kernel walks where no link is on the way, and proves it. Else the links are followed one at a
//! time, from directories that are held, because some mean the one who asks: `/proc/self`, and what
//! stands in `/proc/PID/fd`. What was found is acted on by descriptor; no path is resolved twice.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use jp_confine_policy::decide::Request;
use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, fstat, fstatfs, openat, openat2,
    readlinkat,
};
use rustix::io::Errno;

use super::caller::Caller;
use super::place::{self, Place};
use super::planted::Directory;
use super::through::Through;

/// How many links are followed before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// The inode of the root of every procfs.
const PROC_ROOT: u64 = 1;

const HELD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const HELD_DIRECTORY: OFlags = HELD.union(OFlags::DIRECTORY);
const HELD_ENTRY: OFlags = HELD.union(OFlags::NOFOLLOW);

/// A path argument, read once, and the directory that it starts from.
pub(crate) struct Argument<'a> {
    caller: Caller<'a>,
    text: CString,
    start: OwnedFd,
    /// Where the path begins with a descriptor of the caller's own, by way of `/proc`.
    through: Option<Through>,
}

/// What is at the end of a path.
pub(crate) enum Found {
    /// An object.
    Object(Object),
    /// No entry of that name, in a directory that exists.
    Missing(Entry),
}

/// An object that is held.
pub(crate) struct Object {
    pub(crate) file: OwnedFd,
    pub(crate) stat: Stat,
    place: Place,
    /// It was reached through the descriptors of the caller's own process.
    own: bool,
    /// No link was on the way: the path reads as the canonical one.
    direct: bool,
    /// The directory by whose entry it was reached, where that is known.
    directory: Option<Directory>,
}

/// What the policy may be asked about an object.
pub(crate) enum Judged<'o> {
    /// Its canonical path.
    ByPath(&'o [u8]),
    /// Nothing: it has no path, and the caller has it already.
    Own,
    /// Nothing: it is another's.
    Refused(&'o [u8]),
}

/// An entry of a directory that is held.
pub(crate) struct Entry {
    pub(crate) directory: OwnedFd,
    /// Its name, with a slash where one was given.
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

    pub(crate) fn judged(&self) -> Judged<'_> {
        match &self.place {
            Place::Named(path) => Judged::ByPath(path),
            Place::Anonymous if self.own => Judged::Own,
            Place::Anonymous => Judged::Refused(b""),
            Place::OfOutsider(path) => Judged::Refused(path),
        }
    }

    /// The canonical path, for an object that has one.
    pub(crate) fn path(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Named(path) => Some(path),
            _ => None,
        }
    }

    /// What a descriptor of the caller's stands for.
    ///
    /// # Errors
    /// `EACCES` where its place cannot be told.
    pub(crate) fn of_descriptor(caller: &Caller<'_>, file: OwnedFd) -> Result<Self, Errno> {
        Self::locate(caller, file, true)
    }

    /// The spelling by which a path of the caller's led here, for choosing between external rules.
    pub(crate) fn route(&self, argument: &Argument<'_>) -> Vec<u8> {
        match &self.place {
            Place::Named(path) if self.direct => path.clone(),
            _ => argument.lexical().unwrap_or_default(),
        }
    }

    /// What the kernel held for the supervisor.
    ///
    /// # Errors
    /// As [`Self::of_descriptor`].
    pub(crate) fn reached(caller: &Caller<'_>, file: OwnedFd) -> Result<Self, Errno> {
        Self::locate(caller, file, false)
    }

    fn locate(caller: &Caller<'_>, file: OwnedFd, own: bool) -> Result<Self, Errno> {
        let stat = fstat(&file)?;
        let place = place::of(caller, file.as_fd())?;
        Ok(Self { file, stat, place, own, direct: false, directory: None })
    }
}

impl Entry {
    pub(crate) fn request(&self) -> Request<'_> {
        Request::by_route(&self.path, &self.route)
    }

    /// The same, reached by this spelling.
    fn by_route(self, route: Vec<u8>) -> Self {
        Self { route, ..self }
    }

    fn new(
        caller: &Caller<'_>,
        directory: OwnedFd,
        name: &[u8],
        slash: bool,
    ) -> Result<Self, Errno> {
        let mut path = match place::of(caller, directory.as_fd())? {
            Place::Named(path) => path,
            Place::Anonymous | Place::OfOutsider(_) => return Err(Errno::ACCESS),
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

impl<'a> Argument<'a> {
    /// Reads the path at `address`, relative to `dirfd` as in `openat(2)`.
    ///
    /// # Errors
    /// `EFAULT`, `ENAMETOOLONG`, `ENOENT` for an empty path, `EBADF`.
    pub(crate) fn read(caller: Caller<'a>, dirfd: i32, address: u64) -> Result<Self, Errno> {
        Self::of_text(caller, dirfd, caller.text(address)?)
    }

    /// As [`Self::read`], of a path already read.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn of_text(caller: Caller<'a>, dirfd: i32, text: CString) -> Result<Self, Errno> {
        let start = match text.to_bytes().first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => caller.root()?,
            Some(_) if dirfd == libc::AT_FDCWD => caller.working_directory()?,
            Some(_) => caller.object(dirfd)?,
        };
        let through = Through::of(&caller, text.to_bytes());
        Ok(Self { caller, text, start, through })
    }

    /// A name in a directory that is held.
    pub(crate) fn below(caller: Caller<'a>, directory: OwnedFd, name: CString) -> Self {
        Self { caller, text: name, start: directory, through: None }
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
        matches!(self.last(), b"." | b"..")
    }

    /// The last component; nothing where that is the root.
    pub(crate) fn last(&self) -> &[u8] {
        split(self.text.to_bytes()).name
    }

    /// The path as it reads, made absolute: for where it leads nowhere, or there are several ways.
    ///
    /// # Errors
    /// Where it cannot be told what it starts from.
    pub(crate) fn lexical(&self) -> Result<Vec<u8>, Errno> {
        let mut path = Vec::new();
        if !self.text.to_bytes().starts_with(b"/")
            && let Place::Named(start) = place::of(&self.caller, self.start.as_fd())?
        {
            path = start;
        }
        for component in self.text.to_bytes().split(|&byte| byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => path.truncate(path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)),
                name => {
                    if !path.ends_with(b"/") {
                        path.push(b'/');
                    }
                    path.extend_from_slice(name);
                }
            }
        }
        Ok(if path.is_empty() { b"/".to_vec() } else { path })
    }

    /// Holds what the path leads to; `stops` at a link at the end.
    ///
    /// # Errors
    /// The kernel's, for a path that leads nowhere.
    pub(crate) fn find(&self, stops: bool) -> Result<Found, Errno> {
        let flags = if stops { HELD_ENTRY } else { HELD };
        match self.without_links(&self.text, flags) {
            Ok(file) => {
                let object = Object::locate(&self.caller, file, false)?;
                Ok(Found::Object(Object { direct: true, ..object }))
            }
            Err(Errno::NOENT) => match self.missing() {
                Some(entry) => Ok(Found::Missing(entry)),
                None => self.find_by_links(stops),
            },
            Err(_) => self.find_by_links(stops),
        }
    }

    fn find_by_links(&self, stops: bool) -> Result<Found, Errno> {
        Ok(match self.walk(self.text.to_bytes(), stops)? {
            Found::Missing(entry) => Found::Missing(entry.by_route(self.lexical()?)),
            found @ Found::Object(_) => found,
        })
    }

    /// Holds the directory that the last component is an entry of. `None` where that is `.`, `..` or
    /// the root, which name no entry.
    ///
    /// # Errors
    /// The kernel's, where there is no such directory.
    pub(crate) fn entry(&self) -> Result<Option<Entry>, Errno> {
        let Split { parent, name, slash } = split(self.text.to_bytes());
        if matches!(name, b"" | b"." | b"..") {
            return Ok(None);
        }
        let parent = if parent.is_empty() { &b"."[..] } else { parent };
        let text = CString::new(parent).map_err(|_| Errno::ACCESS)?;
        let directory = match self.without_links(&text, HELD_DIRECTORY) {
            Ok(directory) => directory,
            Err(_) => match self.walk(parent, false)? {
                Found::Object(object) if object.kind() == FileType::Directory => object.file,
                Found::Object(_) => return Err(Errno::NOTDIR),
                Found::Missing(_) => return Err(Errno::NOENT),
            },
        };
        let entry = Entry::new(&self.caller, directory, name, slash)?;
        let route = self.lexical().unwrap_or_else(|_| entry.path.clone());
        Ok(Some(entry.by_route(route)))
    }

    /// Whether an open that would have made the object may open it, be it another's.
    ///
    /// # Errors
    /// `EACCES` where it may not, or that cannot be told.
    pub(crate) fn check_planted(&self, object: &Object) -> Result<(), Errno> {
        let directory = if object.direct {
            let Split { parent, .. } = split(self.text.to_bytes());
            let parent = CString::new(parent).map_err(|_| Errno::ACCESS)?;
            Some(fstat(self.without_links(&parent, HELD_DIRECTORY)?)?.into())
        } else {
            object.directory
        };
        let protection = self.caller.proc().protection();
        let kept = directory.is_some_and(|it| protection.keeps_file(&object.stat, it));
        if kept { require_owner(&self.caller, &object.stat) } else { Ok(()) }
    }

    /// The entry that no object has, where no link is on the way to its directory.
    fn missing(&self) -> Option<Entry> {
        let Split { parent, name, slash } = split(self.text.to_bytes());
        if matches!(name, b"" | b"." | b"..") {
            return None;
        }
        let parent = if parent.is_empty() { &b"."[..] } else { parent };
        let text = CString::new(parent).ok()?;
        let directory = self.without_links(&text, HELD_DIRECTORY).ok()?;
        let entry = Entry::new(&self.caller, directory, name, slash).ok()?;
        let found = openat(&entry.directory, name, HELD_ENTRY, Mode::empty());
        (found.err() == Some(Errno::NOENT)).then_some(entry)
    }

    fn without_links(&self, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let relative = path.to_bytes().iter().position(|&byte| byte != b'/');
        let relative = relative.and_then(|at| path.to_bytes_with_nul().get(at..));
        let relative = relative.and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok());
        let path = relative.unwrap_or(c".");
        openat2(&self.start, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    }

    fn walk(&self, path: &[u8], stops: bool) -> Result<Found, Errno> {
        let current = openat(&self.start, ".", HELD_DIRECTORY, Mode::empty())?;
        let mut walk = Walk {
            caller: &self.caller,
            current,
            rest: path.to_vec(),
            links: LINK_BUDGET,
            own: false,
            directory: None,
        };
        let through = self.through.as_ref().map(|through| (through, path.get(through.end..)));
        if let Some((Through { object, .. }, Some(rest))) = through
            && !(stops && rest.is_empty())
        {
            walk.enter(object.try_clone().map_err(|_| Errno::MFILE)?, rest.to_vec(), true)?;
        }
        walk.finish(stops)
    }
}

/// Where a path's last component is.
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

/// A walk by hand, one component at a time.
struct Walk<'w, 'a> {
    caller: &'w Caller<'a>,
    current: OwnedFd,
    rest: Vec<u8>,
    links: u32,
    own: bool,
    /// What `current` is an entry of; nothing where a link stood for it.
    directory: Option<Directory>,
}

/// What a component of a path is.
enum Step {
    Reached(OwnedFd, Stat),
    Link(OwnedFd),
    Missing,
}

impl Walk<'_, '_> {
    fn finish(mut self, stops: bool) -> Result<Found, Errno> {
        while let Some((name, rest)) = self.next_component() {
            let last = rest.iter().all(|&byte| byte == b'/');
            let slash = !rest.is_empty();
            match self.step(&name)? {
                Step::Missing if last => {
                    return Entry::new(self.caller, self.current, &name, slash).map(Found::Missing);
                }
                Step::Missing => return Err(Errno::NOENT),
                Step::Link(link) if last && !slash && stops => {
                    return Object::locate(self.caller, link, self.own).map(Found::Object);
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
        Ok(Found::Object(Object { directory: self.directory, ..object }))
    }

    /// The next component, and what follows it, slashes and all.
    fn next_component(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let start = self.rest.iter().position(|&byte| byte != b'/')?;
        let rest = self.rest.get(start..)?;
        let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        let (name, rest) = rest.split_at_checked(end)?;
        Some((name.to_vec(), rest.to_vec()))
    }

    fn step(&self, name: &[u8]) -> Result<Step, Errno> {
        if !is_directory(&fstat(&self.current)?) {
            return Err(Errno::NOTDIR);
        }
        let found = match openat(&self.current, name, HELD_ENTRY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Step::Missing),
            found => found?,
        };
        let stat = fstat(&found)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Ok(Step::Link(found));
        }
        Ok(Step::Reached(found, stat))
    }

    fn follow(&mut self, link: &OwnedFd, name: &[u8], rest: Vec<u8>) -> Result<(), Errno> {
        self.links = self.links.checked_sub(1).ok_or(Errno::LOOP)?;
        if rest.iter().all(|&byte| byte == b'/') {
            self.check_planted(link)?;
        }
        let in_proc = fstatfs(link)?.f_type == PROC_SUPER_MAGIC;
        let text = match name {
            _ if !in_proc => readlinkat(link, "", Vec::new())?.into_bytes(),
            _ if fstat(&self.current)?.st_ino != PROC_ROOT => return self.pass_through(name, rest),
            b"self" => self.caller.status()?.process.to_string().into_bytes(),
            b"thread-self" => {
                let process = self.caller.status()?.process;
                format!("{process}/task/{}", self.caller.tid()).into_bytes()
            }
            _ => readlinkat(link, "", Vec::new())?.into_bytes(),
        };
        match text.first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => {
                self.current = self.caller.root()?;
                self.own = false;
            }
            Some(_) => {}
        }
        self.rest = [text, rest].concat();
        Ok(())
    }

    /// At the end of a path, a link that somebody left where everybody may leave some leads nobody astray.
    fn check_planted(&self, link: &OwnedFd) -> Result<(), Errno> {
        let (link, directory) = (fstat(link)?, fstat(&self.current)?);
        let kept = self.caller.proc().protection().keeps_link(&link, directory.into());
        if kept { require_owner(self.caller, &link) } else { Ok(()) }
    }

    /// Goes through a link that stands for an object rather than a path, as the kernel does.
    fn pass_through(&mut self, name: &[u8], rest: Vec<u8>) -> Result<(), Errno> {
        let place = place::of_entry(self.caller, self.current.as_fd(), name)?;
        if matches!(place, Place::OfOutsider(_)) {
            // It may lead to where other things are mounted, and the same path means another object.
            return Err(Errno::ACCESS);
        }
        let object = openat(&self.current, name, HELD, Mode::empty())?;
        let own = matches!(&place, Place::Named(path) if path.starts_with(b"/proc/self/"));
        self.enter(object, rest, own)
    }

    /// Goes on from an object, the caller's own descriptor's or another's.
    fn enter(&mut self, object: OwnedFd, rest: Vec<u8>, own: bool) -> Result<(), Errno> {
        if !rest.is_empty() && !is_directory(&fstat(&object)?) {
            return Err(Errno::NOTDIR);
        }
        self.own = own;
        self.directory = None;
        self.current = object;
        self.rest = rest;
        Ok(())
    }
}

/// Refuses what is not the caller's own.
fn require_owner(caller: &Caller<'_>, stat: &Stat) -> Result<(), Errno> {
    let own = caller.status()?.identity.user[1];
    if stat.st_uid == own { Ok(()) } else { Err(Errno::ACCESS) }
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
