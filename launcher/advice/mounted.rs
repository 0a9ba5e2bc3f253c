//! What lies behind a link that `--mount` made for another run: the option that makes it work again.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::Request;

use super::{Advisor, Means, Trial};
use crate::asked::{Asked, Step};

impl Advisor<'_> {
    /// The option that grants what is `asked` for through such a link, if it does.
    pub(super) fn by_mount(&self, asked: Asked<'_>) -> Option<Vec<(&'static str, PathBuf)>> {
        let is_behind = |target| asked.paths().all(|path| path.starts_with(target));
        let idle = self.mounts.iter().find(|idle| is_behind(&idle.target))?;
        // What is typed by `-r` outweighs these; a mount is a rule.
        if asked.paths().any(|path| self.is_denied(path) || self.tiers.is_sensitive(path)) {
            return None;
        }
        let mut trial = Trial::of(*self, Means::Options);
        let target = Request::canonical(idle.target.as_os_str().as_bytes());
        let allows = trial.add(&Step::of(target, Capabilities::READ)) && trial.allows(&[asked]);
        allows.then(|| vec![("--mount", idle.word.clone())])
    }
}
