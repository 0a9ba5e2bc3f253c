//! Finds the lists that a new rule may be added to. If layers say how they merge, a rule in the last file may come
//! before another one about the same subject. Of these the last decides (spec §2.6). Used by suggestions.

use jp_confine_engine::env::EnvRule;
use jp_confine_engine::layers::{self, Layer, Layered, Merged, Strategy};
use jp_confine_engine::model::FsRule;
use jp_confine_engine::net::NetRule;

use super::rule_place::RulePlace;
use super::section::AccessSection;
use crate::config::decode::File;
use crate::config::layers::Layers;
use crate::config::resources;

/// Subject of a trial rule, which no file has.
const TRIED: &str = "\0";

/// A list of one file: that of every run, or that of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    file: usize,
    of_tool: bool,
}

/// A rule of a list that is merged from several files.
pub(crate) trait Listed: Clone + PartialEq {
    const PART: AccessSection;

    /// A trial rule, which no file has.
    fn tried() -> Self;

    /// A file's rules for every run, and then those for `tool`.
    fn lists<'f>(file: &'f File, tool: Option<&str>) -> [Option<&'f Layered<Self>>; 2];
}

impl Listed for FsRule {
    const PART: AccessSection = AccessSection::Files;

    fn tried() -> Self {
        Self::new(TRIED)
    }

    fn lists<'f>(file: &'f File, tool: Option<&str>) -> [Option<&'f Layered<Self>>; 2] {
        let named = file.tools.iter().find(|it| Some(it.name.as_str()) == tool);
        [file.fs.as_ref(), named.and_then(|it| it.fs.as_ref())]
    }
}

impl Listed for NetRule {
    const PART: AccessSection = AccessSection::Hosts;

    fn tried() -> Self {
        Self { host: TRIED.to_owned(), ..Self::default() }
    }

    fn lists<'f>(file: &'f File, tool: Option<&str>) -> [Option<&'f Layered<Self>>; 2] {
        let mut both = resources::of(file, tool).map(|all| all.net.as_ref());
        [both.next().flatten(), both.next().flatten()]
    }
}

impl Listed for EnvRule {
    const PART: AccessSection = AccessSection::Variables;

    fn tried() -> Self {
        Self { name: TRIED.to_owned(), ..Self::default() }
    }

    fn lists<'f>(file: &'f File, tool: Option<&str>) -> [Option<&'f Layered<Self>>; 2] {
        let mut both = resources::of(file, tool).map(|all| all.env.as_ref());
        [both.next().flatten(), both.next().flatten()]
    }
}

/// The places to which rules of each kind may be added.
#[derive(Clone, Debug)]
pub(crate) struct RulePlaces {
    pub(crate) files: ListPlaces<FsRule>,
    /// `None` if host rules of files do not count.
    pub(crate) hosts: Option<ListPlaces<NetRule>>,
    /// `None` if variable rules of files grant nothing.
    pub(crate) variables: Option<ListPlaces<EnvRule>>,
    /// Of the rules on one program, the last replaces the others.
    pub(crate) programs: RulePlace,
}

/// A list that takes another rule.
#[derive(Clone, Debug)]
struct Candidate<T> {
    place: RulePlace,
    /// The later rules, which outweigh it if they are about the same subject.
    later: Vec<T>,
}

/// The places to which a rule of a list may be added.
#[derive(Clone, Debug)]
pub(crate) struct ListPlaces<T> {
    preferred: RulePlace,
    /// The lists to choose from, if the choice depends on the rule's subject.
    candidates: Vec<Candidate<T>>,
}

impl<T> ListPlaces<T> {
    /// The place for a rule that no later rule outweighs. `outweighs` tells which rules would.
    pub(crate) fn get(&self, outweighs: impl Fn(&T) -> bool) -> &RulePlace {
        let counts = |it: &&Candidate<T>| !it.later.iter().any(&outweighs);
        self.candidates.iter().find(counts).map_or(&self.preferred, |it| &it.place)
    }
}

impl RulePlaces {
    /// For tests of something else.
    #[cfg(test)]
    pub(crate) fn of_nobody() -> &'static Self {
        let place = |part| RulePlace::of_text("", part, None);
        Box::leak(Box::new(Self {
            files: ListPlaces { preferred: place(AccessSection::Files), candidates: Vec::new() },
            hosts: Some(ListPlaces {
                preferred: place(AccessSection::Hosts),
                candidates: Vec::new(),
            }),
            variables: Some(ListPlaces {
                preferred: place(AccessSection::Variables),
                candidates: Vec::new(),
            }),
            programs: place(AccessSection::Programs),
        }))
    }
}

impl Layers {
    /// The places for rules of `tool`, or of every run. Those for hosts and for variables are included if `with_hosts`
    /// and `with_variables`. Call it before [`Self::declared`] takes the rules out.
    pub(crate) fn rule_places(
        &self,
        tool: Option<&str>,
        with_hosts: bool,
        with_variables: bool,
    ) -> RulePlaces {
        let lists_programs =
            |file: &File| resources::of(file, tool).any(|all| all.commands.is_some());
        let programs = &self.files()[self.preferred(lists_programs)];
        RulePlaces {
            files: self.list_places(tool),
            hosts: with_hosts.then(|| self.list_places(tool)),
            variables: with_variables.then(|| self.list_places(tool)),
            programs: RulePlace::of(programs, AccessSection::Programs, tool),
        }
    }

    fn list_places<T: Listed>(&self, tool: Option<&str>) -> ListPlaces<T> {
        let merges = self.merges::<T>(tool);
        let preferred = self.preferred(|file| has_rules::<T>(file, tool));
        ListPlaces {
            preferred: RulePlace::of(&self.files()[preferred], T::PART, tool),
            candidates: if merges { self.candidates(tool, preferred) } else { Vec::new() },
        }
    }

    /// The last file for which `has_some` holds, but at least that of the workspace: files below apply to all
    /// workspaces.
    fn preferred(&self, has_some: impl Fn(&File) -> bool) -> usize {
        self.files().iter().rposition(has_some).map_or(self.own(), |last| last.max(self.own()))
    }

    /// Whether any list merges in another way than by appending.
    fn merges<T: Listed>(&self, tool: Option<&str>) -> bool {
        let is_plain = |list: &Layered<T>| match list {
            Layered::Plain(_) => true,
            Layered::Merged(it) => it.strategy == Strategy::Append && !it.discard_when_merged,
        };
        !self.files().iter().flat_map(|file| T::lists(file, tool)).flatten().all(is_plain)
    }

    /// The existing lists, and those that may be started in the preferred file and in that of the workspace. Each comes
    /// with the rules that outweigh a rule added to it.
    fn candidates<T: Listed>(&self, tool: Option<&str>, preferred: usize) -> Vec<Candidate<T>> {
        let files = (0..self.files().len()).rev();
        let both = files.flat_map(|file| [true, false].map(|of_tool| List { file, of_tool }));
        let candidate = |list: List| {
            let file = self.files().get(list.file)?;
            let is_place = list.file == preferred || list.file == self.own();
            let begins = list.of_tool == tool.is_some() && is_place;
            let is_known = begins || T::lists(file, tool)[usize::from(list.of_tool)].is_some();
            let later = self.later(list, tool).filter(|_| is_known)?;
            let place = RulePlace::of(file, T::PART, tool.filter(|_| list.of_tool));
            Some(Candidate { place, later })
        };
        both.filter_map(candidate).collect()
    }

    /// The rules after one that is added to `list`. `None` if it would not count, or others would stop counting.
    fn later<T: Listed>(&self, list: List, tool: Option<&str>) -> Option<Vec<T>> {
        let merged = |added: Option<List>| {
            let files = self.files().iter().enumerate();
            let lists = files.flat_map(|(file, it)| {
                let both = [false, true].into_iter().zip(T::lists(it, tool));
                both.filter_map(move |(of_tool, rules)| {
                    let is_meant = added == Some(List { file, of_tool });
                    if is_meant { Some(with_one_more(rules.cloned())) } else { rules.cloned() }
                })
            });
            layers::merge(lists.map(|list| Layer { name: String::new(), list })).0
        };
        let (before, after): (Vec<T>, Vec<T>) = (merged(None), merged(Some(list)));
        let at = after.iter().position(|rule| *rule == T::tried())?;
        let later = after.get(at + 1..)?.to_vec();
        (after.len() == before.len() + 1).then_some(later)
    }
}

/// Whether the file has rules that count for `tool`.
fn has_rules<T: Listed>(file: &File, tool: Option<&str>) -> bool {
    T::lists(file, tool).iter().any(Option::is_some)
}

/// The list with a trial rule at its end.
fn with_one_more<T: Listed>(list: Option<Layered<T>>) -> Layered<T> {
    let mut list = list.unwrap_or_else(|| Layered::Plain(Vec::new()));
    match &mut list {
        Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. }) => {
            rules.push(T::tried());
        }
    }
    list
}
