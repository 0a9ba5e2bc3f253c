//! Creates and removes the files of one run: the program's private directory for temporary files and, beside it and
//! out of its reach, the record of denials.
//!
//! The runs of a user have them in one directory, so that a later run finds the files of a killed run there. A run
//! holds a lock on its record. The kernel releases the lock however the run ends.
//!
//! A supervisor has its own record in memory, which a program cannot suppress by filling the disk.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::{NamedTempFile, TempDir};

use crate::files;
use crate::text::quote;

/// Extension of a run's record. Without it, the name is that of the temporary directory.
const RECORD: &str = "denials";

/// How many records of other runs a run looks at.
const SWEPT: usize = 32;

/// How long the end of a run waits for the removal of its temporary files, in nanoseconds.
const LONGEST_REMOVAL: i64 = 300_000_000;

/// The files of one run. They are removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The program's `TMPDIR`, unless it shares the host's.
    temp: Option<PathBuf>,
    record: NamedTempFile,
    /// The supervisor's record.
    told: OwnedFd,
    ground: Ground,
}

/// The directory of a run's files.
#[derive(Debug)]
enum Ground {
    /// The common directory of all runs of this user.
    Common(PathBuf),
    /// A directory for this run alone, because another user has taken the name of the common one.
    Own(TempDir),
}

impl Scratch {
    /// Creates the files below `host`, the host's directory for temporary files. `share` leaves out the private
    /// directory, because the program uses the host's.
    pub(crate) fn new(host: &Path, share: bool) -> io::Result<Self> {
        let ground = match common_ground(host) {
            Ok(dir) => Ground::Common(dir),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ground::Own(tempfile::Builder::new().prefix("jp-confine-").tempdir_in(host)?)
            }
            Err(error) => return Err(error),
        };
        let record = record_in(ground.path())?;
        let temp = (!share).then(|| record.path().with_extension(""));
        if let Some(temp) = &temp {
            DirBuilder::new().mode(0o700).create(temp)?;
        }
        let told = memfd_create("denials", MemfdFlags::CLOEXEC)?;
        Ok(Self { temp, record, told, ground })
    }

    /// The program's own `TMPDIR`, if it has one.
    pub(crate) fn temp(&self) -> Option<&Path> {
        self.temp.as_deref()
    }

    /// The directory that the files are in, which only this user may enter.
    pub(crate) fn ground(&self) -> &Path {
        self.ground.path()
    }

    /// The path at which confined processes record denials.
    pub(crate) fn denials(&self) -> &Path {
        self.record.path()
    }

    /// The record of denials, open for reading from its start.
    pub(crate) fn open_denials(&self) -> io::Result<File> {
        self.record.as_file().try_clone()
    }

    /// The supervisor's record, open for reading from its start.
    pub(crate) fn open_told(&self) -> io::Result<File> {
        self.told.try_clone().map(File::from)
    }

    /// The supervisor's record, open for appending.
    ///
    /// # Errors
    /// If there is no `/proc`. Then there is no supervisor.
    pub(crate) fn open_record(&self) -> io::Result<File> {
        // It is opened again, so that the reader has its own offset.
        let path = format!("/proc/self/fd/{}", self.told.as_raw_fd());
        OpenOptions::new().append(true).open(path)
    }

    /// Removes the files of killed runs, as far as their names follow the own one, which is random. So a thousand runs do
    /// not each look at all others. Follows no symlink, and touches nothing outside the directory that is this user's
    /// alone. Files that cannot be removed stay.
    pub(crate) fn sweep(&self) {
        let Ground::Common(ground) = &self.ground else { return };
        let Ok(entries) = fs::read_dir(ground) else { return };
        let is_record = |path: &PathBuf| path.extension().is_some_and(|end| end == RECORD);
        let mut records: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_record).collect();
        records.sort_unstable();
        let own = records.iter().position(|path| path == self.denials()).unwrap_or_default();
        records.rotate_left(own);
        let mut others = records.iter().skip(1).take(SWEPT).map(|it| remove_if_abandoned(it));
        // The first that takes long is enough for one run.
        let _ = others.any(|removed| removed.is_err_and(|it| it.kind() == io::ErrorKind::TimedOut));
    }
}

impl Ground {
    fn path(&self) -> &Path {
        match self {
            Self::Common(path) => path,
            Self::Own(dir) => dir.path(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(temp) = &self.temp {
            // Whatever cannot be removed stays.
            let _ = remove_dir(temp);
        }
    }
}

/// Creates a record, and locks it.
///
/// Before it is locked, a sweeping run may take it for an abandoned one and delete its name. Then another record is
/// created.
fn record_in(ground: &Path) -> io::Result<NamedTempFile> {
    loop {
        let record = tempfile::Builder::new()
            .prefix("run-")
            .suffix(&format!(".{RECORD}"))
            .tempfile_in(ground)?;
        record.as_file().lock()?;
        if record.as_file().metadata()?.nlink() > 0 {
            return Ok(record);
        }
    }
}

/// Removes the files of the run with this record, unless the run still holds the lock. The record goes last: while it
/// exists, the remaining files can be found.
fn remove_if_abandoned(record: &Path) -> io::Result<()> {
    let file = files::open_own(record)?;
    file.try_lock()?;
    match remove_dir(&record.with_extension("")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(record),
    }
}

/// Removes a directory, which is usually empty. Removing many files takes long, so rm(1) does it, and goes on by itself
/// if the time is over.
fn remove_dir(path: &Path) -> io::Result<()> {
    if fs::remove_dir(path).is_ok() {
        return Ok(());
    }
    let mut remover = Command::new("rm");
    remover.args(["-rf", "--"]).arg(path).process_group(0);
    remover.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match remover.spawn() {
        Ok(mut remover) if ends_in_time(&remover) => {
            remover.wait()?;
            fs::remove_dir_all(path).or_else(absent)
        }
        Ok(_) => Err(io::ErrorKind::TimedOut.into()),
        Err(_) => fs::remove_dir_all(path),
    }
}

/// Waits for a process, but not for long.
fn ends_in_time(child: &Child) -> bool {
    let limit = Timespec { tv_sec: 0, tv_nsec: LONGEST_REMOVAL };
    let ended = |child: OwnedFd| {
        let mut ready = [PollFd::new(&child, PollFlags::IN)];
        poll(&mut ready, Some(&limit)).is_ok_and(|ready| ready > 0)
    };
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).is_ok_and(ended)
}

/// What does not exist needs no removal.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Creates or finds the directory below `host` that is this user's alone. If another user has taken its name, that is
/// an error.
fn common_ground(host: &Path) -> io::Result<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let dir = host.join(format!("jp-confine-{me}"));
    match DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = dir.symlink_metadata()?;
    if meta.is_dir() && meta.uid() == me && meta.mode() & 0o777 == 0o700 {
        return Ok(dir);
    }
    let message = format!("{} is not a private directory of yours", quote::place(&dir));
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ground: &Path) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(ground).expect("listed").flatten().map(|entry| entry.path()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_leaves_nothing() {
        let host = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::new(host.path(), false).expect("made");
        let temp = scratch.temp().expect("private").to_owned();
        fs::create_dir_all(temp.join("a/b")).expect("made");
        let ground = temp.parent().expect("a parent").to_owned();
        drop(scratch);
        assert!(names(&ground).is_empty());
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else() {
        let host = tempfile::tempdir().expect("a directory");
        let ground = common_ground(host.path()).expect("made");
        let kept = host.path().join("kept");
        fs::create_dir(&kept).expect("made");
        fs::write(kept.join("file"), "").expect("written");
        fs::create_dir_all(ground.join("run-dead/a")).expect("made");
        fs::write(ground.join("run-dead.denials"), "").expect("written");
        std::os::unix::fs::symlink(&kept, ground.join("run-dead/link")).expect("linked");
        std::os::unix::fs::symlink(kept.join("file"), ground.join("run-link.denials"))
            .expect("linked");
        fs::create_dir(ground.join("shim-0")).expect("made");

        let other = Scratch::new(host.path(), false).expect("made");
        let scratch = Scratch::new(host.path(), true).expect("made");
        scratch.sweep();
        assert!(!ground.join("run-dead").exists() && !ground.join("run-dead.denials").exists());
        assert!(kept.join("file").exists() && ground.join("shim-0").exists());
        assert!(other.denials().exists() && other.temp().is_some_and(Path::exists));
        assert!(scratch.temp().is_none() && scratch.denials().exists());
    }

    #[test]
    fn a_taken_name_is_not_used() {
        let host = tempfile::tempdir().expect("a directory");
        let me = rustix::process::geteuid().as_raw();
        let elsewhere = tempfile::tempdir().expect("a directory");
        let name = host.path().join(format!("jp-confine-{me}"));
        std::os::unix::fs::symlink(elsewhere.path(), name).expect("linked");
        let scratch = Scratch::new(host.path(), false).expect("made");
        assert!(names(elsewhere.path()).is_empty());
        assert!(scratch.denials().starts_with(host.path()));
    }
}
