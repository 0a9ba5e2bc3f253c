//! Defines patterns of a workspace file that would grant something outside the workspace. Like a symlink that leads
//! there, they count only if a person approved the place (spec §18 "Layers").
//!
//! Unlike the approval of a symlink, it holds for one list: a person who may commit must not turn reading into writing.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tier::Tier;

/// A pattern of a workspace file that matches outside the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutsidePattern {
    pub(crate) tier: Tier,
    /// As written.
    pub(crate) text: String,
    /// The directory below which it matches, canonical.
    pub(crate) stem: PathBuf,
    /// The tools that have it. Empty if every run has it.
    pub(crate) tools: Vec<String>,
}

/// Splits a name of the form `FIELD PATTERN` into its list and its pattern, the inverse of [`OutsidePattern::name`].
pub(crate) fn list_of(name: &str) -> Option<(Tier, &str)> {
    let (field, text) = name.split_once(' ')?;
    let tier = [Tier::Read, Tier::Write].into_iter().find(|tier| tier.field() == field)?;
    Some((tier, text))
}

/// Whether the approval of a pattern may have this name. A directory may have such a name, too.
pub(crate) fn is_name(name: &str) -> bool {
    list_of(name).is_some_and(|(_, text)| Pattern::check(text).is_ok())
}

impl OutsidePattern {
    /// The name of its approval.
    pub(crate) fn name(&self) -> Utf8PathBuf {
        format!("{} {}", self.tier.field(), self.text).into()
    }

    /// The runs that get its grant: every run (`None`), or those of tools.
    pub(crate) fn holders(&self) -> impl Iterator<Item = Option<&str>> {
        let every_run = self.tools.is_empty().then_some(None);
        every_run.into_iter().chain(self.tools.iter().map(|tool| Some(tool.as_str())))
    }
}
