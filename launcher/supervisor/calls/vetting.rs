//! Handles renames with which Git replaces its configuration, so that ordinary changes need no prompt. The text that
//! was vetted goes into a new file that no other process can write to.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::autorun;
use jp_confine_engine::image::Text;
use jp_confine_engine::moves::{self, Ends, Move};
use jp_confine_engine::vetting::{self, Facts, Unvetted};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fchmod, fstat, mkdirat, openat, openat2,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::supervisor::resolve::location::{self, ObjectLocation};
use crate::supervisor::resolve::object::PinnedEntry;
use crate::supervisor::task::Task;
use crate::supervisor::vetted_remotes::Added;

/// No ordinary configuration is larger.
const LARGEST: u64 = 1 << 20;
/// How many times others may change the configuration meanwhile.
const TRIES: usize = 4;

/// The result for a rename.
pub(super) enum VettedRename {
    /// It is not one to vet.
    Other,
    /// It is done.
    Done,
    /// A person must be asked, for this reason.
    Unvetted(String),
}

/// Makes a rename that replaces a Git configuration, if its changes are ordinary.
///
/// # Errors
/// The kernel's.
pub(super) fn rename(
    task: &Task<'_>,
    asked: &Move<'_>,
    ends: &impl Ends,
    (source, target): (&PinnedEntry, &PinnedEntry),
) -> Result<VettedRename, Errno> {
    if source.slash || target.slash || !moves::may_be_vetted(task.image(), asked, ends) {
        return Ok(VettedRename::Other);
    }
    let Some(shelter) = Shelter::beside(task, target) else {
        return Ok(VettedRename::Unvetted("what has no place until it is vetted".to_owned()));
    };
    let mut added = task.policy.vetting.turn();
    for _ in 0..TRIES {
        let Some(new) = Content::read(source) else { break };
        let Some(old) = Content::read_if_any(target) else { break };
        let names = match vet(task, target, &added, (&old, &new)) {
            Ok(names) => names,
            Err(why) => return Ok(VettedRename::Unvetted(why)),
        };
        match put(&shelter, &new, &old, (source, target)) {
            Err(Errno::AGAIN) => {}
            outcome => {
                outcome?;
                added.extend(names.into_iter().map(|name| (target.path.clone(), name)));
                return Ok(VettedRename::Done);
            }
        }
    }
    Ok(VettedRename::Unvetted("what cannot be read".to_owned()))
}

/// The added remotes, or the reason to ask a person.
fn vet(
    task: &Task<'_>,
    target: &PinnedEntry,
    added: &Added,
    (old, new): (&Content, &Content),
) -> Result<Vec<Vec<u8>>, String> {
    let end = target.path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let facts = Facts {
        directory: target.path.get(..end).unwrap_or_default(),
        workspace: task.image().text(Text::Workspace),
        is_out_of_reach: &|path| is_out_of_reach(task, path),
        is_own_remote: &|name| added.contains(&(target.path.clone(), name.to_vec())),
    };
    match vetting::vet(&old.bytes, &new.bytes, &facts) {
        Ok(vetted) => Ok(vetted.added),
        Err(Unvetted::Changes(names)) => Err(names.join(", ")),
        Err(Unvetted::Unreadable) => Err("what git cannot read".to_owned()),
    }
}

/// Whether the path is a directory, without any symlink, in which the run can change nothing that Git obeys.
fn is_out_of_reach(task: &Task<'_>, path: &[u8]) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve);
    let image = task.image();
    found.is_ok() && (vetting::is_out_of_reach(image, path) || vetting::is_guarded(image, path))
}

/// The content of a file.
struct Content {
    bytes: Vec<u8>,
    /// `None` if there is no file.
    stat: Option<Stat>,
}

impl Content {
    /// Reads a regular file that is not too large. Follows no symlink.
    fn read(entry: &PinnedEntry) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&entry.directory, &entry.name, flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        let count = File::from(file).take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
        (count as u64 <= LARGEST).then_some(Self { bytes, stat: Some(stat) })
    }

    /// As [`Self::read`], but empty if the file is missing.
    fn read_if_any(entry: &PinnedEntry) -> Option<Self> {
        match look(entry) {
            Err(Errno::NOENT) => Some(Self { bytes: Vec::new(), stat: None }),
            _ => Self::read(entry),
        }
    }

    /// Whether the entry is still that file, and nobody has written to it.
    fn is_at(&self, entry: &PinnedEntry) -> bool {
        let known = |stat: &Stat| {
            (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
        };
        match (look(entry), &self.stat) {
            (Err(Errno::NOENT), None) => true,
            (Ok(found), Some(stat)) => known(&found) == known(stat),
            _ => false,
        }
    }
}

fn look(entry: &PinnedEntry) -> Result<Stat, Errno> {
    statat(&entry.directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Puts the source's vetted text at the target in one step, and deletes the source.
///
/// # Errors
/// The kernel's, and `EAGAIN` if the target has changed.
fn put(
    Shelter { directory, name }: &Shelter,
    new: &Content,
    old: &Content,
    (source, target): (&PinnedEntry, &PinnedEntry),
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    let outcome = fill(file, new).and_then(|()| {
        if !old.is_at(target) {
            return Err(Errno::AGAIN);
        }
        renameat(directory, name, &target.directory, &target.name)
    });
    if outcome.is_err() {
        let _ = unlinkat(directory, name, AtFlags::empty());
        return outcome;
    }
    let is_same = |found: Stat| {
        new.stat.is_some_and(|stat| (stat.st_dev, stat.st_ino) == (found.st_dev, found.st_ino))
    };
    if look(source).is_ok_and(is_same) {
        let _ = unlinkat(&source.directory, &source.name, AtFlags::empty());
    }
    Ok(())
}

fn fill(file: OwnedFd, content: &Content) -> Result<(), Errno> {
    let mut file = File::from(file);
    let written = file.write_all(&content.bytes);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let mode = content.stat.map_or(0o600, |stat| stat.st_mode & 0o777);
    fchmod(&file, Mode::from_raw_mode(mode))
}

/// The place of a file until it is complete. No process of the run can open, move or link a file with a name there.
struct Shelter {
    directory: OwnedFd,
    name: CString,
}

impl Shelter {
    /// The hooks directory of the repository that the configuration belongs to.
    fn beside(task: &Task<'_>, target: &PinnedEntry) -> Option<Self> {
        let directory = hooks(task, target).ok()?;
        let name = draw_name().ok()?;
        let Ok(ObjectLocation::Named(path)) =
            location::of_entry(&task.caller, directory.as_fd(), name.to_bytes())
        else {
            return None;
        };
        let is_listed = |image| autorun::entry(image, &path).is_some();
        task.image().levels().any(is_listed).then_some(Self { directory, name })
    }
}

fn hooks(task: &Task<'_>, target: &PinnedEntry) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let of_worktree = target.path.rsplit(|&byte| byte == b'/').nth(2) == Some(b"worktrees");
    let path = if of_worktree { "../../hooks" } else { "hooks" };
    let open = || openat2(&target.directory, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    match open() {
        Err(Errno::NOENT) => {
            task.prepare_to_make()?;
            mkdirat(&target.directory, path, Mode::from_raw_mode(0o777))?;
            open()
        }
        outcome => outcome,
    }
}

/// A name that nobody can guess, and that no hook has.
fn draw_name() -> Result<CString, Errno> {
    let mut drawn = [0_u8; 8];
    getrandom(&mut drawn, GetRandomFlags::empty())?;
    let name = format!(".jp-confine-{:016x}", u64::from_le_bytes(drawn));
    CString::new(name).map_err(|_| Errno::INVAL)
}
