//! Combines many denials in one directory into one suggestion: a program that was denied file after file there will be
//! denied the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::Request;
use jp_confine_engine::pattern::Pattern;

use super::trial::{Means, Trial};
use super::units;
use crate::advice::advisor::{Advisor, Written};
use crate::advice::options::{options_of, tier_for};
use crate::advice::request::{Asked, Extent, Step, on_the_way};
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// From this many paths in one directory on, they are combined.
const MANY: usize = 3;

/// Limit on the denials that are examined.
const MOST: usize = 1000;

/// Denials in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gathered {
    /// The canonical path.
    pub(crate) directory: PathBuf,
    /// The indices of the denials, in order.
    pub(crate) members: Vec<usize>,
    /// Options that allow all of them, and similar requests in the directory.
    pub(crate) options: Vec<(&'static str, PathBuf)>,
    /// The additions to files that suffice. Empty if files cannot allow it.
    pub(crate) written: Written,
}

impl Advisor<'_> {
    /// The groups of `denials` that one grant on their directory would allow. The whole workspace, the user's home and
    /// directories above either are never suggested.
    pub(crate) fn gather(&self, denials: &[&Denial]) -> Vec<Gathered> {
        let mut directories: BTreeMap<&Path, Vec<(usize, Asked<'_>)>> = BTreeMap::new();
        let mut tools_own = directories.clone();
        let counts = counts(denials);
        for (place, denial) in denials.iter().enumerate().take(MOST) {
            if self.is_spent() {
                return Vec::new();
            }
            // A denial that nothing can allow is not part of a group.
            if self.way_out_of(denial).is_some() {
                continue;
            }
            let Ok(asked) = self.grantable(denial) else { continue };
            if self.by_mount(asked).is_some() {
                continue;
            }
            if matches!(
                asked,
                Asked::Beneath(..)
                    | Asked::ScreenVisibility(_)
                    | Asked::Rename { .. }
                    | Asked::Link { .. }
            ) {
                continue;
            }
            if let Some(unit) = units::of(denial, self.homes().next().unwrap_or(Path::new("/"))) {
                tools_own.entry(unit).or_default().push((place, asked));
                continue;
            }
            if let Some(directory) =
                asked.directory().filter(|it| !self.is_too_much(path_of(it.path)))
            {
                directories.entry(path_of(directory.path)).or_default().push((place, asked));
            }
        }
        let many = directories.into_iter().filter(|(directory, members)| {
            let paths = members.iter().filter_map(|(_, asked)| asked.paths().next());
            let paths: BTreeSet<&Path> = paths.collect();
            paths.len() >= MANY && counts.get(directory) == Some(&members.len())
        });
        let many = many.map(|group| (group, false));
        let tools_own = tools_own.into_iter().map(|group| (group, true));
        tools_own
            .chain(many)
            .take_while(|_| !self.is_spent())
            .filter_map(|((directory, members), is_unit)| {
                self.gathered(directory, &members, denials, is_unit)
            })
            .collect()
    }

    /// One grant on the directory for all members. If it `is_unit` of a tool, the tool may write anything in it as soon
    /// as it needs to write something. A worktree's repository is written to by most commands.
    fn gathered(
        &self,
        directory: &Path,
        members: &[(usize, Asked<'_>)],
        denials: &[&Denial],
        is_unit: bool,
    ) -> Option<Gathered> {
        let wanted = members.iter().filter_map(|(place, _)| denials.get(*place));
        let wanted = wanted.fold(Capabilities::NONE, |all, denial| all.union(denial.missing));
        let asked: Vec<Asked<'_>> = members.iter().map(|(_, asked)| *asked).collect();
        let first = asked.first()?;
        let request = if is_unit {
            on_the_way(first.ends().next()?, directory)
        } else {
            first.directory()?
        };
        let made = Capabilities::NONE
            .with_if(asked.iter().any(Asked::is_for_entries), Capabilities::WRITE);
        let missing = asked.iter().fold(made, |all, one| all.union(one.need())).union(wanted);
        let writes = is_unit
            && (missing.intersects(Capabilities::WRITE)
                || units::is_of_worktree(directory, self.workspace));
        let missing =
            missing.with_if(is_unit, Capabilities::READ).with_if(writes, Capabilities::WRITE);
        let options = self.step(request, missing, &asked, Means::Options)?;
        let written = self.step(request, missing, &asked, Means::Files);
        let written = written.and_then(|step| self.written(&[step]));
        let written = written.or_else(|| self.opened(directory, missing, &asked, is_unit));
        Some(Gathered {
            directory: directory.to_owned(),
            members: members.iter().map(|(place, _)| *place).collect(),
            options: options_of(&options),
            written: written.unwrap_or_default(),
        })
    }

    /// A grant on the directory, if it allows all members.
    fn step(
        &self,
        directory: Request<'_>,
        missing: Capabilities,
        asked: &[Asked<'_>],
        means: Means,
    ) -> Option<Step> {
        let mut trial = Trial::of(*self, means);
        let held = trial.held(directory)?.union(missing).union(means.widen(missing));
        let step = Step { missing, ..Step::of(directory, held) };
        let is_way = !trial.takes_away_below(&step) && trial.add(&step) && trial.allows(asked);
        is_way.then_some(step)
    }

    /// Patterns for the directory's contents, if they allow all of `asked`. In the user's home no suggestion opens more
    /// than the requests need.
    fn opened(
        &self,
        directory: &Path,
        missing: Capabilities,
        asked: &[Asked<'_>],
        is_unit: bool,
    ) -> Option<Written> {
        let is_hidden =
            |grant: &Grant| grant.kind == GrantKind::Hidden && directory.starts_with(&grant.anchor);
        let tier = tier_for(missing);
        let is_filled = asked.iter().any(|one| matches!(one, Asked::Directory(..)));
        let extent = if is_filled || is_unit { Extent::Below } else { Extent::Entries };
        let patterns = extent.patterns(tier, &Pattern::literal(directory)?);
        let has_list = self.own_lists.get(tier).is_some();
        if directory.starts_with(self.workspace) || self.grants.iter().any(is_hidden) || !has_list {
            return None;
        }
        let mut trial = Trial::of(*self, Means::Files);
        let allows = trial.open(&patterns) && trial.allows(asked);
        allows.then(|| Written { patterns, ..Written::default() })
    }

    fn is_too_much(&self, directory: &Path) -> bool {
        directory == self.workspace || self.is_beyond_advice(directory)
    }

    /// Whether the directory's contents are never suggested: it is the user's home, a directory above that or the
    /// workspace, or one in the home that a profile denies.
    pub(super) fn is_beyond_advice(&self, directory: &Path) -> bool {
        let is_denied =
            |grant: &Grant| grant.kind == GrantKind::Hidden && grant.anchor == directory;
        self.is_home_or_above(directory) || self.grants.iter().any(is_denied)
    }

    /// Whether the directory is the user's home, or above that or the workspace.
    pub(super) fn is_home_or_above(&self, directory: &Path) -> bool {
        let is_above = directory != self.workspace && self.workspace.starts_with(directory);
        let is_home = || self.homes().any(|home| home.starts_with(directory));
        is_above || directory.parent().is_none() || is_home()
    }

    /// The directories that are hidden as homes of the user.
    fn homes(&self) -> impl Iterator<Item = &Path> {
        let is_home = |grant: &&Grant| {
            grant.kind == GrantKind::Hidden && matches!(grant.origin, Origin::Product { .. })
        };
        self.grants.iter().filter(is_home).map(|grant| grant.anchor.as_path())
    }
}

/// The number of denials that name something in each directory. A rule for one of them alone, of a move for instance,
/// would outweigh the rule on the directory.
fn counts<'d>(denials: &[&'d Denial]) -> HashMap<&'d Path, usize> {
    let mut counts = HashMap::new();
    for denial in denials.iter().take(MOST) {
        let [one, other] = [&denial.path, &denial.other].map(|path| path_of(path).parent());
        let other = other.filter(|other| one != Some(*other));
        for directory in one.into_iter().chain(other) {
            *counts.entry(directory).or_default() += 1;
        }
    }
    counts
}
