//! Asks about patterns in a workspace file that would open something outside the workspace.

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_engine::approvals::Approval;

use crate::config::outside_pattern::OutsidePattern;
use crate::config::scope;
use crate::external::approvals::question::{ApprovalContext, Wanted, was_and_now};
use crate::external::approvals::store::{ApprovalKind, Store};
use crate::prompt::terminal::Terminal;
use crate::text::quote;

impl OutsidePattern {
    /// Whether the pattern is approved, after asking if somebody can answer. Notes a yes in `store`.
    pub(crate) fn approval(
        &self,
        store: &mut Store,
        terminal: Option<&mut Terminal>,
        about: &ApprovalContext<'_>,
    ) -> Approval {
        // A stem that is not UTF-8 could not be shown.
        let Ok(stem) = Utf8PathBuf::from_path_buf(self.stem.clone()) else {
            return Approval::Unknown;
        };
        let name = self.name();
        let known = store.look(ApprovalKind::Pattern, name.as_str(), &self.stem);
        let Some(terminal) = terminal.filter(|_| known != Approval::Approved) else { return known };
        let words = self.words(&known, &stem, about);
        let wanted = Wanted { kind: ApprovalKind::Pattern, name: &name, target: &stem };
        if about.confirm(terminal, &words, wanted, store) { Approval::Approved } else { known }
    }

    fn words(&self, known: &Approval, stem: &Utf8Path, about: &ApprovalContext<'_>) -> String {
        // Shown in full, because the person consents to all that it matches.
        let (field, text) = (self.tier.field(), quote::path(&self.text));
        let pattern = format!("  {field} = [\"{text}\"]\n");
        let (lead, places, ask) = match known {
            Approval::Retargeted { previous } => (
                "an approved pattern of the workspace's policy leads elsewhere now",
                was_and_now(previous, stem),
                "Allow the new target?",
            ),
            _ => (
                "the workspace's policy opens what lies outside of it",
                format!("  → {}\n", quote::short_name(stem.as_str().as_bytes())),
                "Approve?",
            ),
        };
        let (effect, warnings) = (self.effect(), about.warnings(stem));
        format!("jp-confine: {lead}\n{pattern}{places}{effect}{warnings}{REMEMBERED}{ask}")
    }

    /// Lists who gets which rights there.
    fn effect(&self) -> String {
        let caps = self.tier.capabilities();
        let line = |tool| format!("  {}: {caps}\n", scope::holder(tool));
        let lines: String = self.holders().map(line).collect();
        format!("What it grants on all that matches below that:\n{lines}")
    }
}

/// Says how long a yes holds, and for whom.
pub(crate) const REMEMBERED: &str = "\
The target is remembered for this pattern of the list. While it stays the same,
later runs are not asked, nor those of other tools that get the pattern.
";

#[cfg(test)]
mod tests {
    use jp_confine_engine::canonical::Root;

    use super::*;
    use crate::host::context::Context;
    use jp_confine_engine::tier::Tier;

    fn words(tier: Tier, tools: &[&str], known: &Approval) -> String {
        let dir = tempfile::tempdir().expect("a directory");
        let root = Root::open(dir.path()).expect("a root");
        let context = Context::bare(dir.path());
        let about = ApprovalContext { context: &context, root: &root, scopes: &[], log: None };
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let wide = OutsidePattern { tier, text: "~/x/**".to_owned(), stem: "/h/x".into(), tools };
        wide.words(known, Utf8Path::new("/h/x"), &about)
    }

    #[test]
    fn the_first_use_shows_the_whole_effect() {
        assert_eq!(
            words(Tier::Read, &["edit"], &Approval::Unknown),
            "jp-confine: the workspace's policy opens what lies outside of it\n  \
             read_paths = [\"~/x/**\"]\n  → /h/x\n\
             What it grants on all that matches below that:\n  \
             tool edit: read, execute\n\
             The target is remembered for this pattern of the list. While it stays the same,\n\
             later runs are not asked, nor those of other tools that get the pattern.\n\
             Approve?"
        );
    }

    #[test]
    fn another_target_is_shown_with_the_approved_one() {
        let known = Approval::Retargeted { previous: "/h/y".into() };
        let text = words(Tier::Write, &[], &known);
        assert!(text.contains("  was: /h/y\n  now: /h/x\n"), "{text}");
        assert!(text.contains("  a run: read, create, update, delete, execute\n"), "{text}");
        assert!(text.contains("The target is remembered"), "{text}");
        assert!(text.ends_with("Allow the new target?"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
