//! The supervisor as the layer that enforces verdicts about entries. Used by the handlers that change them.

use std::ffi::CStr;

use jp_confine_engine::Capabilities;
use jp_confine_engine::changes::Enforcer;
use jp_confine_engine::decide::{self, Denial, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry::{Last, PathArgument};
use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::supervisor::resolve::Argument;
use crate::supervisor::task::Task;

impl Enforcer for Task<'_> {
    type Error = Errno;
    const EXISTS: Errno = Errno::EXIST;
    const MISSING: Errno = Errno::NOENT;
    const ELSEWHERE: Errno = Errno::XDEV;
    const DENIED: Errno = Errno::ACCESS;
    const BUSY: Errno = Errno::BUSY;
    const IN_USE: Errno = Errno::ADDRINUSE;
    const IS_DIRECTORY: Errno = Errno::ISDIR;
    const INVALID: Errno = Errno::INVAL;
    const NOT_EMPTY: Errno = Errno::NOTEMPTY;

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

impl PathArgument<Task<'_>> for &Argument<'_> {
    fn last(&self) -> Last {
        Argument::last(self)
    }

    fn find_before_dots(&self, task: &Task<'_>) -> Result<(), Errno> {
        task.object_judged(&self.before_dots()?, false, decide::metadata).map(|_| ())
    }

    fn settle_entry(
        &mut self,
        task: &Task<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
        settle: impl FnOnce(&Request<'_>) -> Result<(), Errno>,
    ) -> Result<bool, Errno> {
        match self.entry() {
            Ok(Some(entry)) => settle(&entry.request()).map(|()| true),
            Ok(None) => Ok(false),
            Err(errno) => Err(task.nowhere(self, judge, errno)),
        }
    }
}
