//! Patterns with which a workspace file would open something outside of the workspace: as a link that
//! leads there they count only where a person approved the place (spec §18 "Layers").
//!
//! Unlike that of a link the approval is for one list: who may commit may not turn reading into writing.

use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_policy::approvals::Approval;
use jp_confine_policy::pattern::Pattern;
use jp_confine_policy::tier::Tier;

use super::question::{About, Wanted};
use super::store::{Kind, Store};
use crate::report;
use crate::terminal::Terminal;

/// Such a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    pub(crate) tier: Tier,
    /// As written.
    pub(crate) text: String,
    /// The directory below which it matches, canonical.
    pub(crate) stem: PathBuf,
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

    /// What is known of it, once somebody who can answer was asked; a yes is noted in `store`.
    pub(crate) fn approval(
        &self,
        store: &mut Store,
        terminal: Option<&mut Terminal>,
        about: &About<'_>,
    ) -> Approval {
        // Of another place nobody could be told.
        let Ok(stem) = Utf8PathBuf::from_path_buf(self.stem.clone()) else {
            return Approval::Unknown;
        };
        let name = self.name();
        let known = store.look(Kind::Pattern, name.as_str(), &self.stem);
        let Some(terminal) = terminal.filter(|_| known != Approval::Approved) else { return known };
        let words = self.words(&known, &stem, about);
        let wanted = Wanted { kind: Kind::Pattern, name: &name, target: &stem };
        if about.confirm(terminal, &words, wanted, store) { Approval::Approved } else { known }
    }

    fn words(&self, known: &Approval, stem: &Utf8Path, about: &About<'_>) -> String {
        let may = if self.tier == Tier::Write { "read and change" } else { "read" };
        let (field, text) = (self.tier.field(), report::path(&self.text));
        let (now, warnings) = (report::path(stem.as_str()), about.warnings(stem));
        match known {
            Approval::Retargeted { previous } => format!(
                "jp-confine: an approved pattern of the workspace's policy leads elsewhere now\n  \
                 {field} = [\"{text}\"]\n  was: {}\n  now: {now}\n\
                 Programs could {may} what matches below the new target\n{warnings}\
                 Allow the new target?",
                report::path(&previous.to_string_lossy()),
            ),
            _ => format!(
                "jp-confine: the workspace's policy opens what lies outside of it\n  \
                 {field} = [\"{text}\"]\nPrograms could {may} what matches below {now}\n\
                 {warnings}Approve?"
            ),
        }
    }
}
