//! Suggests the `--mount` option of another run, so that the link that it created works again.

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;

use super::{Means, Trial};
use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::external::mounts::unused::Idle;

impl Advisor<'_> {
    /// The option that grants `asked` through such a link, if it does. If the program came by another link, the rule on
    /// that one decides.
    pub(super) fn by_mount(&self, asked: Asked<'_>) -> Option<Vec<(&'static str, PathBuf)>> {
        let is_behind = |target: &Path| asked.paths().all(|path| path.starts_with(target));
        // A typed option such as `-r` outweighs a mount, which is a rule.
        let is_denied = |path: &Path| self.is_denied(path, Capabilities::READ);
        if asked.paths().any(|path| is_denied(path) || self.tiers.is_sensitive(path)) {
            return None;
        }
        let allows = |idle: &&Idle| {
            let mut trial = Trial::of(*self, Means::Options);
            trial.mount(idle);
            trial.allows(&[asked])
        };
        let mut behind = self.mounts.iter().filter(|idle| is_behind(&idle.target));
        behind.find(allows).map(|idle| vec![("--mount", idle.word.clone())])
    }
}
