//! What no grant would allow, and what to do instead.

use super::Advisor;
use crate::events::{Denial, Reason};
use crate::refused_calls;

impl Advisor<'_> {
    /// Why `denial` is nothing that a grant would have kept from happening, with the way out.
    pub(super) fn beyond_rules(&self, denial: &Denial) -> Option<String> {
        let words = match denial.reason {
            // Of connections the rules about hosts know more.
            Reason::Rule
            | Reason::Once
            | Reason::ThisRun
            | Reason::Connect
            | Reason::Listen
            | Reason::Peer
            | Reason::Resolve
            | Reason::Socket => return None,
            Reason::Static => return Some(self.unheld("statically linked")),
            Reason::Shim => return Some(self.unheld("without the library")),
            Reason::Namespace | Reason::OtherProcess => {
                refused_calls::way_out(denial.reason, &denial.call)?
            }
            Reason::Foreign => "built for another architecture: use a build for this machine",
            Reason::Unreadable => {
                "its user may not read it, so nobody can tell what it starts: make it readable"
            }
            Reason::Loader => {
                "its loader must be granted with -x, and be where the run changes nothing"
            }
            Reason::Command => {
                "access.commands does not list it so; `jp-confine why --last` has the rule"
            }
            Reason::Internal => "jp-confine could not judge it",
        };
        Some(words.to_owned())
    }

    /// Because of `why` only a supervisor could hold the program.
    fn unheld(&self, why: &str) -> String {
        format!("{why}: nothing else holds it; {}", self.unsupervised.way_out())
    }
}
