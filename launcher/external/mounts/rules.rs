//! Merges the rules of mounts into those of a run (spec §8.3, §8.4). Does no I/O.

use std::sync::Arc;

use jp_confine_engine::model::{FsRule, RuleSource, TYPED};
use jp_confine_engine::{Capabilities, Capability};

use super::{Mounted, PlannedMounts};

/// The source of the rule that replaces the last one when it goes.
const LEFT: &str = "left by --no-mount";

impl PlannedMounts {
    /// The run's `rules` without those that go, plus those of the mounts. `None` if nothing is declared. If nothing
    /// would be declared without the mounts, the workspace also gets the `undeclared` rights.
    ///
    /// So a mount takes away no rights that a run has without rules. Losing the last rule grants none either (R13,
    /// R14).
    pub(crate) fn among(
        &self,
        rules: Option<Vec<FsRule>>,
        undeclared: Capabilities,
    ) -> Option<Vec<FsRule>> {
        let was_declared = rules.is_some();
        let mut rules = rules.unwrap_or_default();
        rules.retain(|rule| !self.takes(rule));
        if rules.is_empty() && was_declared {
            let source = RuleSource { layer: Arc::from(LEFT), ..RuleSource::default() };
            rules.push(FsRule::new(".").with_source(source));
        }
        for (index, mounted) in self.mounted.iter().enumerate() {
            if rules.is_empty() {
                rules.push(typed(whole(undeclared), index));
            }
            let rule = mounted.rule();
            let grants_the_same =
                |known: &FsRule| known.external() && known.capabilities() == rule.capabilities();
            if !last_on_its_path(&rules, &rule).is_some_and(grants_the_same) {
                rules.push(typed(rule, index));
            }
        }
        (!rules.is_empty()).then_some(rules)
    }
}

impl Mounted {
    pub(super) fn rule(&self) -> FsRule {
        FsRule::new(self.name.clone())
            .with_external(true)
            .with(Capability::Read, true)
            .with_write(self.typed.writable)
    }
}

/// A rule that grants these rights in the whole workspace.
fn whole(caps: Capabilities) -> FsRule {
    caps.iter().fold(FsRule::new("."), |rule, capability| rule.with(capability, true))
}

/// The rule that decides on the path of `rule`, which is in normal form.
fn last_on_its_path<'a>(rules: &'a [FsRule], rule: &FsRule) -> Option<&'a FsRule> {
    let same = |known: &&FsRule| known.lexical_path().is_ok_and(|path| path == rule.path());
    rules.iter().rev().find(same)
}

fn typed(rule: FsRule, index: usize) -> FsRule {
    rule.with_source(RuleSource { layer: Arc::from(TYPED), index, line: None })
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;
    use crate::cli::mount::MountOption;

    /// `PATH:LETTERS`, with `!` instead of `:` for external rules.
    fn rule(text: &str) -> FsRule {
        let external = text.contains('!');
        let (path, letters) = text.split_once([':', '!']).expect("a path and its capabilities");
        let mut rule = FsRule::new(path).with_external(external);
        for letter in letters.chars() {
            rule = match letter {
                'r' => rule.with(Capability::Read, true),
                'x' => rule.with(Capability::Execute, true),
                'w' => rule.with_write(true),
                'o' => rule.with_write(false),
                other => panic!("{other}"),
            };
        }
        rule
    }

    /// The result for `rules` when those named in `gone` go and `mounts`, `NAME` or `NAME:rw`, are added.
    fn among(rules: &str, gone: &str, mounts: &str) -> String {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mounted = names(mounts).into_iter().map(|word| {
            let name = word.trim_end_matches(":rw").to_owned();
            let writable = word.ends_with(":rw");
            let typed = MountOption { tool: None, name: name.clone(), path: "/t".into(), writable };
            Mounted {
                typed,
                name: name.into(),
                target: "/t".into(),
                linked: true,
                approved: true,
                previous: None,
            }
        });
        let mounts = PlannedMounts {
            gone: names(gone).into_iter().map(Utf8PathBuf::from).collect(),
            unlinked: Vec::new(),
            mounted: mounted.collect(),
        };
        let rules: Vec<FsRule> = names(rules).iter().map(|text| rule(text)).collect();
        let outcome = mounts.among((!rules.is_empty()).then_some(rules), Capabilities::ALL);
        let Some(outcome) = outcome else { return "undeclared".to_owned() };
        let shown = |rule: &FsRule| {
            let mark = if rule.external() { '!' } else { ':' };
            let letters: String =
                rule.capabilities().iter().map(|capability| &capability.as_str()[..1]).collect();
            format!("{}{mark}{letters}", rule.path())
        };
        outcome.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    // conformance: d43-154, d43-156, d43-157, d43-158, d43-168, d43-170, d43-171, d43-179, d43-180, d43-185, d43-187
    // conformance: d43-190, d43-218, d43-254
    #[test]
    fn rules_with_mounts() {
        for (rules, gone, mounts, outcome) in [
            ("", "", "", "undeclared"),
            // The rights of a run without rules stay, including execute. They are listed once.
            ("", "", "fork", ".:rcude fork!r"),
            ("", "", "fork:rw", ".:rcude fork!rcud"),
            ("", "", "a b:rw", ".:rcude a!r b!rcud"),
            // Declared rules are a choice, so nothing is added.
            ("src:r", "", "fork", "src:r fork!r"),
            // An equal rule is not repeated. A different one is appended.
            ("", "", "fork fork", ".:rcude fork!r"),
            ("fork!ro", "", "fork", "fork!r"),
            ("./fork/!ro", "", "fork", "./fork/!r"),
            ("fork!r", "", "fork", "fork!r"),
            ("fork!rw", "", "fork:rw", "fork!rcud"),
            ("fork!rw", "", "fork", "fork!rcud fork!r"),
            ("fork!r", "", "fork:rw", "fork!r fork!rcud"),
            ("fork!ro fork!", "", "fork", "fork!r fork! fork!r"),
            ("fork:r", "", "fork", "fork:r fork!r"),
            // Rules go, but never the last restriction.
            ("src:r fork!r", "fork", "", "src:r"),
            ("src:r ./x/../fork!r other!r", "fork", "", "src:r other!r"),
            ("fork!r", "fork", "", ".:"),
            ("fork:r", "fork", "", "fork:r"),
            ("", "fork", "", "undeclared"),
            // Another target replaces the old one.
            ("fork!r", "fork", "fork", ".: fork!r"),
            ("", "fork", "fork", ".:rcude fork!r"),
        ] {
            assert_eq!(among(rules, gone, mounts), outcome, "{rules} -{gone} +{mounts}");
        }
    }

    #[test]
    fn a_mount_is_of_the_layer_of_what_is_typed() {
        let typed =
            MountOption { tool: None, name: "f".into(), path: "/t".into(), writable: false };
        let mounted = Mounted {
            typed,
            name: "f".into(),
            target: "/t".into(),
            linked: true,
            approved: true,
            previous: None,
        };
        let mounts = PlannedMounts { mounted: vec![mounted], ..PlannedMounts::default() };
        let rules = mounts.among(None, Capabilities::READ).expect("declared");
        assert_eq!(rules[0].capabilities(), Capabilities::READ);
        assert!(rules.iter().all(|rule| &*rule.source().layer == "flags"));
    }
}
