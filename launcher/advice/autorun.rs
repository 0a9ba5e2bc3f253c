//! Suggests the option for one run where only the auto-run tier denies a file (spec §10.1).

use std::path::Path;

use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tier::Restraint;

use crate::advice::advisor::Advice;
use crate::record::denial::Denial;

/// The option that lets one run change an auto-run file.
const OPTION: &str = "--allow-autorun";

impl Advice {
    /// Puts that option in place of `-w`: the file is granted already.
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

/// Whether the path, read as a pattern, matches itself literally.
fn is_plain(path: &Path) -> bool {
    Pattern::literal(path).as_deref() == path.to_str()
}
