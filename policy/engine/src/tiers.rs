//! Collects all patterns of a run and their sources: the tier layer for an image (spec §9, §10).

mod autorun;
mod folded;
pub(crate) mod printed;
mod repeated;

use std::borrow::ToOwned as _;
use std::cmp::Reverse;
use std::format;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::OnceLock;
use std::vec::Vec;

use crate::automaton::Marks;
use crate::autorun::list::Place;
use crate::build_error::BuildError;
use crate::file_policy::FilePolicy;
use crate::lexical::bytes;
use crate::pattern::{Pattern, PatternError, Places};
use crate::request::Lookup;
use crate::rule_name::{FileLine, RuleName};
use crate::table::{self, PatternList, Table};
use crate::tier::{Restraint, Tier};

/// The built-in list of sensitive paths (spec §10).
const SENSITIVE: [&str; 9] = [
    "~/.ssh/**",
    "~/.gnupg/**",
    "~/.gpg/**",
    "~/.aws/credentials",
    "~/.config/gcloud/**",
    "~/.kube/config",
    "~/.docker/config.json",
    "**/.env",
    "**/.env.*",
];

/// A pattern in words, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The pattern, its list, and the file and line.
    pub words: String,
    /// The pattern is in no file, so nobody can remove it.
    pub is_built_in: bool,
}

/// The list that a pattern belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// `deny_paths` and its like.
    Tier(Tier),
    /// `sensitive_paths`.
    Sensitive,
    /// `prompt_paths` of a source that may only restrict.
    Question,
    /// `read_paths` of a source that may only restrict.
    Limit,
    /// `autorun_paths`, and the built-in list.
    Autorun,
    /// `--allow-autorun`.
    Released,
}

impl List {
    /// The key of its patterns in policy files.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Tier(tier) => tier.field(),
            Self::Sensitive => "sensitive_paths",
            Self::Question => Tier::Prompt.field(),
            Self::Limit => Tier::Read.field(),
            Self::Autorun => "autorun_paths",
            Self::Released => "--allow-autorun",
        }
    }

    pub(crate) const fn marks(self) -> Marks {
        match self {
            Self::Tier(tier) => Marks::of(tier),
            Self::Sensitive => Marks::SENSITIVE,
            Self::Question => Marks::ASK,
            Self::Limit => Marks::LIMIT,
            Self::Autorun => Marks::AUTORUN,
            Self::Released => Marks::RELEASED,
        }
    }

    /// The list that a restraint comes from. `None` for the default.
    const fn of(restraint: Restraint) -> Option<Self> {
        match restraint {
            Restraint::Deny => Some(Self::Tier(Tier::Deny)),
            Restraint::Prompt => Some(Self::Tier(Tier::Prompt)),
            Restraint::Read => Some(Self::Tier(Tier::Read)),
            Restraint::Sensitive => Some(Self::Sensitive),
            Restraint::Autorun => Some(Self::Autorun),
            Restraint::Default | Restraint::Below => None,
        }
    }

    /// The list that grants the path of `found`, which no rule reaches. `None` for the default.
    pub(crate) fn opener(found: &Lookup) -> Option<Self> {
        found.restraint.map_or(Some(Self::Tier(Tier::Write)), Self::of)
    }

    /// Whether the pattern, of the list `of`, belongs to this field and matches the path. A pattern that restricts may
    /// match the spelling by which the path was reached instead.
    fn has(self, of: Self, pattern: &Pattern, path: &Path, route: &Path) -> bool {
        let is_spelled = self.restricts() && pattern.matches(route);
        of.field() == self.field() && (pattern.matches(path) || is_spelled)
    }

    /// Whether its patterns withhold something. Then a pattern of a directory covers everything in it.
    const fn restricts(self) -> bool {
        !matches!(self, Self::Tier(Tier::Read | Tier::Write) | Self::Limit)
    }
}

/// An invalid pattern, and its list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` cannot be one of `{}`: {problem}", .list.field())]
pub struct TierError {
    /// As written.
    pub pattern: String,
    /// The list.
    pub list: List,
    /// The problem with it.
    pub problem: PatternError,
}

/// All patterns of a run.
#[derive(Debug, Clone, Default)]
pub struct Tiers {
    /// The tier of paths that no pattern matches.
    pub default: Option<Tier>,
    /// The default comes from a source that may grant anything. Then a source that may only restrict grants nothing.
    pub is_settled: bool,
    /// A person is asked about granted paths that no pattern matches. Grants nothing.
    pub(crate) asks: bool,
    /// Where the default is written that applies to paths that no pattern matches, if known.
    default_place: Option<FileLine>,
    patterns: Vec<(List, Pattern)>,
    /// Patterns that could match nothing and were left out, with the reason. Each would have granted something.
    pub dropped: Vec<TierError>,
    /// The places where the built-in list of auto-run files begins.
    autorun: Vec<(Place, PathBuf)>,
    /// Created once, when first needed. It takes longer than the rest of an image.
    table: OnceLock<Result<Table, BuildError>>,
}

impl Tiers {
    /// The patterns of `policy`. If `sensitive` is given, also the built-in sensitive paths and those in it. Looks at
    /// the disk.
    ///
    /// # Errors
    /// [`TierError`] for an invalid pattern that would have to restrict.
    pub fn new(
        policy: &FilePolicy,
        sensitive: Option<&[String]>,
        places: Places<'_>,
    ) -> Result<Self, TierError> {
        let is_settled = policy.default.is_some();
        let mut tiers = Self { default: policy.default, is_settled, ..Self::default() };
        for tier in Tier::ALL {
            for text in policy.list(tier) {
                tiers.add(List::Tier(tier), text, places)?;
            }
        }
        if let Some(added) = sensitive {
            let (of_homes, others): (Vec<&str>, Vec<&str>) =
                SENSITIVE.iter().partition(|text| text.starts_with('~'));
            for home in places.protected {
                for text in &of_homes {
                    tiers.add(List::Sensitive, text, Places { home: Some(home), ..places })?;
                }
            }
            for text in others {
                tiers.add(List::Sensitive, text, places)?;
            }
            for text in added {
                tiers.add(List::Sensitive, text, places)?;
            }
        }
        Ok(tiers)
    }

    /// Adds the patterns of a source that may only restrict, such as a file that anybody who can commit may write.
    ///
    /// - Denials, and prompts for granted paths, always count.
    /// - Patterns that grant count in the workspace. Outside, they count if `approved` says so for the tier, the
    ///   pattern, and the directory below which it matches. None counts if the default is settled, because it would be
    ///   an exception to that.
    ///
    /// Returns the patterns that would grant more, each with its tier. They grant nothing. Those that allow only
    /// reading still limit paths to reading (spec §6.4). A pattern that can match nothing is dropped, even if it is
    /// approved. Looks at the disk.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn restrict<'p>(
        &mut self,
        theirs: &'p FilePolicy,
        places: Places<'_>,
        mut approved: impl FnMut(Tier, &str, &Path) -> bool,
    ) -> Result<Vec<(Tier, &'p str)>, TierError> {
        self.table = OnceLock::new();
        match theirs.default {
            Some(Tier::Deny) => self.default = Some(Tier::Deny),
            Some(_) => self.asks = true,
            None => {}
        }
        for text in &theirs.deny_paths {
            self.add(List::Tier(Tier::Deny), text, places)?;
        }
        for text in &theirs.prompt_paths {
            self.add(List::Question, text, places)?;
        }
        let mut left_out = Vec::new();
        for tier in [Tier::Read, Tier::Write] {
            for text in theirs.list(tier) {
                // The path that was looked at counts. Symlinks may lead elsewhere a moment later.
                let Some(pattern) = self.opening_pattern(tier, text, places) else { continue };
                let stem = pattern.stem();
                let opens = !self.is_settled
                    && (stem.starts_with(places.workspace) || approved(tier, text, &stem));
                let list = if opens { List::Tier(tier) } else { List::Limit };
                if !opens {
                    left_out.push((tier, text.as_str()));
                }
                if opens || tier == Tier::Read {
                    self.patterns.push((list, pattern));
                }
            }
        }
        Ok(left_out)
    }

    /// The pattern of a list that grants. A pattern that can match nothing is left out, with a note.
    fn opening_pattern(&mut self, tier: Tier, text: &str, places: Places<'_>) -> Option<Pattern> {
        let left_out =
            |problem| TierError { pattern: text.to_owned(), list: List::Tier(tier), problem };
        let pattern = Pattern::new(text, places, false);
        pattern.map_err(|problem| self.dropped.push(left_out(problem))).ok()
    }

    fn add(&mut self, list: List, text: &str, places: Places<'_>) -> Result<(), TierError> {
        match Pattern::new(text, places, list.restricts()) {
            Ok(pattern) => self.patterns.push((list, pattern)),
            Err(problem) => {
                let error = TierError { pattern: text.to_owned(), list, problem };
                if list.restricts() || error.problem != PatternError::NoHome {
                    return Err(error);
                }
                self.dropped.push(error);
            }
        }
        Ok(())
    }

    /// Notes where each pattern is written. `place` finds it by list and text, and the `default` by its name.
    pub fn locate(&mut self, place: impl Fn(&str, &str) -> Option<FileLine>) {
        for (list, pattern) in &mut self.patterns {
            pattern.place = place(list.field(), &pattern.text);
        }
        let default = self.default.or(self.asks.then_some(Tier::Prompt));
        self.default_place = default.and_then(|tier| place("default", tier.name()));
    }

    /// The tiers as the user would write them, for a policy that is handed on. A pattern that only limits paths to
    /// reading asks there: as one of `read_paths` it would also grant them.
    #[must_use]
    pub fn written(&self) -> FilePolicy {
        let default = self.default.or(self.asks.then_some(Tier::Prompt));
        let mut policy = FilePolicy { default, ..FilePolicy::default() };
        for (list, pattern) in &self.patterns {
            let tier = match list {
                List::Tier(tier) => *tier,
                List::Question | List::Limit => Tier::Prompt,
                List::Sensitive | List::Autorun | List::Released => continue,
            };
            policy.list_mut(tier).push(pattern.text.clone());
        }
        policy
    }

    /// Whether there is nothing to match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.has_no_patterns() && self.autorun.is_empty()
    }

    /// The same, leaving out the built-in list of auto-run files, which needs no table.
    fn has_no_patterns(&self) -> bool {
        self.default.is_none() && !self.asks && self.patterns.is_empty()
    }

    /// The table of all patterns.
    pub(crate) fn table(&self) -> Result<&Table, BuildError> {
        if self.has_no_patterns() {
            return Ok(&table::NO_PATTERNS);
        }
        self.table.get_or_init(|| self.determined()).as_ref().map_err(Clone::clone)
    }

    /// Builds the table. It is built again only if a pattern frees the sensitive paths that it grants from prompts.
    fn determined(&self) -> Result<Table, BuildError> {
        let mut lists = self.lists();
        let table = table::table(&lists)?;
        let Some(outspoken) = self.outspoken(&table) else { return Ok(table) };
        lists.push(outspoken);
        table::table(&lists)
    }

    /// The paths that the patterns of each list match.
    fn lists(&self) -> Vec<PatternList> {
        let others = [List::Sensitive, List::Question, List::Limit, List::Autorun, List::Released];
        let lists = Tier::ALL.into_iter().map(List::Tier).chain(others);
        lists.map(|list| self.listed(list)).collect()
    }

    fn listed(&self, list: List) -> PatternList {
        let mut listed = PatternList::new(list.marks());
        for (_, pattern) in self.patterns.iter().filter(|(of, _)| *of == list) {
            pattern.list(&mut listed);
        }
        listed
    }

    /// The patterns that grant a sensitive path by its name, if there are any. Such a path needs no prompt (spec §10).
    /// `table` says which paths are sensitive.
    fn outspoken(&self, table: &Table) -> Option<PatternList> {
        let is_sensitive =
            |path: &PathBuf| table.look(bytes(path)).here.intersects(Marks::SENSITIVE);
        let names_sensitive = |pattern: &Pattern| pattern.named().any(|path| is_sensitive(&path));
        let opening = self.opening().filter(|(tier, _)| *tier != Tier::Prompt);
        let mut outspoken = opening.filter(|(_, pattern)| names_sensitive(pattern)).peekable();
        outspoken.peek()?;
        let mut listed = PatternList::new(Marks::OUTSPOKEN);
        outspoken.for_each(|(_, pattern)| pattern.list(&mut listed));
        Some(listed)
    }

    /// The most specific pattern by which `restraint` withholds the path, or the spelling by which it was reached. For
    /// messages (spec §9.2).
    #[must_use]
    pub fn reported(&self, restraint: Restraint, path: &Path, route: &Path) -> Option<&Pattern> {
        self.narrowest(List::of(restraint)?, path, route)
    }

    fn narrowest(&self, list: List, path: &Path, route: &Path) -> Option<&Pattern> {
        let matching =
            self.patterns.iter().filter(|(of, pattern)| list.has(*of, pattern, path, route));
        let narrowest = matching.max_by_key(|(_, pattern)| pattern.specificity());
        narrowest.map(|(_, pattern)| pattern)
    }

    /// The source of a restraint: the pattern, its list, and the file and line.
    #[must_use]
    pub fn described(&self, restraint: Restraint, path: &Path, route: &Path) -> RuleName {
        let pattern = self.reported(restraint, path, route);
        if restraint == Restraint::Autorun {
            let place = pattern.and_then(|pattern| pattern.place.as_ref());
            return RuleName::written(self.autorun_in_words(path, route), place);
        }
        self.named(List::of(restraint), pattern)
    }

    /// The layer without the patterns by which `restraint` withholds the path, or the spelling by which it was reached.
    /// Also returns these patterns in the words of [`Self::described`], the most specific first.
    #[must_use]
    pub fn without(&self, restraint: Restraint, path: &Path, route: &Path) -> (Self, Vec<String>) {
        let Some(list) = List::of(restraint) else { return (self.clone(), Vec::new()) };
        let withholds = |(of, pattern): &(List, Pattern)| list.has(*of, pattern, path, route);
        let (mut out, rest) = self.patterns.iter().cloned().partition::<Vec<_>, _>(withholds);
        out.sort_by_key(|(_, pattern)| pattern.specificity());
        let words = out.iter().rev().map(|(_, one)| self.in_words(Some(list), Some(one)));
        (self.with_patterns(rest), words.collect())
    }

    /// Moves the patterns of `read_paths` that match the canonical path to `write_paths`, and returns them too. The
    /// limits of a source that may only restrict stay.
    #[must_use]
    pub fn moved_to_write(&self, path: &Path) -> (Self, Vec<&Pattern>) {
        let is_moved = |(list, pattern): &&(List, Pattern)| {
            *list == List::Tier(Tier::Read) && pattern.matches(path)
        };
        let moved = self.patterns.iter().filter(is_moved).map(|(_, pattern)| pattern).collect();
        let list =
            |one: &(List, Pattern)| if is_moved(&one) { List::Tier(Tier::Write) } else { one.0 };
        let patterns = self.patterns.iter().map(|one| (list(one), one.1.clone())).collect();
        (self.with_patterns(patterns), moved)
    }

    /// The pattern that grants the path of `found`, which no rule reaches: in the words of [`Self::described`], and the
    /// directory below which it matches.
    pub(crate) fn opener(&self, found: &Lookup, path: &Path, route: &Path) -> (RuleName, PathBuf) {
        let list = List::opener(found);
        let pattern = list.and_then(|list| self.narrowest(list, path, route));
        (self.named(list, pattern), pattern.map_or_else(|| PathBuf::from("/"), Pattern::stem))
    }

    /// The patterns that withhold something below the first of these canonical directories, and do not have the same
    /// marks below the other. In the words of [`Self::described`], the most specific first.
    #[must_use]
    pub fn described_between(&self, one: &Path, other: &Path) -> Vec<Described> {
        let differs = |(list, pattern): &&(List, Pattern)| {
            let mut listed = PatternList::new(list.marks());
            pattern.list(&mut listed);
            let keeps = |table: Table| {
                table.look(bytes(one)).ahead != Marks::NONE
                    && !table.alike_below(bytes(one), bytes(other))
            };
            *list != List::Tier(Tier::Write) && table::table(&[listed]).is_ok_and(keeps)
        };
        let mut differing: Vec<&(List, Pattern)> = self.patterns.iter().filter(differs).collect();
        differing.sort_by_key(|(_, pattern)| Reverse(pattern.specificity()));
        let described = |(list, pattern): &(List, Pattern)| Described {
            words: self.in_words(Some(*list), Some(pattern)),
            is_built_in: *list == List::Sensitive && SENSITIVE.contains(&pattern.text.as_str()),
        };
        differing.into_iter().map(described).collect()
    }

    /// The pattern of a list in words. Without a pattern, the list or the default.
    fn in_words(&self, list: Option<List>, pattern: Option<&Pattern>) -> String {
        self.named(list, pattern).text
    }

    /// The pattern of a list, with its file and line. Without a pattern, the list or the default.
    fn named(&self, list: Option<List>, pattern: Option<&Pattern>) -> RuleName {
        let field = list.map_or("default", List::field);
        let of_default = || self.default_place.as_ref().filter(|_| list.is_none());
        let what = pattern.map_or_else(
            || format!("{field} of file_policy"),
            |pattern| format!("`{}` of {field}", pattern.text),
        );
        let place = pattern.map_or_else(of_default, |pattern| pattern.place.as_ref());
        let text = place.map_or_else(|| what.clone(), |place| format!("{what} ({place})"));
        RuleName::written(text, place)
    }

    /// Every pattern that matches the path, with its list. A pattern that restricts may match the spelling by which the
    /// path was reached instead.
    pub fn matching(&self, path: &Path, route: &Path) -> impl Iterator<Item = (List, &Pattern)> {
        let matching = self
            .patterns
            .iter()
            .filter(move |(list, pattern)| list.has(*list, pattern, path, route));
        matching.map(|(list, pattern)| (*list, pattern))
    }

    /// Whether the path, which may be a spelling, is on the list of sensitive paths, even if that only warns.
    #[must_use]
    pub fn is_sensitive(&self, path: &Path) -> bool {
        self.table().is_ok_and(|table| table.look(bytes(path)).here.intersects(Marks::SENSITIVE))
    }

    /// Whether the list of sensitive paths names the canonical directory, or a place below it.
    #[must_use]
    pub fn holds_sensitive(&self, directory: &Path) -> bool {
        let is_inside = |(list, pattern): &(List, Pattern)| {
            *list == List::Sensitive && pattern.stem().starts_with(directory)
        };
        self.is_sensitive(directory) || self.patterns.iter().any(is_inside)
    }

    /// Without the patterns that can match nothing at or below the canonical `directories`. Judging a few paths there
    /// then takes a fraction of the time.
    #[must_use]
    pub fn about(&self, directories: &[&Path]) -> Self {
        let concerned = |(_, pattern): &&(List, Pattern)| {
            directories.iter().any(|directory| pattern.is_about(directory))
        };
        self.with_patterns(self.patterns.iter().filter(concerned).cloned().collect())
    }

    /// Without the patterns that match none of the canonical `paths`. The verdicts on these paths stay the same and
    /// take a fraction of the time, unless they depend on paths below.
    #[must_use]
    pub fn at(&self, paths: &[&Path]) -> Self {
        let concerned =
            |(_, pattern): &&(List, Pattern)| paths.iter().any(|path| pattern.matches(path));
        self.with_patterns(self.patterns.iter().filter(concerned).cloned().collect())
    }

    /// With the list of sensitive paths of `other`.
    #[must_use]
    pub fn warning_of(&self, other: &Self) -> Self {
        let is_sensitive = |(list, _): &&(List, Pattern)| *list == List::Sensitive;
        let own = self.patterns.iter().filter(|one| !is_sensitive(one));
        let all = own.chain(other.patterns.iter().filter(is_sensitive));
        self.with_patterns(all.cloned().collect())
    }

    /// With these patterns instead of its own.
    fn with_patterns(&self, patterns: Vec<(List, Pattern)>) -> Self {
        let (default_place, autorun) = (self.default_place.clone(), self.autorun.clone());
        let &Self { default, is_settled, asks, .. } = self;
        Self { default, is_settled, asks, default_place, patterns, autorun, ..Self::default() }
    }

    /// Without the patterns that grant after a prompt.
    #[must_use]
    pub fn without_questions(&self) -> Self {
        let asks = |(list, _): &&(List, Pattern)| *list == List::Tier(Tier::Prompt);
        self.with_patterns(self.patterns.iter().filter(|one| !asks(one)).cloned().collect())
    }

    /// With one more pattern in the list of `tier`. Looks at the disk.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with(mut self, tier: Tier, text: &str, places: Places<'_>) -> Result<Self, TierError> {
        self.table = OnceLock::new();
        self.add(List::Tier(tier), text, places)?;
        Ok(self)
    }

    /// The symlinks, canonical, on the literal parts of `read_paths` and `write_paths`.
    pub fn opening_links(&self) -> impl Iterator<Item = &Path> {
        let grants = |(tier, _): &(Tier, &Pattern)| *tier != Tier::Prompt;
        self.opening().filter(grants).flat_map(|(_, pattern)| pattern.links()).map(PathBuf::as_path)
    }

    /// Limits patterns of `read_paths` and `write_paths` to their spelling if a symlink on it is `distrusted`. A limit
    /// to reading stays in force at its target. Returns the first such symlink of each pattern, with its tier and text.
    pub fn distrust(&mut self, distrusted: impl Fn(&Path) -> bool) -> Vec<(Tier, String, PathBuf)> {
        let (mut found, mut limits) = (Vec::new(), Vec::new());
        for (list, pattern) in &mut self.patterns {
            let List::Tier(tier @ (Tier::Read | Tier::Write)) = *list else { continue };
            if let Some(link) = pattern.links().iter().find(|link| distrusted(link)).cloned() {
                let target = pattern.split_off_target();
                limits.extend((tier == Tier::Read).then_some((List::Limit, target)));
                found.push((tier, pattern.text.clone(), link));
            }
        }
        self.patterns.append(&mut limits);
        if !found.is_empty() {
            self.table = OnceLock::new();
        }
        found
    }

    /// The patterns of `deny_paths` and `prompt_paths`, in a form that `deny_paths` of a policy for another home and
    /// workspace accepts.
    pub fn withholding(&self) -> impl Iterator<Item = &str> {
        let withholds = |list| matches!(list, List::Tier(Tier::Deny | Tier::Prompt));
        let patterns = self.patterns.iter().filter(move |(list, _)| withholds(*list));
        patterns.map(|(_, pattern)| pattern.expanded())
    }

    /// The patterns that may grant paths that no rule grants, with the tier of each.
    pub fn opening(&self) -> impl Iterator<Item = (Tier, &Pattern)> {
        self.patterns.iter().filter_map(|(list, pattern)| match list {
            List::Tier(Tier::Deny) => None,
            List::Tier(tier) => Some((*tier, pattern)),
            _ => None,
        })
    }
}
