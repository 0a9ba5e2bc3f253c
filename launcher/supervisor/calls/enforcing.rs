//! The supervisor as the layer that enforces verdicts about entries. Used by the handlers that change them.

use std::ffi::CStr;

use jp_confine_engine::Capabilities;
use jp_confine_engine::changes::Enforcer;
use jp_confine_engine::decide::{Denial, Request, Verdict};
use jp_confine_engine::image::Image;
use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::supervisor::task::Task;

impl Enforcer for Task<'_> {
    type Error = Errno;
    const EXISTS: Errno = Errno::EXIST;
    const MISSING: Errno = Errno::NOENT;
    const ELSEWHERE: Errno = Errno::XDEV;
    const DENIED: Errno = Errno::ACCESS;

    fn image(&self) -> &Image<'_> {
        Task::image(self)
    }

    fn called(&self, call: &'static CStr) -> Self {
        Task::called(self, call.to_str().unwrap_or(self.call))
    }

    fn settle(
        &self,
        denial: Denial,
        about: &Request<'_>,
        (other, also): (&[u8], Capabilities),
    ) -> Result<(), Errno> {
        let subject = Subject::by_route(about.path, about.route);
        let subject = Subject { other, also, changes: self.changes, ..subject };
        Task::settle(self, Verdict::Deny(denial), subject)
    }
}
