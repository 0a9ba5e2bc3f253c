//! The policy of the run, and the record of what it refuses.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jp_confine_policy::image::{Image, Text};
use jp_confine_policy::telling::FULL;
use rustix::io::Errno;

use crate::network::{Network, inherited_sockets};
use crate::prompt::during_run::Consent;
use crate::record::denial;
use crate::record::usage::Recorder;
use crate::supervisor::vetted_remotes::Vetting;
use crate::sys::landlock_bounds::StartPlace;
use crate::sys::memory::Generation;

/// What the supervisor judges by.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) image: Image<'static>,
    record: File,
    /// How many denials had no room there.
    unrecorded: AtomicU64,
    /// Who is asked, and what was answered.
    pub(crate) consent: Arc<Consent>,
    pub(crate) generation: Generation,
    /// The page that the generation is on.
    page: OwnedFd,
    /// What connections are judged by, if they are.
    pub(crate) network: Option<Network>,
    /// The cookies of sockets that were handed to the run when it began, if these are known: they are not its own.
    pub(crate) handed: Option<HashSet<u64>>,
    /// Who learns what the run uses, if anybody does.
    pub(crate) learner: Option<Recorder>,
    /// Where Landlock lets programs start; `None` where it takes no part.
    pub(crate) starts: Option<Vec<StartPlace>>,
    /// Whether the program that was typed has been started: before that nothing of the run's own runs.
    pub(crate) begun: AtomicBool,
    /// Whose turn it is to have a configuration of git vetted.
    pub(crate) vetting: Vetting,
}

impl Policy {
    /// The image lives as long as the process: it is that of its one run.
    ///
    /// # Errors
    /// Where the image is damaged.
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

    /// The page that the processes of the run share, if that is what `path` names: a process whose
    /// parent closed it asks for it so, and Landlock keeps it from the front's descriptors.
    pub(crate) fn shared_page(&self, path: &CStr) -> Option<OwnedFd> {
        let asked = path.to_bytes() == self.image.text(Text::SharedPage);
        asked.then(|| self.page.try_clone().ok()).flatten()
    }

    /// Appends to the record, or counts what has no room there. A full disk must not change an answer.
    pub(crate) fn record(&self, denial: &denial::Denial) {
        let has_room = self.record.metadata().is_ok_and(|metadata| metadata.len() <= FULL);
        let recorded = has_room && (&self.record).write_all(&denial.encode()).is_ok();
        if !recorded && !denial.reason.is_consent() {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many denials are not on record.
    pub(crate) fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}
