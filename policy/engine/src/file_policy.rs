//! The tier layer as people write it: `[file_policy]` (spec §9).

use std::borrow::ToOwned as _;
use std::string::String;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::tier::Tier;

/// `[file_policy]` as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FilePolicy {
    /// The tier of paths that no pattern matches. Absent: rules alone decide about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Tier>,
    /// Patterns of paths that nobody may touch.
    #[serde(default)]
    pub deny_paths: Vec<String>,
    /// Patterns of paths that need a prompt.
    #[serde(default)]
    pub prompt_paths: Vec<String>,
    /// Patterns of paths that may be read and executed.
    #[serde(default)]
    pub read_paths: Vec<String>,
    /// Patterns of paths that may also be changed.
    #[serde(default)]
    pub write_paths: Vec<String>,
}

impl FilePolicy {
    /// Whether it is empty. Then there is no tier layer (spec §9.4).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it may grant paths that no rule grants.
    #[must_use]
    pub fn opens(&self) -> bool {
        let by_default = matches!(self.default, Some(Tier::Read | Tier::Write));
        by_default || !self.read_paths.is_empty() || !self.write_paths.is_empty()
    }

    /// The patterns of a tier.
    #[must_use]
    pub fn list(&self, tier: Tier) -> &[String] {
        match tier {
            Tier::Deny => &self.deny_paths,
            Tier::Prompt => &self.prompt_paths,
            Tier::Read => &self.read_paths,
            Tier::Write => &self.write_paths,
        }
    }

    /// The patterns of a tier, for adding to them.
    pub fn list_mut(&mut self, tier: Tier) -> &mut Vec<String> {
        match tier {
            Tier::Deny => &mut self.deny_paths,
            Tier::Prompt => &mut self.prompt_paths,
            Tier::Read => &mut self.read_paths,
            Tier::Write => &mut self.write_paths,
        }
    }

    /// This with `overlay` on top. Fields of `overlay` replace these, except that denials add up (R23).
    #[must_use]
    pub fn overlaid(mut self, overlay: &Self) -> Self {
        self.default = overlay.default.or(self.default);
        for tier in Tier::ALL {
            let list = overlay.list(tier);
            if tier == Tier::Deny {
                self.deny_paths.extend(list.iter().cloned());
            } else if !list.is_empty() {
                list.clone_into(self.list_mut(tier));
            }
        }
        self
    }
}

impl Tier {
    /// The key of its patterns in policy files.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Deny => "deny_paths",
            Self::Prompt => "prompt_paths",
            Self::Read => "read_paths",
            Self::Write => "write_paths",
        }
    }

    /// Its name as a `default`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Prompt => "prompt",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The tier of this name. `read_only` is another name of `read`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "deny" => Some(Self::Deny),
            "prompt" => Some(Self::Prompt),
            "read" | "read_only" => Some(Self::Read),
            "write" => Some(Self::Write),
            _ => None,
        }
    }
}

/// The names that [`Tier::from_name`] knows.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Tier {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tier".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> =
            Self::ALL.iter().map(|tier| tier.name()).chain(["read_only"]).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

impl<'de> Deserialize<'de> for Tier {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let known = &["deny", "prompt", "read", "write"];
        Self::from_name(&name).ok_or_else(|| serde::de::Error::unknown_variant(&name, known))
    }
}
