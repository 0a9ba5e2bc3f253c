//! Reasons for denials: for programs, and in words for the person or model that asked (spec §5.3).

use std::string::{String, ToString as _};
use std::{format, io};

use serde::Serialize;

use crate::canonical::ResolveError;
use crate::capability::{Capabilities, Capability};
use crate::lexical::LexicalError;
use crate::tier::{Restraint, Tier};
use crate::verdict::Denial;

/// Why a request is denied, as programs read it (spec §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The input is absolute.
    AbsoluteInput,
    /// The input leads above the root through `..`.
    InputEscape,
    /// The input leads outside the workspace, and no approved rule covers that.
    Escape,
    /// The input entered an approved external target and left it again.
    NestedEscape,
    /// The deciding rule does not grant the capability.
    Denied,
    /// A tier withholds the capability.
    TierDeny,
    /// A tier prompts for it, and there is no consent.
    TierPromptRefused,
    /// The path is sensitive, no rule names it, and there is no consent.
    SensitiveRefused,
    /// The request would change an auto-run file, which programs outside a run obey.
    AutorunRefused,
    /// The input cannot be resolved.
    ResolutionFailed,
    /// The kernel denied access to a part of the input.
    PermissionDenied,
    /// There is no usable policy.
    PolicyUnavailable,
}

impl Reason {
    /// The reason behind a denial by the evaluator.
    pub(crate) const fn of_denial(denial: &Denial) -> Self {
        match denial.restraint {
            Some(Restraint::Sensitive) if denial.ask => Self::SensitiveRefused,
            Some(Restraint::Autorun) if denial.ask => Self::AutorunRefused,
            // A rule that names the path allows it. There is no prompt.
            Some(Restraint::Sensitive | Restraint::Autorun | Restraint::Below) | None => {
                Self::Denied
            }
            Some(_) if denial.ask => Self::TierPromptRefused,
            Some(_) => Self::TierDeny,
        }
    }
}

impl From<LexicalError> for Reason {
    fn from(error: LexicalError) -> Self {
        match error {
            LexicalError::Absolute => Self::AbsoluteInput,
            LexicalError::Escape => Self::InputEscape,
            LexicalError::Empty | LexicalError::Nul => Self::ResolutionFailed,
        }
    }
}

/// Details of a denial beside its [`Reason`], for its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The input is empty.
    Empty,
    /// There is a NUL byte in the input.
    Nul,
    /// The answer must be UTF-8, and the path is not.
    NotUtf8,
    /// A directory to delete contains an entry that must stay. A rule may say so, or nobody may change it.
    Keeps {
        /// The entry, and who keeps it, if it can be named.
        what: Option<String>,
        /// Nobody may change it.
        is_final: bool,
        /// The directory itself may be deleted.
        is_granted: bool,
    },
    /// No pattern of `file_policy` is about the path, and its `default` withholds it. A pattern of this tier would
    /// allow it.
    ByDefault(Tier),
    /// No rule grants the path, and `file_policy` withholds it as well.
    Withheld {
        /// The pattern, its list, and where it is written.
        what: String,
    },
    /// The path leads outside the workspace, and the target of this rule is not approved.
    Unapproved { rule: String },
    /// The path leads through the symlink of this rule, which leads nowhere.
    Broken { rule: String },
    /// The user denied the path or a directory above it.
    ByUser,
    /// The path is a control file, which no tool may change.
    Control,
    /// The path is an auto-run file: who obeys it, and when.
    Autorun {
        /// In words, as the end of a sentence.
        obeyed: String,
    },
}

impl Detail {
    pub(crate) const fn of_input(error: LexicalError) -> Option<Self> {
        match error {
            LexicalError::Empty => Some(Self::Empty),
            LexicalError::Nul => Some(Self::Nul),
            LexicalError::Absolute | LexicalError::Escape => None,
        }
    }

    /// The `default` of `file_policy` withholds this capability.
    pub(crate) fn by_default(capability: Capability) -> Self {
        let is_change = Capabilities::WRITE.contains(capability.into());
        Self::ByDefault(if is_change { Tier::Write } else { Tier::Read })
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::Empty => "it is empty".to_string(),
            Self::Nul => "there is a NUL byte in it".to_string(),
            Self::NotUtf8 => {
                "it is not UTF-8, and with other letters it would be another path".to_string()
            }
            Self::Keeps { what, is_granted, .. } => {
                let stays = format!("{} must stay in it", what.as_deref().unwrap_or("something"));
                if *is_granted {
                    stays
                } else {
                    format!("the policy does not grant it, and {stays}")
                }
            }
            Self::ByDefault(_) => "the `default` of `file_policy` withholds it".to_string(),
            Self::Withheld { what } => {
                format!("the policy does not grant it, and {what} withholds it as well")
            }
            Self::Unapproved { rule } => {
                format!("it leads outside the workspace, and the target of {rule} is not approved")
            }
            Self::Broken { rule } => format!("the symlink of {rule} leads nowhere"),
            Self::ByUser => "the user denied it".to_string(),
            Self::Control => "nobody may change it".to_string(),
            Self::Autorun { obeyed } => format!("it is an auto-run file: {obeyed}"),
        }
    }

    pub(crate) fn remedy(&self) -> String {
        let fixed = match self {
            Self::ByDefault(tier) => {
                let list = tier.field();
                return format!(
                    "No rule and no flag outweighs it; ask the user for a pattern of `{list}`."
                );
            }
            Self::Empty => "The root of the workspace is written `.`.",
            Self::Nul => "No name has one; check the path.",
            Self::NotUtf8 => "Ask the user to rename what is called so.",
            Self::Keeps { is_final: true, .. } => {
                "No rule and no flag allows that; delete the rest of what is in it."
            }
            Self::Control => "No rule and no flag allows that.",
            Self::Keeps { is_granted: false, .. } => "Ask the user to let both be deleted.",
            Self::Keeps { .. } => {
                "Delete the rest of what is in it, or ask the user to let that be deleted too."
            }
            Self::Withheld { .. } => {
                "No rule and no flag alone allows it; ask the user whether both are meant so."
            }
            Self::Unapproved { .. } => {
                "To allow what that rule grants, ask the user to approve its target."
            }
            Self::Broken { .. } => {
                "Ask the user to create the target of that symlink, or to remove the rule."
            }
            Self::Autorun { .. } => {
                "Ask the user; the flag `--allow-autorun` with this very path allows it in one run, and a rule that \
                 names the path allows it for good."
            }
            Self::ByUser => "No rule outweighs that; ask the user whether it is meant so.",
        };
        fixed.to_string()
    }
}

impl From<ResolveError> for Reason {
    fn from(error: ResolveError) -> Self {
        if error.is_permission() { Self::PermissionDenied } else { Self::ResolutionFailed }
    }
}

#[cfg(target_os = "linux")]
impl Reason {
    /// The reason for an error of the system while a judged path is pinned.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::PermissionDenied,
            _ => Self::ResolutionFailed,
        }
    }
}
