//! The way out of a denial that is for an auto-run file alone: the option that is for one run (spec §10.1).

use std::path::Path;

use jp_confine_policy::pattern::Pattern;
use jp_confine_policy::tier::Restraint;

use crate::advice::advisor::Advice;
use crate::record::denial::Denial;

/// What lets one run change an auto-run file.
const OPTION: &str = "--allow-autorun";

impl Advice {
    /// With that option in place of one that grants the file, which is granted already.
    pub(super) fn of_autorun(mut self, denial: &Denial) -> Self {
        if let Self::Grant { options, .. } = &mut self
            && denial.restraint == Some(Restraint::Autorun)
        {
            for (option, path) in options {
                if *option == "-w" && is_plain(path) {
                    *option = OPTION;
                }
            }
        }
        self
    }
}

/// Whether the path is a pattern of itself.
fn is_plain(path: &Path) -> bool {
    Pattern::literal(path).as_deref() == path.to_str()
}
