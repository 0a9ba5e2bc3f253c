//! Finds what an image grants at a path: the rule with the longest anchor, minus what tiers withhold (spec §5.1, §9).
//! [`crate::decide`] says whether that is enough for an operation.

mod insensitive;

pub use self::insensitive::narrowed;
use crate::automaton::Marks;
use crate::capability::Capabilities;
use crate::components::leads_to;
use crate::exclusions::{excludes, leads_below};
use crate::image::walk::Walk;
use crate::image::{Image, TierLayer};
use crate::layout::{NONE, Node, Rule, RuleId};
use crate::reaches::Reaches;
use crate::request::{Lookup, Request};
use crate::tier::Reach;
#[cfg(feature = "std")]
use crate::tier::Restraint;
use crate::{autorun, lookup};

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
    let is_passed = |tiers: &TierLayer<'_>| winner.is_some_and(|it| tiers.pass(request, it));
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
    let shown = rest.is_empty() || walk.reached.is_some_and(Node::is_way);
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

/// Whether an exclusion of the rule that decides at the directory may match something below it.
#[must_use]
pub fn excludes_below(image: &Image<'_>, directory: &[u8]) -> bool {
    let Some((id, rest)) = Walk::along(image, directory).winner(directory) else { return false };
    image.rule(id).is_some_and(|rule| {
        image.patterns_of(rule).any(|pattern| leads_below(pattern, rest, image.names()))
    })
}
