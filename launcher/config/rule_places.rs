//! In which lists a rule of `access.fs` may be written. Where layers say how they merge, one that is added to the
//! last file may come before another on the same path, and of these the last decides (spec §2.6).

use std::path::Path;
use std::rc::Rc;

use jp_confine_policy::layers::{self, Layer, Layered, Merged, Strategy};
use jp_confine_policy::model::{FsRule, RuleSource};

use super::decode::{File, Trust};
use super::document::Source;
use super::layers::Layers;
use super::rule_place::RulePlace;
use crate::workspace;

/// The path of a rule that is tried: no file has such.
const TRIED: &str = "\0";

/// A list of one file: that of the run, or that of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    file: usize,
    of_tool: bool,
}

/// A list that takes one more rule.
#[derive(Clone, Debug)]
struct Candidate {
    place: RulePlace,
    /// Those that outweigh it on their paths.
    later: Vec<RuleSource>,
}

/// Where a rule may be added, what is preferred first.
#[derive(Clone, Debug)]
pub(crate) struct RulePlaces {
    preferred: RulePlace,
    /// The lists, if it depends on the path which one does.
    candidates: Vec<Candidate>,
}

impl RulePlaces {
    /// Of tests that are not about it.
    #[cfg(test)]
    pub(crate) fn of_nobody() -> &'static Self {
        let preferred = RulePlace::of_text("", super::document::Notation::Toml, None);
        Box::leak(Box::new(Self { preferred, candidates: Vec::new() }))
    }

    /// The place of a rule on whose path there are, as yet, those for which `is_there` holds.
    pub(crate) fn get(&self, is_there: impl Fn(&RuleSource) -> bool) -> &RulePlace {
        let counts = |it: &&Candidate| !it.later.iter().any(&is_there);
        self.candidates.iter().find(counts).map_or(&self.preferred, |it| &it.place)
    }

    /// The place where nothing is known of the path.
    pub(crate) const fn preferred(&self) -> &RulePlace {
        &self.preferred
    }
}

impl Layers {
    /// The places for a rule of the workspace at `root`, of `tool` if one is named, before [`Self::declared`]
    /// takes the rules out: the last file that has any, or the workspace's own.
    pub(crate) fn rule_places(&self, root: &Path, tool: Option<&str>) -> RulePlaces {
        let files = self.files();
        let own = root.join(workspace::FILE).display().to_string();
        let last = files.iter().rposition(|file| has_rules(file, tool));
        let preferred = last.or_else(|| files.iter().position(|file| *file.source.name == *own));
        let preferred = match preferred.and_then(|at| files.get(at)) {
            Some(file) => RulePlace::of(file, tool, true),
            None => {
                RulePlace::new(Rc::new(Source::new(&own, String::new())), Trust::Workspace, tool)
            }
        };
        let candidates = if self.merges(tool) { self.candidates(tool) } else { Vec::new() };
        RulePlaces { preferred, candidates }
    }

    /// Whether any list is not just put after the others.
    fn merges(&self, tool: Option<&str>) -> bool {
        let is_plain = |list: &Layered<FsRule>| match list {
            Layered::Plain(_) => true,
            Layered::Merged(it) => it.strategy == Strategy::Append && !it.discard_when_merged,
        };
        !self.files().iter().flat_map(|file| lists(file, tool)).flatten().all(is_plain)
    }

    /// The lists that there are, and that of the tool in the last file, with what outweighs a rule in each.
    fn candidates(&self, tool: Option<&str>) -> Vec<Candidate> {
        let last = self.files().iter().rposition(|file| has_rules(file, tool));
        let files = (0..self.files().len()).rev();
        let both = files.flat_map(|file| [true, false].map(|of_tool| List { file, of_tool }));
        let candidate = |list: List| {
            let file = self.files().get(list.file)?;
            let begins = list.of_tool && tool.is_some() && Some(list.file) == last;
            let is_known = begins || lists(file, tool)[usize::from(list.of_tool)].is_some();
            let place = RulePlace::of(file, tool.filter(|_| list.of_tool), !list.of_tool);
            let later = self.later(list, tool).filter(|_| is_known && place.is_possible())?;
            Some(Candidate { place, later })
        };
        both.filter_map(candidate).collect()
    }

    /// The rules behind one that is added to `list`; none where it would not count, or others would not any more.
    fn later(&self, list: List, tool: Option<&str>) -> Option<Vec<RuleSource>> {
        let merged = |added: Option<List>| {
            let files = self.files().iter().enumerate();
            let lists = files.flat_map(|(file, it)| {
                let both = [false, true].into_iter().zip(lists(it, tool));
                both.filter_map(move |(of_tool, rules)| {
                    let is_meant = added == Some(List { file, of_tool });
                    if is_meant { Some(with_one_more(rules.cloned())) } else { rules.cloned() }
                })
            });
            layers::merge(lists.map(|list| Layer { name: String::new(), list })).0
        };
        let (before, after) = (merged(None), merged(Some(list)));
        let at = after.iter().position(|rule| rule.path() == TRIED)?;
        let later = after.get(at + 1..)?.iter().map(|rule| rule.source().clone()).collect();
        (after.len() == before.len() + 1).then_some(later)
    }
}

/// Whether the file has rules that count for `tool`.
fn has_rules(file: &File, tool: Option<&str>) -> bool {
    lists(file, tool).iter().any(Option::is_some)
}

/// The rules of every run that a file has, and those of `tool`, which come after them.
fn lists<'f>(file: &'f File, tool: Option<&str>) -> [Option<&'f Layered<FsRule>>; 2] {
    let named = file.tools.iter().find(|it| Some(it.name.as_str()) == tool);
    [file.fs.as_ref(), named.and_then(|it| it.fs.as_ref())]
}

/// The list with a rule at its end.
fn with_one_more(list: Option<Layered<FsRule>>) -> Layered<FsRule> {
    let mut list = list.unwrap_or_else(|| Layered::Plain(Vec::new()));
    match &mut list {
        Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. }) => {
            rules.push(FsRule::new(TRIED));
        }
    }
    list
}
