//! The policy of the run, and the record of its denials.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jp_confine_engine::image::{Image, Text};
use jp_confine_engine::report_protocol::MAX_RECORD_BYTES;
use rustix::io::Errno;

use crate::network::{Network, inherited_sockets};
use crate::prompt::during_run::Consent;
use crate::record::denial;
use crate::record::usage::Recorder;
use crate::supervisor::vetted_remotes::Vetting;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::memory::Generation;

/// The facts by which the supervisor judges.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) image: Image<'static>,
    record: File,
    /// How many denials did not fit in the record.
    unrecorded: AtomicU64,
    /// Asks the person, and remembers the answers.
    pub(crate) consent: Arc<Consent>,
    pub(crate) generation: Generation,
    /// The page that the generation is on.
    page: OwnedFd,
    /// The rules for connections, if they are judged.
    pub(crate) network: Option<Network>,
    /// The cookies of sockets handed to the run at its start, if known. They do not count as the run's own.
    pub(crate) handed: Option<HashSet<u64>>,
    /// Records accesses in a learning run.
    pub(crate) learner: Option<Recorder>,
    /// Where Landlock lets programs start. `None` if it takes no part.
    pub(crate) starts: Option<Vec<StartPlace>>,
    /// Whether the typed program has been started. Before that, only the launcher's code runs.
    pub(crate) begun: AtomicBool,
    /// Orders the vetting of Git configurations.
    pub(crate) vetting: Vetting,
}

impl Policy {
    /// Leaks the image, which lives as long as the process and its one run.
    ///
    /// # Errors
    /// Fails if the image is damaged.
    pub(crate) fn new(
        image: Vec<u8>,
        record: File,
        page: &OwnedFd,
        consent: Arc<Consent>,
        learner: Option<Recorder>,
        network: Option<Network>,
    ) -> io::Result<Self> {
        let image = Image::read(image.leak()).map_err(|_| Errno::INVAL)?;
        let (generation, page) = (Generation::map(page)?, page.try_clone()?);
        let begun = AtomicBool::new(false);
        let unrecorded = AtomicU64::new(0);
        let handed = inherited_sockets::cookies().ok();
        Ok(Self {
            image,
            record,
            unrecorded,
            consent,
            generation,
            page,
            network,
            handed,
            learner,
            starts: None,
            begun,
            vetting: Vetting::default(),
        })
    }

    /// The page that the processes of the run share, if `path` names it. A process opens this path if its parent closed
    /// the page. Landlock keeps it from using the front's descriptors.
    pub(crate) fn shared_page(&self, path: &CStr) -> Option<OwnedFd> {
        let asked = path.to_bytes() == self.image.text(Text::SharedPage);
        asked.then(|| self.page.try_clone().ok()).flatten()
    }

    /// Appends to the record, or counts the denial if it does not fit. A full disk must not change an answer.
    pub(crate) fn record(&self, denial: &denial::Denial) {
        let has_room =
            self.record.metadata().is_ok_and(|metadata| metadata.len() <= MAX_RECORD_BYTES);
        let recorded = has_room && (&self.record).write_all(&denial.encode()).is_ok();
        if !recorded && !denial.reason.is_consent() {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many denials are not in the record.
    pub(crate) fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}
