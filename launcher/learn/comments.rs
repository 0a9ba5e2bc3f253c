//! Writes the comments above each rule in the policy file: how it was used, and why it grants unused rights.

use jp_confine_engine::Capabilities;

use super::exclusions;
use super::tree::{self, LearnedRule, RulePurpose, is_below};
use super::usage_counts::{self, Tally};
use crate::learn::learned::Learned;
use crate::learn::text::shown;
use crate::record::usage;

/// Above a path that was used in vain but is not granted: programs learn without a grant that it exists, or does not.
const IN_VAIN: &str = "kept out: programs only tried to make what is there already, or looked for what is not there, \
                       and are told so without a grant";

/// After uses that are not granted.
const TOLD: &str =
    "in vain: that something is there already, or is not there, is told without a grant";

/// The lines above `rule`, without comment signs.
pub(super) fn lines(learned: &Learned<'_>, rule: &LearnedRule, tally: &Tally) -> Vec<String> {
    if let Some(unnamed) = learned.shut.get(&rule.path) {
        return vec![shut(unnamed.as_deref())];
    }
    if tally.paths.is_empty() && rule.purpose.takes_out() {
        return vec![taken_out(learned, rule).to_owned()];
    }
    let mut lines = Vec::new();
    if !tally.paths.is_empty() {
        lines.extend([tally.to_string(), format!("by {}", tally.by())]);
    }
    if rule.purpose.takes_out() {
        let told = tally.uses().difference(rule.caps);
        let why = if told.is_empty() { taken_out(learned, rule) } else { IN_VAIN };
        lines.push(why.to_owned());
        return lines;
    }
    if !tally.told.is_empty() {
        lines.push(format!("{} {TOLD}", usage_counts::listed(&tally.told)));
    }
    lines.extend(unused(learned, rule, tally));
    if rule.purpose == RulePurpose::Opened {
        lines.push("it was opened and not listed: opening takes read".to_owned());
    }
    lines.extend(learned.crowds.get(&rule.path).map(|others| crowd(*others)));
    lines
}

/// Why no rule opens a directory.
fn shut(unnamed: Option<&[u8]>) -> String {
    let rest = "kept out, but for what has its own rule";
    match unnamed {
        Some(path) => format!(
            "{rest}: it would open {}, which may hold a secret, was not used, and has a name that no rule can have",
            shown(path)
        ),
        None => format!("{rest}: it cannot be listed, and what else is in it may hold a secret"),
    }
}

/// How many unused entries the rule also opens.
fn crowd(others: usize) -> String {
    format!(
        "this opens the {others} in it that were not used, too: more than {} have no rules of their own",
        exclusions::FEW
    )
}

/// Why a rule takes back what the one above it grants, although nothing there was used.
fn taken_out(learned: &Learned<'_>, rule: &LearnedRule) -> &'static str {
    match rule.purpose {
        _ if rule.path.is_empty() => "nothing in the workspace was used",
        RulePurpose::Denies => "kept out: it was denied",
        _ if rule.caps.is_empty() && learned.leads_on(rule) => {
            "kept out, but for what has its own rule: that alone was used"
        }
        _ if rule.caps.is_empty() => "kept out: it was not used",
        _ if rule.is_kept_out() => "kept from being read: it was not, but moved with what it is in",
        _ => "kept from being written: it was not",
    }
}

/// Why `rule` grants unused rights.
fn unused(learned: &Learned<'_>, rule: &LearnedRule, tally: &Tally) -> Option<String> {
    let unused = rule.caps.difference(tally.uses());
    if unused.is_empty() {
        return None;
    }
    Some(match tally {
        Tally { linked: times @ 1.., .. } => {
            format!("hard links were made to what is here {times}×: it is granted what they are")
        }
        Tally { moved: times @ 1.., .. } => {
            format!("{unused}: needed for {}", usage_counts::counted(*times, "move"))
        }
        Tally { removed: times @ 1.., .. } => {
            format!("{unused}: needed where what it is in was removed, {times}×")
        }
        _ if around(learned, rule).contains(unused) => {
            format!("{unused}: granted around it, too")
        }
        _ if below(learned, rule).contains(unused) => format!("{unused}: used below it"),
        _ => format!("{unused}: needed for what it is used with"),
    })
}

/// The rights that the rule above `rule` grants.
fn around(learned: &Learned<'_>, rule: &LearnedRule) -> Capabilities {
    let above = tree::nearest(&learned.rules, usage::directory(&rule.path));
    let above = above.and_then(|place| learned.rules.get(place)).filter(|above| *above != rule);
    above.map_or(Capabilities::NONE, |above| above.caps)
}

/// The rights that were used at places below `rule` that have their own rules.
fn below(learned: &Learned<'_>, rule: &LearnedRule) -> Capabilities {
    let all = learned.rules.iter().zip(&learned.tallies);
    let uses = all.filter(|(other, _)| is_below(&other.path, &rule.path));
    uses.fold(Capabilities::NONE, |caps, (_, tally)| caps.union(tally.uses()))
}
