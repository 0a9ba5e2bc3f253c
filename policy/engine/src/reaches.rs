//! How far tiers reach into the rules below a directory. A directory may only move if these rules keep everything.

#[cfg(feature = "std")]
use crate::layout::Rule;
use crate::tier::Reach;

/// How far tiers reach into several rules: one bit for each kind of reach, beside other flags of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reaches(u8);

impl Reaches {
    pub(crate) const NONE: Self = Self(0);
    const DECLARED: Self = Self(1 << 2);
    const OUTSPOKEN: Self = Self(1 << 3);
    const READY_MADE: Self = Self(1 << 4);
    const OWN: Self = Self(1 << 5);
    const CONTROL: Self = Self(1 << 6);
    /// A rule that hides, and grants nothing.
    const HIDDEN: Self = Self(1 << 7);
    const ALL: Self = Self(0b1111_1100);

    #[cfg(feature = "std")]
    pub(crate) const fn of(rule: &Rule) -> Self {
        match Reach::of(rule) {
            _ if rule.hidden != 0 => Self::HIDDEN,
            Reach::Declared => Self::DECLARED,
            Reach::Outspoken => Self::OUTSPOKEN,
            Reach::ReadyMade => Self::READY_MADE,
            Reach::Own => Self::OWN,
            Reach::Control => Self::CONTROL,
            // Less than either in one way, and more than `DECLARED` in another.
            Reach::Named => Self::DECLARED.union(Self::READY_MADE),
        }
    }

    /// The reaches in the flags of a node.
    pub(crate) const fn in_flags(flags: u8) -> Self {
        Self(flags & Self::ALL.0)
    }

    #[cfg(feature = "std")]
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Whether tiers leave at least as much of each of these rules' grants as of a grant with this `reach`.
    pub(crate) const fn leave_at_least(self, reach: Option<Reach>) -> bool {
        let less = match reach {
            Some(Reach::Declared) => Self::NONE,
            Some(Reach::Outspoken) => Self::DECLARED,
            Some(Reach::ReadyMade | Reach::Named) => Self::DECLARED.union(Self::OUTSPOKEN),
            Some(Reach::Own | Reach::Control) | None => Self::ALL,
        };
        !self.intersects(less.union(Self::CONTROL).union(Self::HIDDEN))
    }

    /// Whether tiers leave no more of any of these rules' grants.
    pub(crate) const fn leave_at_most(self, reach: Option<Reach>) -> bool {
        let ready_made = Self::READY_MADE.union(Self::CONTROL);
        !self.intersects(match reach {
            Some(Reach::Declared | Reach::Named) => {
                ready_made.union(Self::OUTSPOKEN).union(Self::OWN)
            }
            Some(Reach::Outspoken) => ready_made.union(Self::OWN),
            Some(Reach::ReadyMade) => Self::OWN,
            Some(Reach::Own) => Self::NONE,
            Some(Reach::Control) | None => Self::ALL,
        })
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
