//! The answers of an authorizer, and the words of denials.

use std::boxed::Box;
use std::format;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};

use serde::{Serialize, Serializer};

use crate::check::{CheckResult, Reason};
use crate::pin::Pin;

/// Why a path is not authorised, as programs read it (spec §15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// It is in no workspace folder.
    OutsideWorkspace,
    /// It is spelled as if in a workspace folder, and leads elsewhere.
    SymlinkEscapesWorkspace,
    /// It cannot be resolved.
    RealpathFailed,
    /// The system denies access to a part of it, or the policy does not grant the operation.
    PermissionDenied,
}

impl From<Reason> for RefusalReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::AbsoluteInput | Reason::InputEscape => Self::OutsideWorkspace,
            Reason::Escape | Reason::NestedEscape => Self::SymlinkEscapesWorkspace,
            Reason::ResolutionFailed => Self::RealpathFailed,
            Reason::Denied
            | Reason::TierDeny
            | Reason::TierPromptRefused
            | Reason::SensitiveRefused
            | Reason::AutorunRefused
            | Reason::PermissionDenied
            | Reason::PolicyUnavailable => Self::PermissionDenied,
        }
    }
}

/// A denial. It displays as its message, and serialises as `{ok: false, reason, message}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    reason: RefusalReason,
    message: String,
}

impl Refusal {
    /// The reason.
    #[must_use]
    pub const fn reason(&self) -> RefusalReason {
        self.reason
    }

    /// The message for the person or model that asked. It begins with the tool's name, and never reveals the target of
    /// a symlink.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let (reason, message) = (self.reason, self.message.as_str());
        WrittenRefusal { ok: false, reason, message }.serialize(out)
    }
}

/// A denial as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WrittenRefusal<'a> {
    /// `false`.
    ok: bool,
    /// Why the path is not authorised.
    reason: RefusalReason,
    /// The same in words, for the person or model that asked. It begins with the tool's name.
    message: &'a str,
}

/// An authorised path as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WrittenPath<'a> {
    /// `true`.
    ok: bool,
    /// The canonical and absolute target of the path.
    resolved_path: &'a Path,
}

/// An authorised path. It serialises as `{ok: true, resolved_path}`.
#[derive(Debug)]
pub struct Authorized {
    pub(super) pin: Pin,
    pub(super) requested: PathBuf,
}

impl Authorized {
    /// The canonical and absolute target of the path, byte for byte as on disk.
    #[must_use]
    pub fn resolved_path(&self) -> &Path {
        self.pin.path()
    }

    /// The same, if the path is UTF-8, as JSON demands.
    ///
    /// # Errors
    /// A [`Refusal`] for the tool named `source` if the path is not UTF-8, because with replaced letters it would be
    /// another path.
    pub fn in_utf8(self, source: &str) -> Result<Self, Refusal> {
        if self.resolved_path().to_str().is_some() {
            return Ok(self);
        }
        let no = No::Words(Reason::ResolutionFailed, NOT_UTF8);
        Err(no.told(&self.requested, source))
    }

    /// The pin. Use it instead of the path, which may lead elsewhere by now.
    #[must_use]
    pub const fn pin(&self) -> &Pin {
        &self.pin
    }

    /// The pin, to keep.
    #[must_use]
    pub fn into_pin(self) -> Pin {
        self.pin
    }
}

/// Fails for a path that is not UTF-8, which the wire cannot carry.
impl Serialize for Authorized {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        WrittenPath { ok: true, resolved_path: self.resolved_path() }.serialize(out)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Refusal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Refusal".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenRefusal::json_schema(generator)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Authorized {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Authorized".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenPath::json_schema(generator)
    }
}

const NOT_UTF8: &str = "it, or what it leads to, is not UTF-8, and with other letters it would be another path. Ask \
                        the user to rename what is called so.";
pub(super) const EMPTY: &str = "it is empty. Use an absolute path.";
pub(super) const UNRESOLVED: &str = "the workspace folder that it is in cannot be resolved. Use a path in another, \
                                     or ask the user whether that folder is there.";

/// The reason for a denial, before it is put into words.
pub(super) enum No {
    Because(Reason),
    /// A reason with its own words.
    Words(Reason, &'static str),
    Denied(Box<CheckResult>),
}

impl No {
    /// The denial for the tool `source`. For a path that leads out, it contains the spelling and nothing else.
    pub(super) fn told(self, requested: &Path, source: &str) -> Refusal {
        let path = match requested.display() {
            _ if requested.as_os_str().is_empty() => "the path".to_string(),
            path => path.to_string(),
        };
        let (reason, what) = match self {
            Self::Denied(result) => (result.reason.unwrap_or(Reason::Denied), result.message()),
            Self::Because(reason) => (reason, format!("cannot use {path}: {}", why(reason))),
            Self::Words(reason, words) => (reason, format!("cannot use {path}: {words}")),
        };
        Refusal { reason: reason.into(), message: format!("{source}: {what}") }
    }
}

const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::AbsoluteInput | Reason::InputEscape => {
            "it is outside the workspace. Use a path in one of its folders."
        }
        Reason::Escape | Reason::NestedEscape => {
            "a symbolic link leads it out of the workspace. Use a path in one of its folders, or \
             ask the user for an approved rule on the link with `external = true`."
        }
        Reason::ResolutionFailed => {
            "it cannot be said where it leads. Use an absolute path, and check the links on it."
        }
        Reason::PermissionDenied => {
            "the system does not let a part of it be looked at. Ask the user for access."
        }
        Reason::Denied
        | Reason::TierDeny
        | Reason::TierPromptRefused
        | Reason::SensitiveRefused
        | Reason::AutorunRefused
        | Reason::PolicyUnavailable => "the policy does not grant it.",
    }
}
