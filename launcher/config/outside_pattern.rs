//! Patterns with which a workspace file would open something outside of the workspace: as a link that
//! leads there they count only where a person approved the place (spec §18 "Layers").
//!
//! Unlike that of a link the approval is for one list: who may commit may not turn reading into writing.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use jp_confine_policy::pattern::Pattern;
use jp_confine_policy::tier::Tier;

/// Such a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    pub(crate) tier: Tier,
    /// As written.
    pub(crate) text: String,
    /// The directory below which it matches, canonical.
    pub(crate) stem: PathBuf,
    /// The tools that have it where not every run does.
    pub(crate) tools: Vec<String>,
}

/// The list that `FIELD PATTERN` names, and the pattern: what [`Wide::name`] puts together.
pub(crate) fn list_of(name: &str) -> Option<(Tier, &str)> {
    let (field, text) = name.split_once(' ')?;
    let tier = [Tier::Read, Tier::Write].into_iter().find(|tier| tier.field() == field)?;
    Some((tier, text))
}

/// Whether `name` may be what the approval of a pattern is kept under; a folder may be called so, too.
pub(crate) fn is_name(name: &str) -> bool {
    list_of(name).is_some_and(|(_, text)| Pattern::check(text).is_ok())
}

impl Wide {
    /// What its approval is kept under.
    pub(crate) fn name(&self) -> Utf8PathBuf {
        format!("{} {}", self.tier.field(), self.text).into()
    }

    /// Who gets what it grants: every run, or tools.
    pub(crate) fn holders(&self) -> impl Iterator<Item = Option<&str>> {
        let every_run = self.tools.is_empty().then_some(None);
        every_run.into_iter().chain(self.tools.iter().map(|tool| Some(tool.as_str())))
    }
}
