//! Finds what an image grants at a path: the rule with the longest anchor, minus what tiers withhold (spec §5.1, §9).
//! [`crate::decide`] says whether that is enough for an operation.

use crate::automaton::Marks;
use crate::autorun;
use crate::capability::Capabilities;
use crate::image::{Image, NONE, Rule, RuleId};
use crate::reaches::Reaches;
use crate::tier::{Reach, Restraint, Tiers};
use crate::walk::{Walk, excludes, leads_to};

mod insensitive;

pub use self::insensitive::narrowed;

/// A path to judge.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Canonical absolute path of the object that the operation touches.
    pub path: &'a [u8],
    /// The absolute spelling by which the path was reached, or `path` if no other is known. It breaks ties between
    /// external rules (spec §5.1). Patterns that restrict are matched against it too (spec §9.1).
    pub route: &'a [u8],
    /// A person was prompted and consented.
    pub consented: bool,
    /// The request creates a directory, or removes an empty one. Such a directory has at most the name of an auto-run
    /// file, and no program obeys the name alone.
    pub directory: bool,
}

impl<'a> Request<'a> {
    /// A request whose spelling is the canonical path itself.
    #[must_use]
    pub const fn canonical(path: &'a [u8]) -> Self {
        Self::by_route(path, path)
    }

    /// A request for a canonical path that was reached by this spelling.
    #[must_use]
    pub const fn by_route(path: &'a [u8], route: &'a [u8]) -> Self {
        Self { path, route, consented: false, directory: false }
    }

    /// The same, after a person consented to it.
    #[must_use]
    pub const fn consented(self) -> Self {
        Self { consented: true, ..self }
    }

    /// Whether it was reached by the canonical path itself.
    #[inline]
    pub(crate) fn is_by_own_name(&self) -> bool {
        core::ptr::eq(self.route, self.path) || self.route == self.path
    }

    /// The same, for a directory that is created, or removed while empty.
    #[must_use]
    pub const fn of_directory(self) -> Self {
        Self { directory: true, ..self }
    }
}

/// The image's answer for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The winning rule. `None` if no anchor is a prefix of the path.
    pub rule: Option<RuleId>,
    /// Capabilities that the winner grants here and no tier withholds.
    pub caps: Capabilities,
    /// Capabilities that are granted here if a person consents to a prompt.
    pub asks: Capabilities,
    /// Capabilities that the winner grants and a tier withholds, even if only until a prompt.
    pub withheld: Capabilities,
    /// Why they are withheld.
    pub restraint: Option<Restraint>,
    /// Why a prompt for a part of them cannot grant the rest.
    pub limit: Option<Restraint>,
    /// The path is in a hidden area and not on the way to a granted path (spec §12.1).
    pub hidden: bool,
    /// Capabilities that every rule strictly below the path grants. All, if there is no such rule.
    pub below_all: Capabilities,
    /// Capabilities that some rule strictly below the path grants.
    pub below_any: Capabilities,
    /// How many bytes of the path name entries of directories on the way to a granted path. Metadata is free there, so
    /// the existence of these entries is no secret.
    pub visible: usize,
    /// Something strictly below the path may be withheld or need a prompt.
    pub restrained_below: bool,
    /// The same by a tier, leaving out the list of sensitive paths, which only warns.
    pub withheld_below: bool,
    /// The part of `withheld` that is withheld only because the path is an auto-run file.
    pub(crate) autorun: Capabilities,
    /// How far tiers reach into the rules strictly below.
    pub(crate) reaches_below: Reaches,
}

impl Lookup {
    /// The grants of the rules, even if a tier withholds them here. It may withhold less further down.
    #[must_use]
    pub fn granted(&self, image: &Image<'_>) -> Capabilities {
        if self.is_beyond_rules(image) { self.caps } else { self.caps.union(self.withheld) }
    }

    /// The grants of tiers where no rule reaches, with or without a prompt. Empty elsewhere (spec §9.6).
    #[must_use]
    pub fn opened(&self, image: &Image<'_>) -> Capabilities {
        let beyond = self.is_beyond_rules(image);
        if beyond { self.caps.union(self.asks) } else { Capabilities::NONE }
    }

    /// Why a tier withholds some of `missing`, if it does.
    pub(crate) fn restraint_of(&self, missing: Capabilities) -> Option<Restraint> {
        let withheld = missing.intersection(self.withheld);
        let lasting = withheld.difference(self.caps.union(self.asks));
        let limit = self.limit.filter(|_| !lasting.is_empty());
        limit.or(self.restraint).filter(|_| !withheld.is_empty())
    }

    /// Capabilities that are withheld only because the path is an auto-run file.
    #[must_use]
    pub const fn autorun_withheld(&self) -> Capabilities {
        self.autorun
    }

    /// Whether no rule reaches the path, so that only tiers can grant it.
    #[must_use]
    pub fn is_beyond_rules(&self, image: &Image<'_>) -> bool {
        self.rule.and_then(|id| image.rule(id.raw())).is_none_or(|rule| rule.hidden != 0)
    }
}

/// The answer for `request`: the rule with the longest anchor decides alone (spec §5.1). Looks at this image alone, not
/// at runs around it.
#[must_use]
pub(crate) fn lookup(image: &Image<'_>, request: &Request<'_>) -> Lookup {
    let (mut found, winner) = granted(image, request);
    if let Some(tiers) = image.tiers() {
        found = tiers.restrain(image, request, winner, found);
    }
    autorun::restrain(image, request, winner, &mut found);
    if request.consented {
        found.caps = found.caps.union(found.asks);
        found.asks = Capabilities::NONE;
    }
    found
}

/// Whether a grant's anchor is the very path of `request`. Looks at this image alone.
pub(crate) fn is_named(image: &Image<'_>, request: &Request<'_>) -> bool {
    let winner = Walk::along(image, request.path).winner(request.path);
    winner.is_some_and(|(_, rest)| rest.is_empty())
}

/// Whether tiers can decide at `request`. Looks at this image alone.
pub(crate) fn is_judged(image: &Image<'_>, request: &Request<'_>) -> bool {
    let (_, winner) = granted(image, request);
    Reach::granting(winner.map(|(rule, _)| rule)) != Some(Reach::Own)
}

/// Whether `holds` is true of each name below one directory and the same name below another. A pattern's denial below
/// the first must also remain below the second. That counts even if neither end is granted, because more may be granted
/// tomorrow.
///
/// The answer is no if rules below the first leave less than the one above them, or if the comparison takes too much.
/// Rules below the second count as granting everything. Looks at this image alone.
pub(crate) fn all_below(
    image: &Image<'_>,
    ends: [&Request<'_>; 2],
    holds: impl Fn(&Lookup, &Lookup) -> bool,
) -> bool {
    let Some(tiers) = image.tiers() else { return true };
    let [(here, from), (there, to)] = ends.map(|end| granted(image, end));
    let [from, to] = [from, to].map(|winner| winner.map(|(rule, _)| rule));
    let [reach, other] = [from, to].map(Reach::granting);
    if !here.reaches_below.leave_at_least(reach) {
        return false;
    }
    let is_like =
        here.caps == there.caps && reach == other && there.reaches_below.leave_at_most(other);
    let is_denied = |marks: Marks| reach != Some(Reach::Own) && marks.intersects(Marks::DENY);
    tiers.automaton.all_below(ends.map(|end| end.path), is_like, |one, other| {
        (!is_denied(one) || is_denied(other))
            && holds(&tiers.matched(from, one, here), &tiers.matched(to, other, there))
    })
}

/// The capabilities that are left at `request` if no rule need grant it, because the way to it is granted. A rule that
/// was meant decides. Otherwise patterns and the default decide, as far as they reach into a grant of this `reach`.
/// Looks at this image alone.
#[cfg(all(feature = "std", target_os = "linux"))]
pub(crate) fn left(image: &Image<'_>, request: &Request<'_>, reach: Reach) -> Lookup {
    let (granted, winner) = granted(image, request);
    if winner.is_some_and(|(rule, _)| Reach::is_meant(rule)) {
        return lookup(image, request);
    }
    let free = Lookup { rule: None, caps: Capabilities::ALL, hidden: false, ..granted };
    let mut found = image.tiers().map_or(free, |tiers| tiers.leave(image, request, reach, free));
    autorun::restrain(image, request, None, &mut found);
    found
}

/// Why a tier would withhold some of `need` from a rule that names the very path of `request` and grants everything.
/// Looks at this image alone.
#[cfg(feature = "std")]
pub(crate) fn withheld_by_tier(
    image: &Image<'_>,
    request: &Request<'_>,
    need: Capabilities,
) -> Option<Restraint> {
    let (granted, _) = granted(image, request);
    let free = Lookup { caps: Capabilities::ALL, hidden: false, ..granted };
    image.tiers()?.leave(image, request, Reach::Outspoken, free).restraint_of(need)
}

/// Whether `need` may be granted somewhere below the canonical `directory` without a prompt. A no is certain. Looks at
/// this image alone.
#[cfg(feature = "std")]
pub(crate) fn may_grant_below(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    let request = Request::canonical(directory);
    if lookup(image, &request).below_any.contains(need) {
        return true;
    }
    match (granted(image, &request), image.tiers()) {
        ((here, Some((rule, _))), Some(tiers)) if here.caps.contains(need) => {
            tiers.leave_below(directory, rule, here, need)
        }
        ((here, _), _) => here.caps.contains(need),
    }
}

/// Whether tiers leave `need` at or below the canonical `directory`, out of the grants of the rule there. A prompt
/// counts as left. Looks at this image alone.
#[cfg(feature = "std")]
pub(crate) fn may_be_left(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    let request = Request::canonical(directory);
    let found = lookup(image, &request);
    if found.caps.union(found.asks).contains(need) {
        return true;
    }
    let (here, winner) = granted(image, &request);
    let (Some((rule, _)), Some(tiers)) = (winner, image.tiers()) else { return false };
    here.caps.contains(need) && tiers.may_leave_below(directory, rule, here, need)
}

/// Whether [`lookup`] grants `need` at `request`. It takes less time if no pattern can decide, and still less if
/// nothing is to be changed.
#[inline(never)] // keeps its stack use from adding up with that of a denial
pub(crate) fn permits(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> bool {
    let by_rules = permits_by_rules(image, request, need);
    by_rules.unwrap_or_else(|| lookup(image, request).caps.contains(need))
}

/// The same if a rule grants it and no pattern can decide. Otherwise `None`.
#[inline(never)] // keeps its stack use from adding up with the rest
fn permits_by_rules(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> Option<bool> {
    let (mut found, winner) = granted(image, request);
    let is_passed = |tiers: &Tiers<'_>| winner.is_some_and(|it| tiers.pass(request, it));
    if !found.caps.contains(need) || !image.tiers().is_none_or(is_passed) {
        return None;
    }
    if need.intersects(Capabilities::WRITE) && !request.consented {
        autorun::restrain(image, request, winner, &mut found);
    }
    Some(found.caps.contains(need))
}

/// Whether [`lookup`] puts `request` in a hidden area. A tier only ever shows more.
pub(crate) fn is_hidden(image: &Image<'_>, request: &Request<'_>) -> bool {
    let is_shown = image.head().is_some_and(|head| head.shows(request.path));
    !is_shown && granted(image, request).0.hidden && lookup(image, request).hidden
}

/// The grants of the rules without tiers, the winner, and the part of the path after its anchor.
#[inline]
pub(crate) fn granted<'a, 'p>(
    image: &Image<'a>,
    request: &Request<'p>,
) -> (Lookup, Option<(&'a Rule, &'p [u8])>) {
    let walk = Walk::along(image, request.path);
    let (below_all, below_any, flags) =
        walk.reached.map_or((Capabilities::ALL, Capabilities::NONE, 0), |node| {
            let [all, any] = [node.below_all, node.below_any].map(Capabilities::from_bits);
            (all, any, node.flags)
        });
    let visible = walk.visible;
    let uncovered = Lookup {
        rule: None,
        caps: Capabilities::NONE,
        asks: Capabilities::NONE,
        withheld: Capabilities::NONE,
        restraint: None,
        limit: None,
        hidden: false,
        below_all,
        below_any,
        visible,
        restrained_below: false,
        withheld_below: false,
        autorun: Capabilities::NONE,
        reaches_below: Reaches::in_flags(flags),
    };
    let Some((id, rest)) = walk.winner(request.path) else { return (uncovered, None) };
    let (id, Some(rule)) = tie_by_route(image, id, request.route) else {
        return (uncovered, None);
    };
    let carved = image.patterns_of(rule).any(|pattern| excludes(pattern, rest, image.names()));
    let caps = if carved { Capabilities::NONE } else { Capabilities::from_bits(rule.caps) };
    let shown = rest.is_empty() || !below_any.is_empty();
    let hidden = rule.hidden != 0 && !shown;
    (Lookup { rule: Some(RuleId(id)), caps, hidden, ..uncovered }, Some((rule, rest)))
}

/// Of several external rules on one anchor, the one whose own path leads to the route, or else the last.
fn tie_by_route<'a>(image: &Image<'a>, last: u32, route: &[u8]) -> (u32, Option<&'a Rule>) {
    let mut id = last;
    while let Some(rule) = image.rule(id) {
        if leads_to(image.string(rule.route), route) {
            return (id, Some(rule));
        }
        if rule.earlier.get() == NONE || rule.earlier.get() >= id {
            break;
        }
        id = rule.earlier.get();
    }
    (last, image.rule(last))
}
