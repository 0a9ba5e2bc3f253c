//! What a person is asked before a target outside the workspace is approved (spec §8.2).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use camino::Utf8Path;
use jp_confine_policy::canonical::{Lookups, Root};
use jp_confine_policy::external::External;
use jp_confine_policy::model::FsRule;

use super::store::Store;
use crate::config::scope::Scope;
use crate::context::Context;
use crate::report;
use crate::terminal::Terminal;

/// Trust on first use: asks for each of the external `rules` of a run that leads to a target nobody
/// approved, and notes a yes in `store`. Returns whether there was one.
///
/// The approval is for the target that was shown: a link that leads elsewhere by the time the rules are
/// compiled is not approved.
pub(crate) fn first_use(
    terminal: &mut Terminal,
    about: &About<'_>,
    rules: &[FsRule],
    store: &mut Store,
) -> bool {
    let mut lookups = Lookups::default();
    let mut asked = BTreeSet::new();
    let mut approved = false;
    for rule in rules.iter().filter(|rule| rule.external()) {
        let Ok(name) = rule.lexical_path() else { continue };
        if !asked.insert(name.clone()) {
            continue;
        }
        let found = External::look(about.root, &mut lookups, &name, store);
        let (previous, target) = match found {
            External::Unapproved { target } => (None, target),
            External::Retargeted { previous, target } => (Some(previous), target),
            _ => continue,
        };
        // Such a target cannot be approved: the wire form, which is JSON, cannot carry it.
        let Some(target) = Utf8Path::from_path(&target) else { continue };
        if terminal.confirm(&about.question(&name, previous.as_deref(), target)) {
            store.approve(&name, target);
            approved = true;
        }
    }
    approved
}

/// What a question has to show beside the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) context: &'a Context,
    pub(crate) root: &'a Root,
    /// Who has which external rules.
    pub(crate) scopes: &'a [Scope],
}

impl About<'_> {
    fn question(&self, name: &Utf8Path, previous: Option<&Path>, target: &Utf8Path) -> String {
        let mut text = match previous {
            Some(previous) => format!(
                "jp-confine: `{}` is approved, and leads elsewhere now\n  was: {}\n  now: {}\n",
                report::path(name.as_str()),
                report::path(&previous.to_string_lossy()),
                report::path(target.as_str())
            ),
            None => format!(
                "jp-confine: a rule leads out of the workspace\n  {} → {}\n",
                report::path(name.as_str()),
                report::path(target.as_str())
            ),
        };
        let holders = self.holders(name);
        if !holders.is_empty() {
            text.push_str("What the rules grant there:\n");
            text.push_str(&holders);
        }
        for warning in self.warnings(target) {
            let _ = writeln!(text, "Warning: {warning}.");
        }
        text.push_str(
            "The target is remembered. While it stays the same, later changes of what the\n\
             rules grant there are not asked about.\n",
        );
        text.push_str(if previous.is_some() { "Allow the new target?" } else { "Approve?" });
        text
    }

    /// One line for everybody who has a rule on `name`.
    fn holders(&self, name: &Utf8Path) -> String {
        let mut text = String::new();
        for scope in self.scopes {
            if let Some(caps) = scope.grants_on(name) {
                let _ = writeln!(text, "  {}: {caps}", scope.words());
            }
        }
        text
    }

    /// What makes a target, absolute and canonical, more than a folder beside the workspace.
    pub(crate) fn warnings(&self, target: &Utf8Path) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.root.as_path().starts_with(target) {
            warnings.push("it contains the workspace, where only the workspace's own rules count");
        }
        let homes = [&self.context.canonical_home, &self.context.home];
        if homes.into_iter().flatten().any(|home| home.starts_with(target)) {
            warnings.push("it contains your whole home directory");
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use jp_confine_policy::Capability;

    use super::*;

    fn scope(tool: Option<&str>, rule: FsRule) -> Scope {
        Scope { tool: tool.map(str::to_owned), rules: vec![rule.with_external(true)] }
    }

    /// The question about `name`, the scratch directory written as `@`.
    fn question(name: &str, previous: Option<&str>, target: &str) -> String {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().canonicalize().expect("canonical");
        std::fs::create_dir_all(place.join("home/ws")).expect("made");
        let mut context = Context::bare(&place);
        context.canonical_home = Some(place.join("home"));
        let root = Root::open(&place.join("home/ws")).expect("a root");
        let scopes = [
            scope(None, FsRule::new("./fork").with(Capability::Read, true)),
            scope(Some("edit"), FsRule::new("fork").with_write(true)),
            scope(Some("other"), FsRule::new("vendor").with_write(true)),
        ];
        let about = About { context: &context, root: &root, scopes: &scopes };
        let previous = previous.map(|previous| place.join(previous));
        let text = about.question(
            name.into(),
            previous.as_deref(),
            Utf8Path::from_path(&place.join(target)).expect("UTF-8"),
        );
        text.replace(place.to_str().expect("UTF-8"), "@")
    }

    #[test]
    fn the_first_use_shows_the_whole_effect() {
        assert_eq!(
            question("fork", None, "code/fork"),
            "jp-confine: a rule leads out of the workspace\n  fork → @/code/fork\n\
             What the rules grant there:\n  \
             a run: read\n  tool edit: create, update, delete\n\
             The target is remembered. While it stays the same, later changes of what the\n\
             rules grant there are not asked about.\n\
             Approve?"
        );
    }

    #[test]
    fn another_target_is_shown_with_the_approved_one() {
        let text = question("fork", Some("code/fork"), "etc");
        assert!(text.contains("  was: @/code/fork\n  now: @/etc\n"), "{text}");
        assert!(text.ends_with("Allow the new target?"), "{text}");
    }

    #[test]
    fn a_target_that_contains_too_much_is_warned_about() {
        let workspace = "Warning: it contains the workspace";
        let home = "Warning: it contains your whole home directory";
        for (target, warned) in [("", 2), ("home", 2), ("home/other", 0), ("home/w", 0)] {
            let text = question("fork", None, target);
            let found = usize::from(text.contains(workspace)) + usize::from(text.contains(home));
            assert_eq!(found, warned, "{text}");
        }
    }

    #[test]
    fn names_cannot_forge_a_question() {
        let text = question("fork", None, "a\nApprove?\x1b[2J");
        assert!(!text.contains('\x1b') && text.contains(r"a\x0aApprove?\x1b[2J"), "{text}");
    }

    #[test]
    fn a_question_fits_a_terminal() {
        let text = question("fork", Some("a"), "b");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
