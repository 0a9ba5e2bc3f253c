//! Finds what keeps a directory in its place because of its possible contents (spec §9.6), and the grants that let it
//! move.

use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Destination, Request, Verdict, lookup};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Restraint;

use super::trial::Trial;
use crate::advice::request::{Asked, Extent, Step};
use crate::compile::image;
use crate::sys::path::path_of;
use crate::text::quote;

/// The former kind of an entry that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// An entry without anything below it.
    Alone,
    Directory,
}

/// The reason why a directory stays in its place, whatever is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    /// At the new place there is no prompt for sensitive contents.
    Question,
    /// Rules below the new place, in words. They may cover paths that need a prompt here.
    Rules(String),
    /// The exclusions of the rule that grants the directory.
    LeftOut,
    /// The `default` of `file_policy`, in words. It does not count at the new place.
    Default(String),
    /// A built-in pattern, in words.
    BuiltIn(String),
    /// Patterns, in words, that do not match at the new place.
    Patterns(String),
    /// The list of auto-run files.
    Autorun,
}

impl Keeper {
    /// Why nothing allows the move.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Question => {
                "there nobody would be asked about what is sensitive in it, as here: \
                               a copy takes that question"
                    .to_owned()
            }
            Self::Rules(words) => format!(
                "what is asked about in it here may be granted there by {words}: a copy takes that \
                 question"
            ),
            Self::LeftOut => {
                "there what the rule leaves out would be granted, too: copy what may be read"
                    .to_owned()
            }
            Self::Default(words) => format!(
                "there {words} does not count for what is in it, as here: copy what may be read"
            ),
            Self::BuiltIn(words) => format!(
                "it may hold what has to stay in its place by {words}, which is built in: no option \
                 and no rule can allow it"
            ),
            Self::Autorun => {
                "it may hold auto-run files, which would be none there: a person is asked, or \
                              --allow-autorun names it"
                    .to_owned()
            }
            Self::Patterns(words) => {
                format!("it may hold what has to stay in its place; take the pattern out: {words}")
            }
        }
    }

    /// The same, for use after the sentence about other patterns to remove.
    pub(super) fn after(&self) -> String {
        match self {
            Self::Patterns(words) => format!("then to be taken out, too: {words}"),
            keeper => format!("even then {}", keeper.why()),
        }
    }
}

impl Trial<'_> {
    /// The next grant for a directory to move that tiers keep in its place, even if it is `gone` by now. Either the
    /// rights that it would have there and lacks here, or else equal grants at both ends. `None` as long as the move
    /// needs other grants first, so not everything is `granted`. Looks at the disk.
    ///
    /// # Errors
    /// The reason why it stays all the same.
    pub(super) fn to_let_go(
        &self,
        image: &Image<'_>,
        asked: Asked<'_>,
        granted: bool,
        gone: Gone,
    ) -> Result<Option<Step>, Keeper> {
        let Some([from, to]) = kept(image, asked, gone) else { return Ok(None) };
        if is_for_autorun(image, from, to) {
            return Err(Keeper::Autorun);
        }
        let lacking = decide::lacking_to_relocate(image, &from, &to);
        let found = lookup(image, &from);
        let held = found.granted(image);
        if found.is_beyond_rules(image) && !lacking.is_empty() {
            return Ok(Some(self.to_take_along(asked, &Step::of(from, held.union(lacking)))));
        }
        let missing = lacking.difference(held);
        let step = if missing.is_empty() {
            self.to_be_alike(image, asked, [from, to], granted)?
        } else {
            Step { missing, ..Step::of(from, held) }
        };
        Ok(granted.then_some(step))
    }

    /// The first step to equal grants at both ends, if that lets the directory move. While the ends differ, each rule
    /// below the new place counts as one on a path that needs a prompt here. Until everything else is `granted`, the
    /// final rights are unknown.
    fn to_be_alike(
        &self,
        image: &Image<'_>,
        asked: Asked<'_>,
        [from, to]: [Request<'_>; 2],
        granted: bool,
    ) -> Result<Step, Keeper> {
        let held = [to, from].map(|end| lookup(image, &end).granted(image));
        let least = if granted { Capabilities::NONE } else { Capabilities::ALL };
        let all = held.iter().fold(least, |all, held| all.union(*held));
        // An option grants more than the missing rights. The other end then lacks the rest.
        let all = held.iter().fold(all, |all, held| match all.difference(*held) {
            Capabilities::NONE => all,
            missing => all.union(self.means.widen(missing)),
        });
        let steps = [to, from].into_iter().zip(held).map(|(end, held)| {
            let (place, extent) = asked.end_at(end, self.advisor.began);
            Step { extent, missing: all.difference(held), ..Step::of(place, all) }
        });
        let mut steps = steps.filter(|step| !step.missing.is_empty()).peekable();
        let first = steps.peek().cloned();
        let mut alike = self.clone();
        steps.for_each(|step| _ = alike.add(&step));
        match first.filter(|_| alike.lets_go(asked)) {
            Some(step) => Ok(step),
            None => Err(alike.keeper(asked, [from, to])),
        }
    }

    /// Whether no tier keeps the directory of a move in its place, even if it is gone by now. Looks at the disk.
    fn lets_go(&self, asked: Asked<'_>) -> bool {
        self.image(asked).is_ok_and(|image| {
            image::parse_image(&image)
                .is_ok_and(|image| kept(&image, asked, Gone::Directory).is_none())
        })
    }

    /// Extends `step` at a directory that no rule reaches to the contents that move along. By a pattern for the
    /// contents if that suffices, else by a grant.
    fn to_take_along(&self, asked: Asked<'_>, step: &Step) -> Step {
        let [by_pattern, by_grant] =
            [Extent::Below, Extent::Along].map(|extent| Step { extent, ..step.clone() });
        let mut trial = self.clone();
        trial.add(&by_pattern);
        if trial.lets_go(asked) { by_pattern } else { by_grant }
    }

    /// Why a directory stays in its place.
    pub(super) fn why_kept(&self, keeper: &Keeper, asked: Asked<'_>) -> String {
        let others = match keeper {
            Keeper::Patterns(words) => self.advisor.others_beside(Some(words.as_str()), asked),
            _ => String::new(),
        };
        format!("{}{others}", keeper.why())
    }

    /// The reason why the directory at `from` stays. Looks at the disk.
    fn keeper(&self, asked: Asked<'_>, [from, to]: [Request<'_>; 2]) -> Keeper {
        let tiers = self.advisor.tiers;
        let [here, there] = [from, to].map(|end| path_of(end.path));
        let mut found = tiers.described_between(here, there);
        if let Some(at) = found.iter().position(|one| one.is_built_in) {
            return Keeper::BuiltIn(found.swap_remove(at).words);
        }
        let words: Vec<String> = found.iter().map(|one| quote::path(&one.words)).collect();
        if !words.is_empty() {
            return Keeper::Patterns(words.join(", "));
        }
        let (without, rules) = self.without_below(there);
        if !rules.is_empty() && without.lets_go(asked) {
            return Keeper::Rules(rules.join(", "));
        }
        let judge = |image: &Image<'_>| self.kept_alike(image, from, to);
        let image = self.image(asked).ok();
        let image = image.as_deref().and_then(|image| image::parse_image(image).ok());
        image.as_ref().map_or(Keeper::Question, judge)
    }

    /// The reason why the directory at `from` stays, if the same patterns match at both ends.
    fn kept_alike(&self, image: &Image<'_>, from: Request<'_>, to: Request<'_>) -> Keeper {
        if decide::excludes_below(image, from.path) {
            return Keeper::LeftOut;
        }
        let tiers = self.advisor.tiers;
        let is_by_default = tiers.default.is_some()
            && decide::lacking_to_relocate(image, &from, &to) != Capabilities::NONE;
        let of_default =
            || tiers.described(Restraint::Default, path_of(from.path), path_of(from.route));
        if is_by_default { Keeper::Default(quote::path(&of_default())) } else { Keeper::Question }
    }
}

/// Whether it stays only because of the auto-run files in it.
fn is_for_autorun(image: &Image<'_>, from: Request<'_>, to: Request<'_>) -> bool {
    let verdict = decide::relocate(image, &from, &to);
    matches!(verdict, Verdict::Deny(denial) if denial.ask && denial.restraint == Some(Restraint::Autorun))
}

/// The directory of a move that tiers keep in its place, and the place that it would go to.
fn kept<'d>(image: &Image<'_>, asked: Asked<'d>, gone: Gone) -> Option<[Request<'d>; 2]> {
    let Asked::Rename { from, to, destination } = asked else { return None };
    // Two entries swap places whatever their kinds are.
    let is_exchange = destination == Destination::Exchange;
    let stays = |[from, to]: &[Request<'_>; 2]| {
        (is_exchange || is_directory(path_of(from.path), gone))
            && decide::relocate(image, from, to) != Verdict::Allow
    };
    let back = is_exchange.then_some([to, from]);
    std::iter::once([from, to]).chain(back).find(stays)
}

/// Whether a directory is or was there. A symlink moves alone, and its target stays.
pub(super) fn is_directory(path: &Path, gone: Gone) -> bool {
    path.symlink_metadata().map_or(gone == Gone::Directory, |found| found.is_dir())
}
