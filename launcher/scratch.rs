//! The directories of one run: private temporary files for the program, and beside them, out of
//! its reach, the record of denials.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The directories of one run; removed with all they hold when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Held for its drop.
    _whole: TempDir,
    temp: PathBuf,
    control: PathBuf,
}

impl Scratch {
    /// Makes the directories below `host`, the host's directory for temporary files.
    pub(crate) fn new(host: &Path) -> io::Result<Self> {
        let host = host.canonicalize()?;
        let whole = tempfile::Builder::new()
            .prefix("jp-confine-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(host)?;
        let directory = |name: &str| {
            let path = whole.path().join(name);
            fs::DirBuilder::new().mode(0o700).create(&path).map(|()| path)
        };
        let (temp, control) = (directory("tmp")?, directory("run")?);
        Ok(Self { temp, control, _whole: whole })
    }

    /// The program's `TMPDIR`.
    pub(crate) fn temp(&self) -> &Path {
        &self.temp
    }

    /// The launcher's own part.
    pub(crate) fn control(&self) -> &Path {
        &self.control
    }

    /// Where confined processes record denials.
    pub(crate) fn denials(&self) -> PathBuf {
        self.control.join(OsStr::new("denials"))
    }

    /// Makes the empty record and opens it for reading.
    pub(crate) fn create_denials(&self) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        options.open(self.denials())
    }
}
