//! What tiers withhold from the grant of a rule, and what they grant where no rule reaches (spec §9). Used by `lookup`.

use crate::automaton::{Marks, Seen};
use crate::capability::Capabilities;
use crate::image::walk::Walk;
use crate::image::{Image, TierLayer};
use crate::layout::Rule;
use crate::request::{Lookup, Request};
use crate::tier::{ASKABLE, READING, Reach, Restraint, Tier};

impl TierLayer<'_> {
    /// Restrains the grant of `winner`: a rule of `image`, and the part of the path after its anchor. Both layers must
    /// agree. Where no rule reaches, a pattern may grant (spec §9.6).
    pub(crate) fn restrain(
        &self,
        image: &Image<'_>,
        request: &Request<'_>,
        winner: Option<(&Rule, &[u8])>,
        granted: Lookup,
    ) -> Lookup {
        let seen = self.look(request.path, winner);
        let rule = winner.map(|(rule, _)| rule);
        let granting = winner.filter(|(rule, _)| rule.hidden == 0);
        let spelled = self.spelled(image, request, granting.map(|(_, rest)| rest));
        let found = match granting {
            Some((rule, _)) => self.meet(Reach::of(rule), seen.here.union(spelled), seen, granted),
            None => self.extend(self.beyond(seen.here, spelled), seen, granted),
        };
        let fixed = rule.is_some_and(|rule| Reach::of(rule) == Reach::Control);
        if fixed { unchangeable(found) } else { found }
    }

    /// The rest of a rule's grant, if patterns have the marks `here` and none below.
    pub(crate) fn matched(&self, rule: Option<&Rule>, here: Marks, granted: Lookup) -> Lookup {
        let seen = Seen { here, ahead: Marks::NONE };
        match rule.filter(|rule| rule.hidden == 0) {
            Some(rule) => self.meet(Reach::of(rule), here, seen, granted),
            None => self.extend(here, seen, granted),
        }
    }

    /// The rest of `free`, which no rule of `image` had to grant. Patterns and the default reduce it as far as they
    /// reach into a grant of this `reach`.
    #[cfg(feature = "std")]
    pub(crate) fn leave(
        &self,
        image: &Image<'_>,
        request: &Request<'_>,
        reach: Reach,
        free: Lookup,
    ) -> Lookup {
        let seen = self.automaton.look(request.path);
        self.meet(reach, seen.here.union(self.spelled(image, request, None)), seen, free)
    }

    /// Whether a rule's grant at a directory, `granted`, may still contain `need` somewhere below it, without a prompt.
    #[cfg(feature = "std")]
    pub(crate) fn leave_below(
        &self,
        directory: &[u8],
        rule: &Rule,
        granted: Lookup,
        need: Capabilities,
    ) -> bool {
        let seen = self.automaton.look(directory);
        let left = |here| self.meet(Reach::of(rule), here, seen, granted).caps;
        self.automaton.any_below(directory, |here| left(here).contains(need))
    }

    /// As [`Self::leave_below`], and a prompt counts too.
    #[cfg(feature = "std")]
    pub(crate) fn may_leave_below(
        &self,
        directory: &[u8],
        rule: &Rule,
        granted: Lookup,
        need: Capabilities,
    ) -> bool {
        let seen = self.automaton.look(directory);
        let left = |here| self.meet(Reach::of(rule), here, seen, granted);
        self.automaton.any_below(directory, |here| {
            let left = left(here);
            left.caps.union(left.asks).contains(need)
        })
    }

    /// Whether neither patterns nor the default affect the path of `request`. A rule must grant it, and the request
    /// must name the path itself. `winner` includes the part of the path after its anchor.
    pub(crate) fn pass(&self, request: &Request<'_>, winner: (&Rule, &[u8])) -> bool {
        self.default.is_none()
            && !self.asks
            && winner.0.hidden == 0
            && Reach::of(winner.0) != Reach::Control
            && request.is_by_own_name()
            && self.look(request.path, Some(winner)).here == Marks::NONE
    }

    /// The marks of a canonical path. `winner` includes the part of the path after its anchor.
    fn look(&self, path: &[u8], winner: Option<(&Rule, &[u8])>) -> Seen {
        match winner {
            Some((rule, rest)) if !rest.is_empty() => {
                self.automaton.look_below(rule.state.get(), rest, path)
            }
            _ => self.automaton.look(path),
        }
    }

    /// The marks of the spelling, if it is not the path itself. `rest` is the part of the path after the anchor of the
    /// rule that grants it, if one does.
    fn spelled(&self, image: &Image<'_>, request: &Request<'_>, rest: Option<&[u8]>) -> Marks {
        if request.is_by_own_name() {
            return Marks::NONE;
        }
        let marks = self.by_spelling(request.route);
        if marks.intersects(Marks::SENSITIVE) && self.is_named(image, request.route, rest) {
            return marks.tiers();
        }
        marks
    }

    /// The marks of a spelling, which can only restrict. A pattern may have been written with a symlink in the path
    /// (spec §9.1), and a symlink may have a sensitive name.
    fn by_spelling(&self, spelling: &[u8]) -> Marks {
        let restricting = Marks::DENY.union(Marks::PROMPT).union(Marks::ASK);
        self.automaton.look(spelling).here.intersection(restricting.union(Marks::SENSITIVE))
    }

    /// Whether a rule names the path of this sensitive spelling, so that no prompt is needed (spec §10). Either the
    /// granting rule's anchor is the target of a sensitive part of the spelling, or the rule at the spelling names it.
    #[cold]
    fn is_named(&self, image: &Image<'_>, spelling: &[u8], rest: Option<&[u8]>) -> bool {
        let anchor = rest.and_then(|rest| spelling.strip_suffix(rest));
        anchor.is_some_and(|anchor| self.by_spelling(anchor).intersects(Marks::SENSITIVE))
            || is_outspoken(image, spelling)
    }

    /// Why a spelling alone withholds a grant, if it does. Sensitive spellings do not count, because they only warn
    /// about grants.
    pub(crate) fn withheld_by_spelling(&self, spelling: &[u8]) -> Option<Restraint> {
        match self.by_spelling(spelling).tiers() {
            Marks::NONE => None,
            marks if marks.intersects(Marks::DENY) => Some(Restraint::Deny),
            _ => Some(Restraint::Prompt),
        }
    }

    fn meet(&self, reach: Reach, here: Marks, seen: Seen, granted: Lookup) -> Lookup {
        if reach == Reach::Own {
            return granted;
        }
        let ready_made = matches!(reach, Reach::ReadyMade | Reach::Control | Reach::Named);
        let warns = matches!(reach, Reach::Declared | Reach::Named);
        let default = self.default_held().filter(|_| !ready_made);
        let explicit = here.tier();
        let tier = here.limited(explicit.or(default).unwrap_or(Tier::Write));
        let warned = warns && here.intersects(Marks::SENSITIVE);
        let asked = self.asks(here) && (!ready_made || here.intersects(Marks::ASK));
        let allowed = granted.caps.intersection(tier.capabilities());
        let (caps, asks, restraint) = match tier {
            Tier::Deny => (Capabilities::NONE, Capabilities::NONE, Some(Restraint::Deny)),
            Tier::Prompt => (Capabilities::NONE, granted.caps, Some(Restraint::Prompt)),
            _ if asked => (Capabilities::NONE, allowed, Some(Restraint::Prompt)),
            _ if warned => (Capabilities::NONE, allowed, Some(Restraint::Sensitive)),
            _ => (allowed, Capabilities::NONE, None),
        };
        let by_pattern = explicit.is_some() || here.intersects(Marks::ASK);
        let by_default = !by_pattern && restraint != Some(Restraint::Sensitive);
        let limit = here.limit(tier);
        let warned_below = warns && seen.ahead.intersects(Marks::SENSITIVE);
        let by_default_below = self.default.is_some() || self.asks && !ready_made;
        let withheld_below = seen.ahead.tiers().restrict() || by_default_below;
        Lookup {
            caps,
            asks,
            restraint: restraint
                .map(|it| if by_default { Restraint::Default } else { it })
                .or(limit),
            limit,
            withheld: granted.caps.difference(caps),
            restrained_below: withheld_below || warned_below,
            withheld_below,
            ..granted
        }
    }

    /// Whether granted paths need a prompt.
    fn asks(&self, here: Marks) -> bool {
        let by_default = self.asks || self.default == Some(Tier::Prompt);
        here.intersects(Marks::ASK) || by_default && here.tier().is_none()
    }

    /// The default tier after a person consented. Others may still limit it.
    fn default_held(&self) -> Option<Tier> {
        self.default.map(|tier| if tier == Tier::Prompt { Tier::Write } else { tier })
    }

    /// The marks `here` and of the spelling, where no rule reaches. Marks of the spelling grant nothing. So if nothing
    /// else does, there is no reason for a prompt.
    fn beyond(&self, here: Marks, spelled: Marks) -> Marks {
        match here.tier().or(self.default_held()) {
            None | Some(Tier::Deny) => here.union(spelled.intersection(Marks::DENY)),
            Some(_) => here.union(spelled),
        }
    }

    /// The grants of tiers, where no rule reaches.
    fn extend(&self, here: Marks, seen: Seen, granted: Lookup) -> Lookup {
        let explicit = here.tier();
        let tier = explicit.or(self.default_held()).map(|tier| here.limited(tier));
        let limit = tier.and_then(|tier| here.limit(tier));
        let opened = tier.map_or(Capabilities::NONE, Tier::capabilities);
        let warned = here.intersects(Marks::SENSITIVE)
            && !here.intersects(Marks::OUTSPOKEN)
            && !opened.is_empty();
        let (caps, asks) = match tier {
            Some(Tier::Prompt) => (Capabilities::NONE, ASKABLE),
            _ if self.asks(here) || warned => (Capabilities::NONE, opened.intersection(ASKABLE)),
            _ => (opened, Capabilities::NONE),
        };
        let governed = match explicit.or(self.default) {
            None => Capabilities::NONE,
            Some(Tier::Prompt) => ASKABLE,
            Some(_) => Capabilities::ALL,
        };
        let ahead = seen.ahead.tier_opened(self.default);
        Lookup {
            caps,
            asks,
            restraint: match explicit {
                Some(Tier::Read | Tier::Write) if here.intersects(Marks::ASK) => {
                    Some(Restraint::Prompt)
                }
                _ if warned && !self.asks(here) => Some(Restraint::Sensitive),
                _ if limit.is_some() && !self.asks(here) => limit,
                explicit => explicit.map_or(Some(Restraint::Default), Restraint::of_tier),
            },
            limit,
            withheld: governed.difference(caps),
            hidden: granted.hidden && caps.union(asks).union(ahead).is_empty(),
            below_any: granted.below_any.union(ahead),
            restrained_below: true,
            withheld_below: true,
            ..granted
        }
    }
}

/// Whether the rule at this path, which may be a spelling, frees sensitive paths from prompts.
fn is_outspoken(image: &Image<'_>, path: &[u8]) -> bool {
    let winner = Walk::along(image, path).winner(path).and_then(|(id, _)| image.rule(id));
    winner.is_some_and(|rule| Reach::of(rule) == Reach::Outspoken)
}

/// The same without every capability that changes something.
fn unchangeable(found: Lookup) -> Lookup {
    let keep = |caps: Capabilities| caps.difference(Capabilities::WRITE);
    Lookup {
        caps: keep(found.caps),
        asks: keep(found.asks),
        withheld: keep(found.withheld),
        below_any: keep(found.below_any),
        ..found
    }
}

impl Marks {
    /// The most restrictive tier with a matching pattern.
    fn tier(self) -> Option<Tier> {
        Tier::ALL.into_iter().find(|&tier| self.intersects(Self::of(tier)))
    }

    /// The tier after limits by a source that may only restrict.
    fn limited(self, tier: Tier) -> Tier {
        if self.intersects(Self::LIMIT) { tier.min(Tier::Read) } else { tier }
    }

    /// The reason why this tier leaves reading only, if it does.
    fn limit(self, tier: Tier) -> Option<Restraint> {
        let by_pattern = self.intersects(Self::of(Tier::Read).union(Self::LIMIT));
        let restraint = if by_pattern { Restraint::Read } else { Restraint::Default };
        (tier == Tier::Read).then_some(restraint)
    }

    /// Without the marks about sensitive paths, and about auto-run files.
    fn tiers(self) -> Self {
        let sensitive = Self::SENSITIVE.union(Self::OUTSPOKEN);
        let autorun = Self::AUTORUN.union(Self::RELEASED);
        self.intersection(sensitive.union(autorun).complement())
    }

    /// Whether any of these withholds something.
    fn restrict(self) -> bool {
        self.intersects(Self::WRITE.complement())
    }

    /// The capabilities that tiers of these marks, and the default, may grant.
    fn tier_opened(self, default: Option<Tier>) -> Capabilities {
        let opened = |tier: Tier| match tier {
            Tier::Deny => Capabilities::NONE,
            Tier::Read => READING,
            Tier::Prompt => ASKABLE,
            Tier::Write => Capabilities::ALL,
        };
        let marked = Tier::ALL.into_iter().filter(|&tier| self.intersects(Self::of(tier)));
        marked.chain(default).map(opened).fold(Capabilities::NONE, Capabilities::union)
    }
}
