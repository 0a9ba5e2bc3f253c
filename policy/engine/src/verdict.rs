//! Verdicts and denials, and how those of several levels and questions become one. Used by `decide` and its parts.

use crate::capability::Capabilities;
use crate::image::Image;
use crate::layout::RuleId;
use crate::lookup;
use crate::request::{Lookup, Request};
use crate::tier::Restraint;

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The operation may go ahead.
    Allow,
    /// It may not.
    Deny(Denial),
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule that decided; `None` where no rule covers the path.
    pub rule: Option<RuleId>,
    /// The requested capabilities that are not granted.
    pub missing: Capabilities,
    /// The name must look absent: answer ENOENT instead of EACCES (R18).
    pub hidden: bool,
    /// The denial is about the second path of a rename or link.
    pub second: bool,
    /// How many runs further out the denying policy is, see [`Image::at_level`]. `rule` is one of its rules.
    pub level: u8,
    /// How much of the path is no secret, see [`Lookup::visible`]. If that much of it does not exist, or all of it
    /// does, the kernel's own ENOENT or EEXIST may stand.
    pub visible: usize,
    /// The tier that withholds what a rule grants.
    pub restraint: Option<Restraint>,
    /// A person may be asked. With consent the operation as a whole may go ahead.
    pub ask: bool,
}

/// Unites the verdicts of all levels, from the innermost run outwards: the first final denial, else the first that
/// needs a prompt. If case is ignored at one of the `paths`, the form with folded names must agree.
pub(crate) fn at_each_level(
    image: &Image<'_>,
    paths: [&[u8]; 2],
    judge: impl Fn(&Image<'_>) -> Verdict,
) -> Verdict {
    worst(image.forms(paths).map(|(level, form)| match form.map_or(UNKNOWN, &judge) {
        Verdict::Allow => Verdict::Allow,
        Verdict::Deny(denial) => Verdict::Deny(Denial { level, ..denial }),
    }))
}

/// As [`at_each_level`], for a condition that holds or does not.
pub(crate) fn holds_at_each_level(
    image: &Image<'_>,
    path: &[u8],
    holds: impl Fn(&Image<'_>) -> bool,
) -> bool {
    image.forms([path; 2]).all(|(_, form)| form.is_some_and(&holds))
}

/// The verdict on a name that may be equal to unknown others.
const UNKNOWN: Verdict = Verdict::Deny(Denial {
    rule: None,
    missing: Capabilities::ALL,
    hidden: false,
    second: false,
    level: 0,
    visible: 0,
    restraint: None,
    ask: false,
});

/// The first final denial, else the first that needs a prompt, else allowance.
pub(crate) fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut worst = Verdict::Allow;
    for verdict in verdicts {
        match verdict {
            Verdict::Deny(denial) if !denial.ask => return verdict,
            Verdict::Deny(_) if worst == Verdict::Allow => worst = verdict,
            _ => {}
        }
    }
    worst
}

impl Verdict {
    /// The denial, if a person may lift it.
    pub(crate) fn question(self) -> Option<Denial> {
        match self {
            Self::Deny(denial) if denial.ask => Some(denial),
            _ => None,
        }
    }
}

pub(crate) fn verdict(found: &Lookup, need: Capabilities) -> Verdict {
    let missing = need.difference(found.caps);
    let denied = missing.difference(found.asks);
    match (missing.is_empty(), denied.is_empty()) {
        (true, _) => Verdict::Allow,
        (false, true) => Verdict::Deny(Denial { ask: true, ..denial(found, missing) }),
        (false, false) => Verdict::Deny(denial(found, denied)),
    }
}

/// The denial of a device that no grant names.
pub(crate) fn not_named(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> Denial {
    Denial { hidden: false, restraint: None, ..denial(&lookup::lookup(image, request), need) }
}

/// The one constructor of a denial. A change is denied openly even in a hidden area.
pub(crate) fn denial(found: &Lookup, missing: Capabilities) -> Denial {
    Denial {
        rule: found.rule,
        missing,
        hidden: found.hidden && !missing.intersects(Capabilities::WRITE),
        second: false,
        level: 0,
        visible: found.visible,
        restraint: found.restraint_of(missing),
        ask: false,
    }
}

/// The capabilities that the move would grant, or free from a prompt.
pub(crate) fn gained(from: &Lookup, to: &Lookup) -> Capabilities {
    let before = free(from).union(from.autorun).intersection(from.below_all);
    let granted = free(to).union(to.below_any).difference(before);
    let asked_before = asked(from).intersection(from.below_all);
    granted.union(asked(to).difference(before.union(asked_before)))
}

/// The capabilities that are granted without a prompt.
pub(crate) fn free(found: &Lookup) -> Capabilities {
    found.caps.difference(found.withheld)
}

/// The capabilities that take a person's consent, whether or not it was given.
pub(crate) fn asked(found: &Lookup) -> Capabilities {
    found.asks.union(found.caps).intersection(found.withheld)
}

pub(crate) fn on_second(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Allow => Verdict::Allow,
        Verdict::Deny(denial) => Verdict::Deny(Denial { second: true, ..denial }),
    }
}
