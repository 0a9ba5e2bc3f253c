//! Files that `learn` writes.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jp_confine_policy::canonical::{self, Op};

use crate::context::Context;
use crate::failure::Failure;
use crate::report;

/// Where something is to be written.
#[derive(Debug)]
pub(crate) struct Output {
    option: &'static str,
    /// Absolute; `None` is standard output.
    path: Option<PathBuf>,
    force: bool,
    root: PathBuf,
}

impl Output {
    /// Checks `path`, as given with `option`, before anything is run; `-` is standard output. What
    /// exists is not replaced without `force`.
    pub(crate) fn open(
        context: &Context,
        root: &Path,
        option: &'static str,
        path: &Path,
        force: bool,
    ) -> Result<Self, Failure> {
        let path = (path != Path::new("-")).then(|| context.absolute(path));
        let output = Self { option, path, force, root: root.to_owned() };
        if let Some(path) = &output.path {
            output.check(path)?;
        }
        Ok(output)
    }

    /// For people: the path from the workspace, or the whole path.
    pub(crate) fn shown(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        Some(report::shown(path.as_os_str().as_encoded_bytes(), &self.root))
    }

    /// Writes `text`, in one step. The run may have made links meanwhile, so all is checked again.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            report::output(text);
            return Ok(());
        };
        self.check(path)?;
        let write = || -> io::Result<()> {
            let parent = path.parent().unwrap_or(Path::new("/"));
            let mut file = tempfile::Builder::new()
                .prefix(".jp-confine-")
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
                .tempfile_in(parent)?;
            file.write_all(text.as_bytes())?;
            if self.force {
                file.persist(path)?;
            } else {
                file.persist_noclobber(path)?;
            }
            Ok(())
        };
        write().map_err(|error| self.failure(&error.to_string()))
    }

    /// The launcher is not confined: a directory of the workspace that has become a link must not lead
    /// it out. What stands at the name itself is replaced, never followed.
    fn check(&self, path: &Path) -> Result<(), Failure> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        let resolved = canonical::resolve(parent, parent, Op::Content);
        let resolved = resolved.map_err(|error| self.failure(&error.to_string()))?;
        if parent.starts_with(&self.root) && !resolved.path.starts_with(&self.root) {
            return Err(Failure::advised(
                format!(
                    "{} {} leads out of the workspace through a link",
                    self.option,
                    path.display()
                ),
                "name the file that is meant",
            ));
        }
        if !self.force && fs::symlink_metadata(path).is_ok() {
            return Err(Failure::advised(
                format!("{} {} exists already", self.option, path.display()),
                "name another file, or replace it with --force",
            ));
        }
        Ok(())
    }

    fn failure(&self, why: &str) -> Failure {
        let path = self.path.as_deref().unwrap_or(Path::new("-")).display();
        Failure::own(format!("{} {path} cannot be written: {why}", self.option))
    }
}
