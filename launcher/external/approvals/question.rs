//! Asks a person before approving a target outside the workspace (spec §8.2).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_engine::canonical::Root;
use jp_confine_engine::external::External;
use jp_confine_engine::model::FsRule;

use super::store::{ApprovalKind, Store};
use crate::config::scope::{self, Scope};
use crate::host::context::Context;
use crate::output::event_log::Log;
use crate::prompt::terminal::Terminal;
use crate::text::quote;

/// An external rule with an unapproved target.
#[derive(Debug)]
pub(crate) struct ApprovalQuestion {
    /// The rule's path, in normal form.
    name: Utf8PathBuf,
    /// The approved target, if another one was approved.
    previous: Option<PathBuf>,
    /// The rule's absolute, canonical target.
    target: Utf8PathBuf,
}

/// The questions to ask before the external ones among `rules` can hold. One for each path.
pub(crate) fn questions(root: &Root, rules: &[FsRule], store: &Store) -> Vec<ApprovalQuestion> {
    let names: BTreeSet<Utf8PathBuf> = rules
        .iter()
        .filter(|rule| rule.external())
        .filter_map(|rule| rule.lexical_path().ok())
        .collect();
    let question = |name: Utf8PathBuf| {
        let (previous, target) = match External::look(root, &name, store) {
            External::Unapproved { target } => (None, target),
            External::Retargeted { previous, target } => (Some(previous), target),
            _ => return None,
        };
        // A target that is not UTF-8 cannot be approved, because the wire form is JSON and could not carry it.
        let target = Utf8PathBuf::from_path_buf(target).ok()?;
        Some(ApprovalQuestion { name, previous, target })
    };
    names.into_iter().filter_map(question).collect()
}

/// Trust on first use: asks the `questions`, and notes each yes in `store`.
///
/// An approval is for the target shown. If a symlink leads elsewhere when the rules are compiled, that target is not
/// approved.
pub(crate) fn ask(
    terminal: &mut Terminal,
    about: &ApprovalContext<'_>,
    questions: &[ApprovalQuestion],
    store: &mut Store,
) {
    for question in questions {
        let wanted =
            Wanted { kind: ApprovalKind::Mount, name: &question.name, target: &question.target };
        about.confirm(terminal, &about.words(question), wanted, store);
    }
}

/// The facts that a question shows besides the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalContext<'a> {
    pub(crate) context: &'a Context,
    pub(crate) root: &'a Root,
    /// The external rules of the run and of each tool.
    pub(crate) scopes: &'a [Scope],
    /// The log that records the answer.
    pub(crate) log: Option<&'a Log>,
}

/// The subject of a yes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) kind: ApprovalKind,
    pub(crate) name: &'a Utf8Path,
    pub(crate) target: &'a Utf8Path,
}

impl ApprovalContext<'_> {
    /// Asks for approval with these `words`, unless another run's question has brought it by then. Returns whether it
    /// is approved now. Notes a yes in `store`.
    pub(crate) fn confirm(
        &self,
        terminal: &mut Terminal,
        words: &str,
        wanted: Wanted<'_>,
        store: &mut Store,
    ) -> bool {
        let Wanted { kind, name, target } = wanted;
        let mut known = || store.finds_approved(kind, name, target);
        let Some(yes) = terminal.confirm_unless(&mut known, words) else { return true };
        if let Some(log) = self.log {
            log.approval(name, target, yes);
        }
        if yes {
            store.approve(kind, name, target);
        }
        yes
    }

    fn words(&self, question: &ApprovalQuestion) -> String {
        let ApprovalQuestion { name, previous, target } = question;
        let shown = |path: &Utf8Path| quote::short_name(path.as_str().as_bytes());
        let mut text = match previous {
            Some(previous) => format!(
                "jp-confine: a link is approved, and leads elsewhere now\n  {}\n{}",
                shown(name),
                was_and_now(previous, target)
            ),
            None => format!(
                "jp-confine: a rule leads out of the workspace\n  {} → {}\n",
                shown(name),
                shown(target)
            ),
        };
        text.push_str(&self.effect("What the rules grant there:", name, target));
        text.push_str(if previous.is_some() { "Allow the new target?" } else { "Approve?" });
        text
    }

    /// Describes the effect of approving `name` with this `target`, in this run and in others. Lists rights below
    /// `heading`, then warnings, and how long the approval holds.
    pub(crate) fn effect(&self, heading: &str, name: &Utf8Path, target: &Utf8Path) -> String {
        let mut text = String::new();
        let holders = self.holders(name);
        if !holders.is_empty() {
            let _ = write!(text, "{heading}\n{holders}");
        }
        text.push_str(&self.warnings(target));
        text.push_str(
            "The target is remembered. While it stays the same, later changes of what the\n\
             rules grant there are not asked about.\n",
        );
        text
    }

    /// Lists who gets which rights at `name`, one line each.
    fn holders(&self, name: &Utf8Path) -> String {
        let mut text = String::new();
        for (scope, caps) in scope::grants_on(self.scopes, name) {
            let _ = writeln!(text, "  {}: {caps}", scope.words());
        }
        text
    }

    /// Warnings if an absolute, canonical target is more than a directory beside the workspace. One line for each
    /// reason.
    pub(crate) fn warnings(&self, target: &Utf8Path) -> String {
        let mut text = String::new();
        if self.root.as_path().starts_with(target) {
            text.push_str(
                "Warning: it contains the workspace, where only the workspace's own rules count.\n",
            );
        }
        let homes = [&self.context.canonical_home, &self.context.homes.user];
        if homes.into_iter().flatten().any(|home| home.starts_with(target)) {
            text.push_str("Warning: it contains your whole home directory.\n");
        }
        text
    }
}

/// The approved target and the current one, a line each.
pub(crate) fn was_and_now(previous: &Path, target: &Utf8Path) -> String {
    let previous = previous.as_os_str().as_bytes();
    let [was, now] = quote::short_names(previous, target.as_str().as_bytes());
    format!("  was: {was}\n  now: {now}\n")
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::Capability;

    use super::*;

    fn scope(tool: Option<&str>, rule: FsRule) -> Scope {
        Scope { tool: tool.map(str::to_owned), rules: vec![rule.with_external(true)] }
    }

    /// The text about `name`, with the scratch directory written as `@`.
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
        let about = ApprovalContext { context: &context, root: &root, scopes: &scopes, log: None };
        let question = ApprovalQuestion {
            name: name.into(),
            previous: previous.map(|previous| place.join(previous)),
            target: Utf8PathBuf::from_path_buf(place.join(target)).expect("UTF-8"),
        };
        let text = about.words(&question);
        text.replace(place.to_str().expect("UTF-8"), "@")
    }

    // conformance: d43-80, d43-81, d43-82, d43-249
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

    // conformance: d43-76, d43-86
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

    /// Blanks at the end of a name are visible, and a name never looks shorter than it is.
    #[test]
    fn blanks_in_names_are_seen() {
        for (target, shown) in
            [("a ", "  fork → '@/a '\n"), ("a\u{a0}", r"  fork → $'@/a\xc2\xa0'")]
        {
            let text = question("fork", None, target);
            assert!(text.contains(shown), "{text}");
        }
    }

    /// However long both are.
    #[test]
    fn targets_that_differ_look_different() {
        let long = |middle: &str| format!("{}{middle}{}", "a/".repeat(200), "b/".repeat(200));
        let text = question("fork", Some(&long("one")), &long("two"));
        let line = |name: &str| text.lines().find(|line| line.contains(name)).expect("a line");
        assert!(line("was: ").contains("/oneb/") && line("now: ").contains("/twob/"), "{text}");
        assert!(text.len() < 1200, "{text}");
    }

    #[test]
    fn a_question_fits_a_terminal() {
        let text = question("fork", Some("a"), "b");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
