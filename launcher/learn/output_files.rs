//! Checks and writes the output files of `learn`.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fcntl_setfl, fstat, openat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::stdio::{dup2_stdout, stderr, stdout};

use crate::error::Failure;
use crate::files::WritePlace;
use crate::host::context::Context;
use crate::output;
use crate::sys::{signals, streams};
use crate::text::quote;

/// The destination of an output.
#[derive(Debug)]
pub(crate) struct Output {
    option: &'static str,
    /// The absolute path. `None` is standard output.
    path: Option<PathBuf>,
    /// A stream to write into: standard output, once it is reserved for this output, or a path that is no regular file.
    kept: Option<File>,
    force: bool,
    root: PathBuf,
    cwd: PathBuf,
}

impl Output {
    /// Checks `path`, given with `option`, before anything is run. `-` is standard output, and so are paths that lead
    /// there. An existing file is not replaced without `force`. A special file, such as a pipe, is never replaced.
    pub(crate) fn open(
        context: &Context,
        root: &Path,
        option: &'static str,
        path: &Path,
        force: bool,
    ) -> Result<Self, Failure> {
        let path = (path != Path::new("-")).then(|| context.absolute(path));
        let path = path.filter(|path| !is_standard_output(path));
        let (root, cwd) = (root.to_owned(), context.cwd.clone());
        let mut output = Self { option, path, kept: None, force, root, cwd };
        if let Some(path) = &output.path {
            let place = output.place(path)?;
            output.kept = output.stream(&place)?;
            if output.kept.is_none() {
                output.check(path)?;
            }
        }
        Ok(output)
    }

    /// The path relative to the current directory, or the whole path. `None` for standard output.
    pub(crate) fn seen(&self) -> Option<&Path> {
        let path = self.path.as_deref()?;
        Some(path.strip_prefix(&self.cwd).unwrap_or(path))
    }

    /// As [`Self::seen`], for people.
    pub(crate) fn shown(&self) -> Option<String> {
        self.seen().map(|path| quote::printable(path.as_os_str().as_encoded_bytes()))
    }

    /// Whether both go to the same file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let place = |output: &Self| output.place(output.path.as_deref()?).ok();
        place(self).is_some_and(|own| place(other).is_some_and(|it| it.path() == own.path()))
    }

    /// Whether it goes into the workspace.
    pub(crate) fn is_in_workspace(&self) -> bool {
        let place = self.path.as_deref().and_then(|path| self.place(path).ok());
        place.is_some_and(|place| place.path().starts_with(&self.root))
    }

    /// Writes `text` in one step. The run may have created links meanwhile, so everything is checked again.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        if let Some(kept) = self.kept.as_ref() {
            return self.write_into(kept, text);
        }
        let Some(path) = &self.path else { return output::output(text) };
        let place = self.check(path)?;
        // The error is reported by its kind only: it names the temporary file.
        let put = place.put(text.as_bytes(), self.force);
        put.map_err(|error| self.failure(&error.kind().to_string()))
    }

    /// Writes into the stream. A reader that closed a pipe has read enough.
    fn write_into(&self, mut kept: &File, text: &str) -> Result<(), Failure> {
        if self.path.is_none() {
            return output::output_to(&mut kept, text);
        }
        signals::survive_limit_of_length();
        match kept.write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(self.failure(&error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The place that `path` leads to, except for a symlink at its end. The launcher is not confined, so it follows no
    /// symlink on the way that a run could have created.
    fn place(&self, path: &Path) -> Result<WritePlace, Failure> {
        WritePlace::of(Path::new("/"), path).map_err(|why| why.failure(self.option, path))
    }

    /// Opens the stream at `place`, if that is neither a regular file nor a path for a new one. Follows no link, since
    /// a run may have created it, except those by which the system names this process's own files. Pins the file while
    /// it is examined: its name may lead elsewhere by the time it is opened.
    fn stream(&self, place: &WritePlace) -> Result<Option<File>, Failure> {
        let is_given = is_given(place.path());
        let links = if is_given { OFlags::empty() } else { OFlags::NOFOLLOW };
        let (directory, name) = place.held();
        let flags = OFlags::PATH | OFlags::CLOEXEC | links;
        let Ok(held) = openat(directory, name, flags, Mode::empty()) else {
            return Ok(None);
        };
        let found = fstat(&held).map_err(io::Error::from)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory | FileType::Symlink => Ok(None),
            FileType::RegularFile if !is_given => Ok(None),
            FileType::BlockDevice => Err(self.failure("it is a block device")),
            kind => match open_held(&held) {
                Ok(file) => Ok(Some(file.into())),
                Err(Errno::NXIO) if kind == FileType::Fifo => {
                    Err(self.failure("nobody reads from this pipe"))
                }
                Err(error) => Err(self.failure(&io::Error::from(error).to_string())),
            },
        }
    }

    /// The [`Self::place`] of a file, if it can be written. A symlink at its end is replaced, never followed. Problems
    /// are found before the run, so that they do not cost the results.
    fn check(&self, path: &Path) -> Result<WritePlace, Failure> {
        let place = self.place(path)?;
        let failure = |error: io::Error| self.failure(&error.to_string());
        let standing = place.standing().map_err(failure)?;
        if !self.force && standing.is_some() {
            return Err(Failure::advised(
                format!("{} {} exists already", self.option, quote::place(path)),
                "name another file, or replace it with --force",
            ));
        }
        let is_directory = |status: &Stat| FileType::from_raw_mode(status.st_mode).is_dir();
        if standing.as_ref().is_some_and(is_directory) {
            return Err(self.failure("it is a directory"));
        }
        place.may_be_replaced().map_err(failure)?;
        Ok(place)
    }

    fn failure(&self, why: &str) -> Failure {
        let path = quote::place(self.path.as_deref().unwrap_or(Path::new("-")));
        Failure::advised(
            format!("{} {path} cannot be written: {why}", self.option),
            format!("name a file in a directory that you may write to: {} FILE", self.option),
        )
    }
}

/// Reserves standard output for the one of `outputs` that goes there. From now on, programs that write to it write to
/// standard error.
///
/// # Errors
/// Standard output was closed, or several outputs go there.
pub(crate) fn take_standard_output<'o>(
    outputs: impl Iterator<Item = &'o mut Output>,
) -> Result<(), Failure> {
    let mut outputs = outputs.filter(|output| output.path.is_none());
    let Some(first) = outputs.next() else { return Ok(()) };
    if let Some(second) = outputs.next() {
        return Err(Failure::advised(
            format!("{} - beside {} -: standard output takes one", second.option, first.option),
            format!("name a file for the other: {} FILE", second.option),
        ));
    }
    if streams::output_was_closed() {
        return Err(first.failure("standard output is closed"));
    }
    first.kept = Some(fcntl_dupfd_cloexec(stdout(), 0).map_err(io::Error::from)?.into());
    dup2_stdout(stderr()).map_err(io::Error::from)?;
    Ok(())
}

/// Whether `path` is the system's name for standard output, such as `/dev/stdout`.
fn is_standard_output(path: &Path) -> bool {
    let same = |found: Metadata| {
        fstat(stdout()).is_ok_and(|own| (own.st_dev, own.st_ino) == (found.dev(), found.ino()))
    };
    (path.starts_with("/dev") || path.starts_with("/proc")) && path.metadata().is_ok_and(same)
}

/// Whether `place` is the system's name for one of this process's files.
fn is_given(place: &Path) -> bool {
    let own = Path::new("/proc").join(std::process::id().to_string()).join("fd");
    place.parent() == Some(&own) || ["/dev/stdout", "/dev/stderr"].map(Path::new).contains(&place)
}

/// Opens a pinned file for writing. Opening does not wait for a reader, but writing waits for room.
fn open_held(held: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", held.as_raw_fd());
    let file = rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::empty())?;
    fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}
