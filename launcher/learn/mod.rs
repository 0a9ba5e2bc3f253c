//! Implements `learn`. Runs a program under the outer bounds alone, while the supervisor judges every call and records
//! the uses. Then derives the smallest policy under which the program can do the same again.

mod comments;
pub(crate) mod exclusions;
pub(crate) mod external_use;
pub(crate) mod hosts;
pub(crate) mod html;
pub(crate) mod kept_policy;
pub(crate) mod learned;
mod left_out;
pub(crate) mod lesson;
mod moves;
pub(crate) mod output_files;
pub(crate) mod policy_file;
pub(crate) mod progress;
pub(crate) mod replay;
pub(crate) mod sensitive_names;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod tree_before;
pub(crate) mod usage_counts;
mod workshops;

use std::collections::{BTreeMap, HashSet};

use jp_confine_engine::Capabilities;

use self::exclusions::Shut;
use self::replay::ReplayStage;
use self::tree::{LearnedRule, RulePurpose, UsedPath, is_below};
use crate::error::Failure;
use crate::learn::learned::Learned;
use crate::learn::text::readable;
use crate::record::usage::{Use, UseKind};

/// The default file for the policy.
pub(crate) const FILE: &str = "jp-confine.learned.toml";

/// Limit on the rounds of the search for rules. Uses that only looked, and that no round took up, are left out.
const ROUNDS: usize = 8;

/// The rules for these uses, and for files that got hard links. There is none on a symlink that leads outside or
/// dangles: a policy with such a rule could not be read again, unless the run created the symlink.
fn rules_for(
    stage: &ReplayStage<'_>,
    uses: &[&Use],
    links: &HashSet<Vec<u8>>,
    shut: &Shut,
) -> Result<Vec<LearnedRule>, Failure> {
    let mut opened = workshops::workshops(stage, uses);
    let rules = |opened: &BTreeMap<_, _>| {
        let mut tree = tree_of(stage, uses, links, opened);
        for path in shut.keys() {
            tree.shut(path);
        }
        let rules = tree.rules(|path| stage.is_there(path));
        rules.into_iter().filter(|rule| stage.can_stand(&rule.path)).collect()
    };
    for _ in 0..ROUNDS {
        let rules: Vec<LearnedRule> = rules(&opened);
        let lacking = stage.lacking_for_links(&rules, uses)?;
        if lacking.is_empty() {
            return Ok(rules);
        }
        for (directory, caps) in lacking {
            let known: &mut Capabilities = opened.entry(directory).or_default();
            *known = known.union(caps);
        }
    }
    Ok(rules(&opened))
}

/// The tree of uses, with symlinks marked, and with directories opened for their entries.
fn tree_of(
    stage: &ReplayStage<'_>,
    uses: &[&Use],
    links: &HashSet<Vec<u8>>,
    opened: &BTreeMap<Vec<u8>, Capabilities>,
) -> UsedPath {
    let mut tree = UsedPath::default();
    for part in uses.iter().flat_map(|one| one.parts()) {
        if let Some(path) = stage.inside(part.path) {
            tree.add(path, part, |path| stage.is_secret(path));
        }
    }
    let links = links.iter().filter_map(|path| stage.inside(path));
    for path in links.filter(|path| !stage.is_kept_by_name(path)) {
        tree.mark_link(path, |path| stage.is_secret(path));
    }
    for (directory, caps) in opened {
        tree.open(readable(directory), *caps, |path| stage.is_secret(path));
    }
    tree
}

/// Removes rules that repeat the one above them. Keeps a rule for a path that was used for less and has to be named,
/// since it may hold a secret.
fn prune(rules: &mut Vec<LearnedRule>, is_named: impl Fn(&[u8]) -> bool) {
    let mut place = 0;
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.path.len()));
    while let Some(rule) = rules.get(place).cloned() {
        rules.remove(place);
        let above = tree::nearest(rules, &rule.path).and_then(|place| rules.get(place));
        let says_it = above.is_some_and(|above| match rule.purpose {
            RulePurpose::Narrows if is_named(&rule.path) => false,
            RulePurpose::Drawn => false,
            RulePurpose::Opened
            | RulePurpose::Narrows
            | RulePurpose::Withholds
            | RulePurpose::Denies => above.caps == rule.caps,
            RulePurpose::Used | RulePurpose::Gathered | RulePurpose::Passing(_) => {
                above.caps.contains(rule.caps)
            }
        });
        if !says_it {
            rules.insert(place, rule);
            place += 1;
        }
    }
}

impl Learned<'_> {
    /// Finds the rules.
    pub(crate) fn distil(&mut self, stage: &ReplayStage<'_>) -> Result<(), Failure> {
        let inside = |one: &&Use| one.parts().any(|part| stage.inside(part.path).is_some());
        let all: Vec<&Use> = self.uses.counts.keys().filter(inside).collect();
        let all = self.leave_out_autorun(stage, all).into_iter();
        let (mut looks, mut uses): (Vec<&Use>, Vec<&Use>) =
            all.partition(|one| matches!(one.how, UseKind::Absent | UseKind::Existed));
        for _ in 0..ROUNDS {
            self.rules = rules_for(stage, &uses, &self.uses.links, &self.shut)?;
            exclusions::keep_shut(&mut self.rules, &self.shut);
            stage.widen(&mut self.rules, &uses)?;
            let refused = stage.refused_looks(&self.rules, &looks)?;
            if refused.is_empty() {
                break;
            }
            looks.retain(|one| !refused.contains(one));
            uses.extend(refused);
        }
        exclusions::keep_denied(stage, &mut self.rules);
        self.crowds = exclusions::keep_what_was_there(stage, self.uses, &mut self.rules);
        // Exclusions are taken out of the remaining rules. A path that was used for less keeps its own rule until the
        // end.
        prune(&mut self.rules, |_| true);
        self.unsearched = exclusions::protect(stage, self.uses, &self.shut, &mut self.rules);
        prune(&mut self.rules, |path| stage.is_secret(path));
        self.refused = stage.widen(&mut self.rules, &uses)?;
        self.rules.retain(|rule| rule.purpose != RulePurpose::Drawn);
        self.leave_out_shut(stage);
        self.leave_to_vetting(stage);
        self.unseen = exclusions::unseen(stage, &self.rules);
        self.kept = stage.kept(&self.rules, self.uses)?;
        if self.rules.is_empty() {
            // Without any rule nothing would be declared, and everything inside would be granted.
            let nothing = Capabilities::NONE;
            self.rules.push(LearnedRule {
                path: Vec::new(),
                caps: nothing,
                purpose: RulePurpose::Withholds,
            });
        }
        self.rules.sort_by(|a, b| a.path.cmp(&b.path));
        self.tallies = usage_counts::by_rule(&self.rules, stage, self.uses);
        Ok(())
    }

    /// The keys of the tool's table, spelled as in the workspace's file. Empty if the rules are not a tool's.
    pub(crate) fn table(&self) -> Vec<&str> {
        let Some(tool) = self.tool else { return Vec::new() };
        let whose =
            if self.carried.is_spelled_as_jp { &["conversation", "tools"] } else { &["tools"][..] };
        [whose, &[tool]].concat()
    }

    /// Whether something below `rule` has a rule that grants anything.
    pub(crate) fn leads_on(&self, rule: &LearnedRule) -> bool {
        let is_on =
            |other: &&LearnedRule| other.path != rule.path && is_below(&other.path, &rule.path);
        self.rules.iter().filter(is_on).any(|other| !other.caps.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &str, caps: Capabilities, purpose: RulePurpose) -> LearnedRule {
        LearnedRule { path: path.into(), caps, purpose }
    }

    #[test]
    fn what_the_rule_above_says_is_left_out() {
        let (read, all) = (Capabilities::READ, Capabilities::ALL);
        let mut rules = vec![
            rule("", all, RulePurpose::Gathered),
            rule("target", all, RulePurpose::Gathered),
            rule("target/a", read, RulePurpose::Used),
            rule("src", read, RulePurpose::Narrows),
            rule("src/a", read, RulePurpose::Used),
            rule("b", all, RulePurpose::Narrows),
            rule("src/.env", read, RulePurpose::Narrows),
        ];
        prune(&mut rules, sensitive_names::is_secret);
        let mut left: Vec<&[u8]> = rules.iter().map(|rule| rule.path.as_slice()).collect();
        left.sort_unstable();
        assert_eq!(left, [&b""[..], b"src", b"src/.env"]);
    }

    #[test]
    fn a_rule_is_about_as_much_as_can_be_written_down() {
        assert_eq!(readable(b"a/b"), b"a/b");
        assert_eq!(readable(b"a/b\xff/c"), b"a");
        assert_eq!(readable(b"\xff"), b"");
    }
}
