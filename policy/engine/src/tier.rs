//! Tiers: patterns by which an operator limits or grants paths, whatever rules say (spec §9), and the list of sensitive
//! paths (spec §10).

use crate::capability::Capabilities;
use crate::layout::Rule;

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
pub(crate) const READING: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);

/// Capabilities that a person can grant where no rule reaches. Execution is not among them: the kernel starts programs
/// for any process within Landlock's bounds, which no consent widens.
pub(crate) const ASKABLE: Capabilities = Capabilities::ALL.difference(Capabilities::EXECUTE);

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

    pub(crate) const fn of_tier(tier: Tier) -> Option<Self> {
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
