//! Fills a workspace's own cache with what the user's cache has: symlinks to files that never change, and copies of those
//! that tools update (spec §12.2). Used by `caches` before a program runs.
//!
//! A symlink's text begins with two slashes, so it is followed as it stands, not through views. The user's directory is
//! out of reach of runs, but they may have left anything in the cache. So each directory of the cache is opened from the
//! one above, without following symlinks, and what is there stays.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fstat, futimens, openat,
    readlinkat, renameat, statat, symlinkat, unlinkat,
};

use crate::config::profile::Seeds;
use crate::files;
use crate::host::cache_dirs;

/// The first line of a record, before the rules.
const FORMAT: &str = "jp-confine seeds 1";

/// A directory that changed less than this many seconds ago may change again with the same time stamp.
const UNSURE: i64 = 1;

/// The flags of an open directory of the user's, and of the cache.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const OWN_DIRECTORY: OFlags = DIRECTORY.union(OFlags::NOFOLLOW);

/// How an entry gets into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Link,
    Copy,
}

/// The rest of a pattern behind a directory, by components.
type Rest<'a> = (Form, &'a [&'a str]);

/// A directory of the cache, which is created when it is needed.
struct Target<'a> {
    above: Option<(&'a Self, &'a CStr)>,
    opened: OnceCell<Option<OwnedFd>>,
    /// The entries that were there before.
    known: OnceCell<HashMap<CString, FileType>>,
}

/// A walk through the user's directory.
struct Walk<'a> {
    seeds: &'a Seeds,
    /// The directories of the user's that were read, as the record has them.
    seen: String,
    /// Whether the record will tell a later change.
    is_sure: bool,
    now: i64,
}

/// Fills the directory `cache` from the canonical `source`, as `seeds` says. Does nothing if the file `record` shows that
/// `source` is as it was the last time.
///
/// # Errors
/// `source` cannot be opened, or the record cannot be written. Entries that cannot be created are left out.
pub(crate) fn seed(source: &Path, cache: OwnedFd, record: &Path, seeds: &Seeds) -> io::Result<()> {
    let from = openat(CWD, source, DIRECTORY, Mode::empty())?;
    let head = format!("{FORMAT} {} {seeds:?}\n", source.display());
    if is_unchanged(&from, record, &head) {
        return Ok(());
    }
    let (opened, known) = (OnceCell::from(Some(cache)), OnceCell::new());
    let target = Target { above: None, opened, known };
    let links = seeds.links.iter().map(|pattern| (Form::Link, pattern));
    let copies = seeds.copies.iter().map(|pattern| (Form::Copy, pattern));
    let all: Vec<_> = links
        .chain(copies)
        .map(|(form, pattern)| (form, pattern.split('/').collect::<Vec<_>>()))
        .collect();
    let rests: Vec<Rest<'_>> = all.iter().map(|(form, names)| (*form, names.as_slice())).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let mut walk = Walk { seeds, seen: head, is_sure: true, now };
    walk.directory(&from, source.as_os_str().as_bytes(), b"", &target, &rests);
    if walk.is_sure {
        write_record(record, &walk.seen)?;
    } else {
        let _ = fs::remove_file(record);
    }
    Ok(())
}

/// Whether all directories of a record are as they were.
fn is_unchanged(from: &OwnedFd, record: &Path, head: &str) -> bool {
    let Ok(text) = files::read_own(record) else { return false };
    let Some(lines) = text.strip_prefix(head.as_bytes()).and_then(|text| text.strip_suffix(b"\n"))
    else {
        return false;
    };
    lines.split(|&byte| byte == b'\n').all(|line| {
        let mut words = line.splitn(2, |&byte| byte == b' ');
        let (Some(version), Some(path)) = (words.next(), words.next()) else { return false };
        let found =
            if path.is_empty() { fstat(from) } else { statat(from, path, AtFlags::empty()) };
        found.is_ok_and(|found| version_of(&found).as_bytes() == version)
    })
}

fn write_record(record: &Path, text: &str) -> io::Result<()> {
    let directory = record.parent().unwrap_or(record);
    let mut file = tempfile::Builder::new().prefix("seeds").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(record)?;
    Ok(())
}

/// A text that changes whenever an entry of the directory is created, deleted or renamed.
fn version_of(directory: &Stat) -> String {
    let Stat { st_dev, st_ino, st_ctime, st_ctime_nsec, .. } = directory;
    format!("{st_dev}:{st_ino}:{st_ctime}:{st_ctime_nsec}")
}

impl Walk<'_> {
    /// Seeds one directory. `from` is the user's, with its absolute path and the one below the source.
    fn directory(
        &mut self,
        from: &OwnedFd,
        path: &[u8],
        below: &[u8],
        target: &Target<'_>,
        rests: &[Rest<'_>],
    ) {
        self.note(from, below);
        let Ok(entries) = Dir::read_from(from) else { return };
        let mut seeded: Vec<CString> = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let bytes = name.to_bytes();
            let inside =
                if below.is_empty() { bytes.to_vec() } else { [below, b"/", bytes].concat() };
            let is_skip = |skip: &String| {
                let path = if skip.contains('/') { inside.as_slice() } else { bytes };
                matches(skip.as_bytes(), path)
            };
            if matches!(bytes, b"." | b"..") || self.seeds.skips.iter().any(is_skip) {
                continue;
            }
            let is_directory = entry.file_type() == FileType::Directory;
            let mut step = Step { name: bytes, is_directory, form: None, deeper: Vec::new() };
            for &rest in rests {
                step.take(rest);
            }
            let whole = [path, b"/", bytes].concat();
            match step.form {
                Some(form) if target.add(form, from, name, &whole) => seeded.push(name.to_owned()),
                None if !step.deeper.is_empty() => {
                    let Ok(from) = openat(from, name, OWN_DIRECTORY, Mode::empty()) else {
                        continue;
                    };
                    let (above, opened, known) =
                        (Some((target, name)), OnceCell::new(), OnceCell::new());
                    let inner = Target { above, opened, known };
                    self.directory(&from, &whole, &inside, &inner, &step.deeper);
                }
                _ => {}
            }
        }
        if rests.iter().any(|(_, rest)| rest.len() == 1 || rest.first() == Some(&"**")) {
            seeded.sort_unstable();
            target.remove_dangling(path, &seeded);
        }
    }

    /// Notes that a directory was read.
    fn note(&mut self, directory: &OwnedFd, below: &[u8]) {
        let (Ok(found), Ok(below)) = (fstat(directory), std::str::from_utf8(below)) else {
            self.is_sure = false;
            return;
        };
        self.is_sure &= found.st_ctime < self.now - UNSURE && !below.contains('\n');
        let _ = writeln!(self.seen, "{} {below}", version_of(&found));
    }
}

/// One entry of a directory, compared with all patterns.
struct Step<'a> {
    name: &'a [u8],
    is_directory: bool,
    form: Option<Form>,
    deeper: Vec<Rest<'a>>,
}

impl<'a> Step<'a> {
    fn take(&mut self, (form, rest): Rest<'a>) {
        match rest {
            ["**"] if self.is_directory => self.deeper.push((form, rest)),
            ["**"] => self.reach(form),
            ["**", more @ ..] => {
                if self.is_directory {
                    self.deeper.push((form, rest));
                }
                self.take((form, more));
            }
            [last] if matches(last.as_bytes(), self.name) => self.reach(form),
            [first, more @ ..]
                if !more.is_empty()
                    && self.is_directory
                    && matches(first.as_bytes(), self.name) =>
            {
                self.deeper.push((form, more));
            }
            _ => {}
        }
    }

    /// A pattern names this entry. Directories are not copied.
    fn reach(&mut self, form: Form) {
        if form == Form::Link || !self.is_directory {
            self.form.get_or_insert(form);
        }
    }
}

/// Whether a pattern with `*` for one or more bytes matches a name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = pattern.iter().position(|&byte| byte == b'*') else { return pattern == name };
    let (before, after) = pattern.split_at(star);
    let Some(rest) = name.strip_prefix(before) else { return false };
    let after = after.get(1..).unwrap_or_default();
    (1..=rest.len()).any(|end| rest.get(end..).is_some_and(|rest| matches(after, rest)))
}

impl Target<'_> {
    /// The open directory. Created if it is missing, unless something else has its name.
    fn open(&self) -> Option<BorrowedFd<'_>> {
        let open = || {
            let (above, name) = self.above?;
            cache_dirs::make_in(above.open()?, name).ok()
        };
        self.opened.get_or_init(open).as_ref().map(OwnedFd::as_fd)
    }

    fn known(&self) -> &HashMap<CString, FileType> {
        self.known.get_or_init(|| {
            let entries = self.open().and_then(|directory| Dir::read_from(directory).ok());
            let entries = entries.into_iter().flatten().flatten();
            entries.map(|entry| (entry.file_name().to_owned(), entry.file_type())).collect()
        })
    }

    /// Adds the entry `name` of the user's directory `from`, whose absolute path is `path`. Returns whether it is there.
    fn add(&self, form: Form, from: &OwnedFd, name: &CStr, path: &[u8]) -> bool {
        let Some(directory) = self.open() else { return false };
        match form {
            Form::Link if self.known().contains_key(name) => true,
            Form::Link => {
                let _ = symlinkat([b"/", path].concat(), directory, name);
                true
            }
            Form::Copy => copy(from.as_fd(), directory, name).is_some(),
        }
    }

    /// Removes symlinks into the user's directory at `path` to entries that are not `seeded`, because they are gone.
    fn remove_dangling(&self, path: &[u8], seeded: &[CString]) {
        let Some(directory) = self.open() else { return };
        for (name, _) in self.known().iter().filter(|(_, kind)| **kind == FileType::Symlink) {
            let is_known = seeded.binary_search_by(|known| known.cmp(name)).is_ok();
            let leads_there = || {
                let target = readlinkat(directory, name, Vec::new()).ok()?;
                let rest = target.to_bytes().strip_prefix(b"/")?.strip_prefix(path)?;
                (rest.strip_prefix(b"/")? == name.to_bytes()).then_some(())
            };
            if !is_known && leads_there().is_some() {
                let _ = unlinkat(directory, name, AtFlags::empty());
            }
        }
    }
}

/// Copies a file with its modification time, unless the cache has one that is as new. `None` if that fails.
fn copy(from: BorrowedFd<'_>, directory: BorrowedFd<'_>, name: &CStr) -> Option<()> {
    let nofollow = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let time = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    let [found, known] = [from, directory].map(|at| statat(at, name, AtFlags::SYMLINK_NOFOLLOW));
    let found = found.ok()?;
    if known.is_ok_and(|known| time(&known) >= time(&found)) {
        return Some(());
    }
    let mut source = File::from(openat(from, name, OFlags::RDONLY | nofollow, Mode::empty()).ok()?);
    let found = fstat(&source).ok()?;
    // Another run may be copying it now.
    let prefix = format!(".jp-confine.{}.", std::process::id());
    let part = CString::new([prefix.as_bytes(), name.to_bytes()].concat()).ok()?;
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | nofollow;
    let mut file = File::from(openat(directory, &part, create, Mode::from_raw_mode(0o644)).ok()?);
    let modified =
        Timespec { tv_sec: found.st_mtime, tv_nsec: i64::try_from(found.st_mtime_nsec).ok()? };
    let done = io::copy(&mut source, &mut file).is_ok()
        && futimens(&file, &Timestamps { last_access: modified, last_modification: modified })
            .is_ok()
        && renameat(directory, &part, directory, name).is_ok();
    if !done {
        let _ = unlinkat(directory, &part, AtFlags::empty());
    }
    done.then_some(())
}
