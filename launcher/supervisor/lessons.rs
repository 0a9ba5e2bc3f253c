//! What a learner is told of the calls that the policy allowed.

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{Request, Verdict};
use jp_confine_policy::image::Image;
use rustix::fs::{AtFlags, FileType, statat};

use super::found::Entry;
use super::task::{Subject, Task, program_of};
use crate::learn::record::{How, Recorder, Use};

impl Task<'_> {
    /// Whether anybody learns.
    pub(crate) fn is_lesson(&self) -> bool {
        self.policy.learner.is_some()
    }

    /// Has the learner know what a call took that was allowed.
    pub(crate) fn learn(&self, how: How, path: &[u8], caps: Capabilities) {
        self.learn_pair(how, path, &[], caps);
    }

    /// As [`Self::learn`], of what `judge` asks for: what a policy without any rule would lack. What is
    /// not made is used.
    pub(crate) fn learn_judged(
        &self,
        how: How,
        subject: Subject<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    ) {
        let Some(nothing) = self.policy.learner.as_ref().map(Recorder::nothing) else { return };
        if let Verdict::Deny(denial) = judge(nothing, &subject.request()) {
            let makes = denial.missing.contains(Capabilities::CREATE);
            let how = if makes { how } else { How::Used };
            self.learn(how, subject.path, denial.missing);
        }
    }

    /// Has the learner know of an entry where a symbolic link stands now: a rule of its name would be about what
    /// that leads to.
    pub(crate) fn learn_link(&self, entry: &Entry) {
        let Some(learner) = &self.policy.learner else { return };
        let follows_none = AtFlags::SYMLINK_NOFOLLOW;
        let is_link = statat(&entry.directory, &entry.name, follows_none)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link {
            let (path, program) = (entry.path.clone(), program_of(&self.caller));
            learner.add(Use { path, other: Vec::new(), how: How::Link, bits: 0, program });
        }
    }

    /// Has the learner know of a host, or of what no rule about hosts could allow.
    pub(crate) fn learn_host(&self, how: How, host: &str) {
        let Some(learner) = &self.policy.learner else { return };
        let (path, program) = (host.as_bytes().to_vec(), program_of(&self.caller));
        learner.add(Use { path, other: Vec::new(), how, bits: 0, program });
    }

    /// As [`Self::learn`], of a call with two paths.
    pub(crate) fn learn_pair(&self, how: How, path: &[u8], other: &[u8], caps: Capabilities) {
        let Some(learner) = &self.policy.learner else { return };
        if !caps.is_empty() {
            let (path, other) = (path.to_vec(), other.to_vec());
            let program = program_of(&self.caller);
            learner.add(Use { path, other, how, bits: caps.bits(), program });
        }
    }
}
