//! The five capabilities of a filesystem rule (spec §2.2) and sets of them.

use core::fmt;

/// One thing a program may do to a path (RFD 076, "Capabilities").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Read a file's contents, list a directory.
    Read = 1,
    /// Create a new entry.
    Create = 2,
    /// Change an existing file: contents, mode, owner, times, attributes.
    Update = 4,
    /// Remove an entry.
    Delete = 8,
    /// Run a file as a program.
    Execute = 16,
}

impl Capability {
    /// All five, in the order in which people see them.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Create, Self::Update, Self::Delete, Self::Execute];

    /// The lower-case name used in policy files and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// The capability of that name, or `None`. `write` is an alias of three and so is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.as_str() == name)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(u8);

impl Capabilities {
    /// No capability.
    pub const NONE: Self = Self(0);
    /// The set of [`Capability::Read`] alone.
    pub const READ: Self = Self(Capability::Read as u8);
    /// The set of [`Capability::Create`] alone.
    pub const CREATE: Self = Self(Capability::Create as u8);
    /// The set of [`Capability::Update`] alone.
    pub const UPDATE: Self = Self(Capability::Update as u8);
    /// The set of [`Capability::Delete`] alone.
    pub const DELETE: Self = Self(Capability::Delete as u8);
    /// The set of [`Capability::Execute`] alone.
    pub const EXECUTE: Self = Self(Capability::Execute as u8);
    /// The meaning of the `write` alias: create, update and delete.
    pub const WRITE: Self = Self::CREATE.union(Self::UPDATE).union(Self::DELETE);
    /// Every capability.
    pub const ALL: Self = Self::READ.union(Self::WRITE).union(Self::EXECUTE);

    /// The set with these bits; bits that name no capability are dropped.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The bits, one per capability, as the image and the event record store them.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether the set has no member.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every member of `other` is a member too.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the two sets share a member.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The members of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members of both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The members that `other` lacks.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The set, with `other` added where `condition` holds.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.union(other) } else { self }
    }

    /// The members, in [`Capability::ALL`]'s order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |&one| self.contains(one.into()))
    }
}

impl From<Capability> for Capabilities {
    fn from(capability: Capability) -> Self {
        Self(capability as u8)
    }
}

/// `read, update`, or `nothing` for the empty set.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (i, capability) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(capability.as_str())?;
        }
        Ok(())
    }
}
