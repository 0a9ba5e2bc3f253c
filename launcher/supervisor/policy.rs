//! The policy of the run, and the record of what it refuses.

use std::fs::File;
use std::io::{self, Write as _};

use jp_confine_policy::image::Image;
use rustix::io::Errno;

use crate::events;
use crate::sys::memory::Generation;

/// Beyond this size of the file nothing more is recorded.
const ENOUGH: u64 = 64 << 20;

/// What the supervisor judges by.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) image: Image<'static>,
    record: File,
    pub(crate) generation: Generation,
}

impl Policy {
    /// The image lives as long as the process: it is that of its one run.
    ///
    /// # Errors
    /// Where the image is damaged.
    pub(crate) fn new(image: Vec<u8>, record: File, generation: Generation) -> io::Result<Self> {
        let image = Image::parse(image.leak()).map_err(|_| Errno::INVAL)?;
        Ok(Self { image, record, generation })
    }

    /// Appends to the record. A full disk must not change an answer.
    pub(crate) fn record(&self, denial: &events::Denial) {
        if self.record.metadata().is_ok_and(|metadata| metadata.len() <= ENOUGH) {
            let _ = (&self.record).write_all(&denial.encode());
        }
    }
}
