//! Counts the uses that a rule is for: how often, on how many paths, by which programs.

use std::collections::{BTreeMap, BTreeSet};

use jp_confine_engine::{Capabilities, Capability};

use super::replay::ReplayStage;
use super::tree::{self, LearnedRule, is_below};
use crate::learn::text::short;
use crate::record::usage::{Use, UseKind, UsePart, Uses};
use crate::sys::path::path_of;

/// At most this many names are shown.
const NAMED: usize = 3;

/// The uses that one rule decides about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) paths: BTreeSet<Vec<u8>>,
    pub(crate) times: BTreeMap<Capability, u64>,
    /// Rights that the rule does not grant, but that got an answer without a grant: the path exists, or does not.
    pub(crate) told: BTreeMap<Capability, u64>,
    pub(crate) programs: BTreeMap<String, u64>,
    /// The number of hard links that were created to its files.
    pub(crate) linked: u64,
    /// The number of moves of a path that the rule is about, of a directory around it, or to there.
    pub(crate) moved: u64,
    /// The number of deletions of such a path, or of a directory around it.
    pub(crate) removed: u64,
}

/// A tally for each of `rules`.
pub(crate) fn by_rule(rules: &[LearnedRule], stage: &ReplayStage<'_>, uses: &Uses) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); rules.len()];
    for (one, count) in &uses.counts {
        if one.how == UseKind::Linked
            && let Some(path) = stage.inside(&one.path)
            && let Some(tally) = tree::nearest(rules, path).and_then(|at| tallies.get_mut(at))
        {
            tally.linked += count;
        }
        for place in taken_along(rules, stage, one) {
            if let Some(tally) = tallies.get_mut(place) {
                let times =
                    if one.other.is_empty() { &mut tally.removed } else { &mut tally.moved };
                *times += count;
            }
        }
        for part in one.parts() {
            let Some(path) = stage.inside(part.path) else { continue };
            let Some(place) = tree::nearest(rules, path) else { continue };
            if let (Some(rule), Some(tally)) = (rules.get(place), tallies.get_mut(place)) {
                tally.add(rule, one, part, path, *count);
            }
        }
    }
    tallies
}

/// The rules about a path that is moved or deleted, and about paths below it.
fn taken_along(rules: &[LearnedRule], stage: &ReplayStage<'_>, one: &Use) -> BTreeSet<usize> {
    let is_move = matches!(one.how, UseKind::Moved | UseKind::Replaced | UseKind::Exchanged);
    let is_removal = one.how == UseKind::Used && one.caps() == Capabilities::DELETE;
    let ends = [&one.path, &one.other].into_iter().filter(|_| is_move || is_removal);
    let about = |path: &[u8]| {
        let below = rules.iter().enumerate().filter(|(_, rule)| is_below(&rule.path, path));
        below.map(|(place, _)| place).chain(tree::nearest(rules, path)).collect::<Vec<_>>()
    };
    ends.filter_map(|path| stage.inside(path)).flat_map(about).collect()
}

/// The number of uses by each program, except for the launcher, which starts the first one.
fn programs(uses: &Uses) -> BTreeMap<String, u64> {
    let own = std::env::current_exe().unwrap_or_default();
    let mut programs = BTreeMap::new();
    for (one, count) in &uses.counts {
        if path_of(&one.program) != own {
            *programs.entry(short(&one.program)).or_default() += count;
        }
    }
    programs
}

/// `3 uses by cat, ls`: the number of all uses, and the programs.
pub(crate) fn in_all(uses: &Uses) -> String {
    format!("{}{}", counted(uses.counts.values().sum(), "use"), by_all(uses))
}

/// ` by cat, ls`: all programs except for the launcher, which starts the first one. Empty if there are none.
pub(crate) fn by_all(uses: &Uses) -> String {
    let programs = named(&programs(uses));
    if programs.is_empty() { programs } else { format!(" by {programs}") }
}

/// A number with its noun, which is given in the singular.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `3 paths: read 7×, create 2×`.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", counted(self.paths.len() as u64, "path"), listed(&self.times))
    }
}

/// `read 7×, create 2×`.
pub(crate) fn listed(times: &BTreeMap<Capability, u64>) -> String {
    let times = times.iter().map(|(capability, times)| format!("{capability} {times}×"));
    times.collect::<Vec<_>>().join(", ")
}

impl Tally {
    /// Counts the rights that a use takes on `path`, about which `rule` decides.
    fn add(&mut self, rule: &LearnedRule, one: &Use, part: UsePart<'_>, path: &[u8], count: u64) {
        let counts = |capability| rule.purpose.takes_out() || rule.caps.contains(capability);
        let (counted, other): (Vec<Capability>, Vec<Capability>) =
            part.caps.iter().partition(|&capability| counts(capability.into()));
        let is_told = matches!(one.how, UseKind::Existed | UseKind::Absent);
        for capability in other.into_iter().filter(|_| is_told) {
            *self.told.entry(capability).or_default() += count;
        }
        if counted.is_empty() {
            return;
        }
        self.paths.insert(path.to_vec());
        *self.programs.entry(short(&one.program)).or_default() += count;
        for capability in counted {
            *self.times.entry(capability).or_default() += count;
        }
    }

    /// The rights that were used.
    pub(crate) fn uses(&self) -> Capabilities {
        let all = self.times.keys().map(|&one| Capabilities::from(one));
        all.fold(Capabilities::NONE, Capabilities::union)
    }

    /// The names of the programs.
    pub(crate) fn by(&self) -> String {
        named(&self.programs)
    }
}

/// The names of programs, the most frequent first.
pub(crate) fn named(programs: &BTreeMap<String, u64>) -> String {
    let mut names: Vec<(&String, &u64)> = programs.iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let names: Vec<&str> = names.into_iter().map(|(name, _)| name.as_str()).collect();
    first(&names)
}

/// The first names, and the number of the others.
pub(crate) fn first(names: &[&str]) -> String {
    match names.split_at_checked(NAMED) {
        Some((first, more)) if !more.is_empty() => {
            format!("{} (+{})", first.join(", "), more.len())
        }
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::record::usage;

    /// A program that loads no library makes no uses before its own requests.
    #[test]
    fn whoever_starts_the_first_is_not_named() {
        let mut uses = Uses::new(usage::file().expect("memory"));
        let one = |path: &str, program: PathBuf| Use {
            path: path.into(),
            other: Vec::new(),
            how: UseKind::Used,
            bits: 1,
            drawn: false,
            program: program.into_os_string().into_encoded_bytes(),
        };
        let own = std::env::current_exe().expect("a program");
        uses.counts.insert(one("/bin/busybox", own), 1);
        assert_eq!(in_all(&uses), "1 use");
        uses.counts.insert(one("/w/a", "/bin/cat".into()), 2);
        assert_eq!(in_all(&uses), "3 uses by cat");
    }

    #[test]
    fn what_is_not_named_is_counted() {
        assert_eq!(first(&["a", "b", "c"]), "a, b, c");
        assert_eq!(first(&["a", "b", "c", "d", "e"]), "a, b, c (+2)");
    }
}
