//! Names that programs of the run ask for, where rules about hosts are declared.

use std::io;
use std::sync::Arc;

use jp_confine_policy::Capabilities;

use super::policy::Policy;
use crate::events::{Denial, Layer, Reason};
use crate::net::query::Finding;
use crate::net::responder::{Asker, Book};

/// Begins to answer questions about names, if there are rules.
///
/// # Errors
/// Where there can be no threads.
pub(super) fn serve(policy: &Arc<Policy>) -> io::Result<()> {
    policy.network.as_ref().map_or(Ok(()), |network| network.responder.serve(policy))
}

impl Book for Policy {
    fn look_up(&self, name: &str) -> Finding {
        self.network.as_ref().map_or(Finding::Unknown, |network| network.look_up(name))
    }

    fn admits(&self, name: &str) -> bool {
        self.network.as_ref().is_some_and(|network| network.admits(name))
    }

    fn refused(&self, name: &[u8], asker: &Asker) {
        self.record(&Denial {
            pid: asker.pid,
            rule: None,
            missing: Capabilities::NONE,
            hidden: false,
            second: false,
            question: false,
            restraint: None,
            reason: Reason::Resolve,
            layer: Layer::Supervisor,
            path: name.to_owned(),
            route: name.to_owned(),
            program: asker.program.clone(),
            call: b"resolve".to_vec(),
        });
    }
}
