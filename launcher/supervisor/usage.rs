//! Records the allowed calls of a learning run.

use std::ffi::CStr;
use std::time::SystemTime;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::report_protocol::{PRIVATE, PRIVATE_DIRECTORY};
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::resolve::object::PinnedEntry;
use super::task::{Task, program_of};
use crate::prompt::during_run::subject::Subject;
use crate::record::generated_names;
use crate::record::usage::{self, Recorder, Use, UseKind};

impl Task<'_> {
    /// Whether this is a learning run.
    pub(crate) fn is_lesson(&self) -> bool {
        self.policy.learner.is_some()
    }

    /// Records the rights that an allowed call used.
    pub(crate) fn learn(&self, how: UseKind, path: &[u8], caps: Capabilities) {
        self.learn_pair(how, path, &[], caps);
    }

    /// As [`Self::learn`], with the rights that `judge` asks for.
    pub(crate) fn learn_judged(
        &self,
        subject: Subject<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    ) {
        self.learn(UseKind::Used, subject.path, self.taken(subject, judge));
    }

    /// As [`Self::learn_judged`], for a call to create or delete an entry, with its outcome.
    pub(crate) fn learn_change(
        &self,
        outcome: Result<(), Errno>,
        subject: Subject<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    ) {
        let caps = self.taken(subject, judge);
        let makes = caps.contains(Capabilities::CREATE);
        let how = match outcome {
            Ok(()) if makes => UseKind::Made,
            Err(Errno::EXIST) if makes => UseKind::Existed,
            Err(errno) if !makes && is_kept(errno) => UseKind::Kept,
            _ => UseKind::Used,
        };
        self.learn(how, subject.path, caps);
    }

    /// The rights that `judge` asks for, found with a policy without rules. Empty if this is no learning run.
    fn taken(
        &self,
        subject: Subject<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    ) -> Capabilities {
        let nothing = self.policy.learner.as_ref().map(Recorder::nothing);
        match nothing.map(|nothing| judge(nothing, &subject.request())) {
            Some(Verdict::Deny(denial)) => denial.missing,
            Some(Verdict::Allow) | None => Capabilities::NONE,
        }
    }

    /// Records an entry where a symlink is now. A rule with its name would apply to the link's target.
    pub(crate) fn learn_link(&self, entry: &PinnedEntry) {
        let Some(learner) = &self.policy.learner else { return };
        let follows_none = AtFlags::SYMLINK_NOFOLLOW;
        let is_link = statat(&entry.directory, &entry.name, follows_none)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link {
            learner.add(self.bare_use(UseKind::Link, &entry.path));
        }
    }

    /// Records a directory whose entries a program read.
    pub(crate) fn learn_listing(&self, path: &[u8]) {
        let Some(learner) = &self.policy.learner else { return };
        learner.add(self.bare_use(UseKind::Listed, path));
    }

    /// Records a host, or something that no rule about hosts could allow.
    pub(crate) fn learn_host(&self, how: UseKind, host: &str) {
        let Some(learner) = &self.policy.learner else { return };
        learner.add(self.bare_use(how, host.as_bytes()));
    }

    /// As [`Self::learn`], for a call with two paths.
    pub(crate) fn learn_pair(&self, how: UseKind, path: &[u8], other: &[u8], caps: Capabilities) {
        let Some(learner) = &self.policy.learner else { return };
        if !caps.is_empty() {
            let drawn = match how {
                UseKind::Made => self.is_of_now(path) || self.may_be_drawn(path),
                UseKind::Moved | UseKind::Linked => self.is_of_now(other),
                _ => false,
            };
            let (other, bits) = (other.to_vec(), caps.bits());
            learner.add(Use { other, bits, drawn, ..self.bare_use(how, path) });
        }
    }

    /// A use by the caller that needs no rights.
    fn bare_use(&self, how: UseKind, path: &[u8]) -> Use {
        let (path, program) = (path.to_vec(), program_of(&self.caller));
        Use { path, other: Vec::new(), how, bits: 0, drawn: false, program }
    }

    /// Whether the new name at `path` differs each time, because it contains a process number or a time.
    fn is_of_now(&self, path: &[u8]) -> bool {
        self.is_numbered(path) || generated_names::tells_time(usage::name(path), SystemTime::now())
    }

    /// Whether the new name at `path` contains the number of the caller's process, or of one that started it, as with a
    /// shell's `$$`. Any other number may be one that people chose.
    fn is_numbered(&self, path: &[u8]) -> bool {
        let own = || self.caller.status().ok().map(|status| status.process);
        let started = |number: u32| {
            let mut line = std::iter::successors(own(), |process| self.parent_of(*process));
            line.any(|process| process.unsigned_abs() == number)
        };
        generated_names::numbers(usage::name(path)).any(started)
    }

    /// Whether the new object at `path` is only for its owner, under a name that may be random.
    fn may_be_drawn(&self, path: &[u8]) -> bool {
        let calls = [PRIVATE, PRIVATE_DIRECTORY].map(CStr::to_bytes);
        let name = usage::name(path);
        calls.contains(&self.call.as_bytes())
            && (generated_names::may_be_drawn_for_oneself(name)
                || generated_names::is_drawn_to_program(&program_of(&self.caller), name))
    }

    /// The process that started another, if known.
    fn parent_of(&self, process: i32) -> Option<i32> {
        let status = self.caller.proc().text(process, "status").ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        parent.trim().parse().ok().filter(|parent| *parent > 0)
    }
}

/// Whether the entry to delete or move exists and stays. It may not be empty, something may be in its way, its kind may
/// be wrong, or the system may protect it.
pub(crate) const fn is_kept(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOTEMPTY
            | Errno::EXIST
            | Errno::ISDIR
            | Errno::NOTDIR
            | Errno::BUSY
            | Errno::ACCESS
            | Errno::PERM
    )
}
