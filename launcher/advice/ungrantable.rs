//! Explains denials that no grant would lift, and suggests an alternative.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use super::path_of;
use crate::advice::advisor::Advisor;
use crate::advice::refused_calls;
use crate::record::denial::{Denial, Reason};
use crate::supervisor::resolve::location::is_private;

impl Advisor<'_> {
    /// Why no grant would have prevented `denial`, with the alternative.
    pub(super) fn beyond_rules(&self, denial: &Denial) -> Option<String> {
        let reason = if self.is_of_outsider(denial) { Reason::OtherProcess } else { denial.reason };
        let words = match reason {
            // `hosts` explains connections in more detail.
            Reason::Rule
            | Reason::Once
            | Reason::ThisRun
            | Reason::Always
            | Reason::Refused
            | Reason::Connect
            | Reason::Listen
            | Reason::Near
            | Reason::Peer
            | Reason::Resolve
            | Reason::Socket => return None,
            Reason::Static => return Some(self.unheld("statically linked")),
            Reason::Shim => return Some(self.unheld("without the library")),
            Reason::Namespace | Reason::OtherProcess => {
                refused_calls::way_out(reason, &denial.call)?
            }
            Reason::Foreign => "built for another architecture: use a build for this machine",
            Reason::Unreadable => {
                "nobody may look into it: make it readable, or start it as the user that it becomes"
            }
            Reason::Loader => {
                "its loader must be granted with -x, and be where the run changes nothing"
            }
            Reason::Command => {
                let why = self.here.command("why --last");
                return Some(format!("access.commands does not list it so; `{why}` has the rule"));
            }
            Reason::SetId => {
                "set-user-ID and set-group-ID bits are never set by a run: do it outside of the run"
            }
            Reason::LoaderWords => {
                "it is a loader: name its program with a slash behind options that ld.so(8) knows, or start that itself"
            }
            Reason::MadeLater => {
                "its directory is new, and what is around it may not be read: it starts in the next run"
            }
            Reason::Internal => "jp-confine could not judge it",
        };
        Some(words.to_owned())
    }

    /// Whether a grant would not help because the path belongs to a process. If the process still exists, it was not
    /// part of the run.
    fn is_of_outsider(&self, denial: &Denial) -> bool {
        let is_there = path_of(&denial.path).symlink_metadata().is_ok();
        let is_private = is_private(&denial.path) || self.is_private_elsewhere(denial);
        denial.reason.is_policy() && is_private && is_there
    }

    /// The same for another mount of `/proc`, or for the directory of a process.
    fn is_private_elsewhere(&self, denial: &Denial) -> bool {
        let Some(decider) = denial.rule.and_then(|id| self.grants.get(id)) else { return false };
        let is_proc = |at: &Path| statfs(at).is_ok_and(|it| it.f_type == PROC_SUPER_MAGIC);
        let Some(rest) = denial.path.strip_prefix(decider.anchor.as_os_str().as_bytes()) else {
            return false;
        };
        // A process directory has this file; `/proc` itself does not.
        let of_process = decider.anchor.join("stat").exists() && decider.anchor.join("fd").exists();
        let usual = if of_process { &b"/proc/1"[..] } else { b"/proc" };
        is_private(&[usual, rest].concat()) && is_proc(&decider.anchor)
    }

    /// The program is denied because of `why`; only a supervisor could confine it.
    fn unheld(&self, why: &str) -> String {
        format!("{why}: nothing else holds it; {}", self.unsupervised.way_out())
    }
}
