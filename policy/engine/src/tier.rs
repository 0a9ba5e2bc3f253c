//! Tiers: patterns by which an operator limits or grants paths, whatever rules say (spec §9), and the list of sensitive
//! paths (spec §10).

use crate::automaton::{Automaton, Marks, Seen};
use crate::capability::Capabilities;
use crate::image::{Image, Rule};
use crate::lookup::{Lookup, Request};
use crate::walk::Walk;

/// The meaning of a pattern for the paths that it matches, the most restrictive first (spec §9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "std", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Tier {
    /// Nothing is allowed.
    Deny,
    /// A person is asked.
    Prompt,
    /// Reading and executing are allowed.
    Read,
    /// Everything is allowed.
    Write,
}

impl Tier {
    /// All tiers, the most restrictive first.
    pub const ALL: [Self; 4] = [Self::Deny, Self::Prompt, Self::Read, Self::Write];

    /// The capabilities that need no prompt.
    #[must_use]
    pub const fn capabilities(self) -> Capabilities {
        match self {
            Self::Deny | Self::Prompt => Capabilities::NONE,
            Self::Read => READING,
            Self::Write => Capabilities::ALL,
        }
    }

    /// The number of this tier in an image. Zero stands for none.
    #[cfg(feature = "std")]
    pub(crate) const fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The tier of a number. An unknown number denies.
    pub(crate) const fn of_number(number: u32) -> Option<Self> {
        match number {
            0 => None,
            2 => Some(Self::Prompt),
            3 => Some(Self::Read),
            4 => Some(Self::Write),
            _ => Some(Self::Deny),
        }
    }
}

/// Execution counts as reading (spec §9.3).
const READING: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);

/// Capabilities that a person can grant where no rule reaches. Execution is not among them: the kernel starts programs
/// for any process within Landlock's bounds, which no consent widens.
const ASKABLE: Capabilities = Capabilities::ALL.difference(Capabilities::EXECUTE);

/// The source of a restriction on a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Restraint {
    /// A pattern of `deny_paths`.
    Deny = 1,
    /// A pattern of `prompt_paths`.
    Prompt = 2,
    /// A pattern of `read_paths`.
    Read = 3,
    /// The default tier, for paths that no pattern matches.
    Default = 4,
    /// The list of sensitive paths.
    Sensitive = 5,
    /// The list of auto-run files.
    Autorun = 6,
    /// A restriction on names below, which a directory would bring along or a symlink lend (R31).
    Below = 7,
}

impl Restraint {
    /// The restraint of a number in a record. `None` for every other number.
    #[must_use]
    pub const fn of_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Deny),
            2 => Some(Self::Prompt),
            3 => Some(Self::Read),
            4 => Some(Self::Default),
            5 => Some(Self::Sensitive),
            6 => Some(Self::Autorun),
            7 => Some(Self::Below),
            _ => None,
        }
    }

    const fn of_tier(tier: Tier) -> Option<Self> {
        match tier {
            Tier::Deny => Some(Self::Deny),
            Tier::Prompt => Some(Self::Prompt),
            Tier::Read => Some(Self::Read),
            Tier::Write => None,
        }
    }
}

/// How far tiers reach into a grant. An image stores the number in the grant's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reach {
    /// Somebody declared it for the run.
    Declared = 0,
    /// As declared, and it names a sensitive path, or no rules are declared. Nothing in it counts as sensitive.
    Outspoken = 1,
    /// Ready-made. Patterns count, the default tier does not (spec §9.6).
    ReadyMade = 2,
    /// The product's own. Without it no program would run.
    Own = 3,
    /// As ready-made, for control files: no tier allows changing them (spec §8.1).
    Control = 4,
    /// As ready-made, for a profile that a person wrote and named. Sensitive paths in it need a prompt, as below a
    /// rule.
    Named = 5,
}

impl Reach {
    pub(crate) const fn of(rule: &Rule) -> Self {
        match rule.reach {
            1 => Self::Outspoken,
            2 => Self::ReadyMade,
            3 => Self::Own,
            4 => Self::Control,
            5 => Self::Named,
            _ => Self::Declared,
        }
    }

    /// Whether somebody declared it for the run.
    pub(crate) const fn is_declared(self) -> bool {
        matches!(self, Self::Declared | Self::Outspoken)
    }

    /// How far tiers reach into the rule's grant. `None` if no rule grants anything.
    pub(crate) fn granting(rule: Option<&Rule>) -> Option<Self> {
        rule.filter(|rule| rule.hidden == 0).map(Self::of)
    }

    /// Whether the rule at this path, which may be a spelling, frees sensitive paths from prompts.
    fn is_outspoken(image: &Image<'_>, path: &[u8]) -> bool {
        let winner = Walk::along(image, path).winner(path).and_then(|(id, _)| image.rule(id));
        winner.is_some_and(|rule| Self::of(rule) == Self::Outspoken)
    }

    /// Whether the rule counts wherever a path leads: somebody declared it, or it protects a control file. The others
    /// only serve the needs of programs.
    #[cfg(all(feature = "std", target_os = "linux"))]
    pub(crate) fn is_meant(rule: &Rule) -> bool {
        match Self::of(rule) {
            Self::Declared | Self::Outspoken => rule.hidden == 0,
            Self::Control => true,
            Self::ReadyMade | Self::Own | Self::Named => false,
        }
    }
}

/// The tier layer of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiers<'a> {
    pub(crate) automaton: Automaton<'a>,
    pub(crate) default: Option<Tier>,
    /// A person is asked about granted paths that no pattern matches. Grants nothing.
    pub(crate) asks: bool,
}

/// Added to the number of the default in an image: see [`Tiers::asks`].
pub(crate) const ASKS: u32 = 1 << 8;

impl<'a> Tiers<'a> {
    /// Creates the layer from the number of the default in an image.
    pub(crate) fn numbered(automaton: Automaton<'a>, default: u32) -> Self {
        let (tier, asks) = (Tier::of_number(default & !ASKS), default & ASKS != 0);
        Self { automaton, default: tier, asks }
    }

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
            || Reach::is_outspoken(image, spelling)
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
