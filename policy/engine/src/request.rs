//! A path to judge, and what an image grants there. `lookup` finds the answer, and `decide` says whether it is enough
//! for an operation.

use crate::capability::Capabilities;
use crate::image::Image;
use crate::layout::RuleId;
use crate::reaches::Reaches;
use crate::tier::Restraint;

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
