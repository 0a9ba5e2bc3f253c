//! Says which modes a configuration of git may get without a prompt. When git creates a repository, it tries to give
//! the owner the right to execute the file. That shows whether the file system keeps modes.

use crate::capability::Capabilities;
use crate::image::Image;
use crate::request::Request;
use crate::tier::Restraint;
use crate::verdict::Verdict;
use crate::{autorun, decide};

/// Whether a git configuration is protected by the list of auto-run files alone. If so, [`is_harmless`] decides.
#[must_use]
pub fn is_kept_by_list_alone(image: &Image<'_>, request: &Request<'_>) -> bool {
    let is_question = |verdict| matches!(verdict, Verdict::Deny(denial) if denial.restraint == Some(Restraint::Autorun));
    autorun::is_git_config(image, request.path)
        && is_question(decide::access(image, request, Capabilities::UPDATE))
        && is_all_that_withholds(image, request)
        && decide::access(image, &request.consented(), Capabilities::UPDATE) == Verdict::Allow
}

/// Whether two modes differ by nothing but the owner's right to execute.
#[must_use]
pub const fn is_harmless(old: u32, new: u32) -> bool {
    (old ^ new) & 0o7777 & !0o100 == 0
}

/// Whether only the list of auto-run files withholds anything at `request`, in this run and those around it.
pub(crate) fn is_all_that_withholds(image: &Image<'_>, request: &Request<'_>) -> bool {
    image.levels().all(|image| {
        let found = decide::lookup(image, request);
        found.withheld.difference(found.autorun_withheld()).is_empty()
    })
}
