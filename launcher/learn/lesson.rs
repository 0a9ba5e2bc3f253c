//! Holds the state of a `learn` run.

use std::fs::File;
use std::io;

use crate::learn::progress::Progress;
use crate::record::usage::{self, Uses};

/// A run that is learned from.
#[derive(Debug)]
pub(crate) struct Lesson {
    file: File,
    pub(crate) uses: Uses,
    progress: Progress,
}

impl Lesson {
    pub(crate) fn new() -> io::Result<Self> {
        let file = usage::file()?;
        Ok(Self { uses: Uses::new(file.try_clone()?), file, progress: Progress::new() })
    }

    /// The file that the supervisor records to.
    pub(crate) fn recording(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Shows the progress so far.
    pub(crate) fn look(&mut self) {
        if self.progress.is_due() && self.uses.read().is_ok() {
            self.progress.show(&self.uses);
        }
    }

    /// Reads the rest of the record.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.progress.clear();
        self.uses.read()?;
        self.uses.settle();
        Ok(())
    }
}
