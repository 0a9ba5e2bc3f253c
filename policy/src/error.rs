//! The one error of this crate, and its kinds.

use std::error::Error as StdError;
use std::fmt;

use jp_confine_engine::check::{FsAccessError, Reason};
use jp_confine_engine::workspace::OpenError;

/// Why there is no workspace, or why a path may not be used. It displays as the message for the person or model that
/// asked.
///
/// ```
/// use jp_confine_policy::{ErrorKind, Policy};
///
/// let error = Policy::from_json(r#"{"access": 1}"#).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Policy);
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    cause: Box<dyn StdError + Send + Sync>,
}

/// What kind of [`Error`] it is, for programs.
///
/// ```
/// use jp_confine_policy::{ErrorKind, Policy, Workspace};
///
/// let error = Workspace::open("/no/such/directory", &Policy::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Workspace);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The root of the workspace is no directory that can be used.
    Workspace,
    /// The policy is invalid. Nothing is allowed.
    Policy,
    /// The path is outside the workspace, or leads there.
    Outside,
    /// The policy does not grant the capability.
    Denied,
    /// The policy grants it if a person consents.
    NeedsConsent,
    /// The path cannot be resolved or pinned.
    Unresolved,
    /// The system itself denies access to a part of the path.
    System,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind, cause: cause.into() }
    }

    /// What kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let is_root = matches!(error, OpenError::Root(_));
        Self::new(if is_root { ErrorKind::Workspace } else { ErrorKind::Policy }, error)
    }
}

impl From<FsAccessError> for Error {
    fn from(error: FsAccessError) -> Self {
        let kind = error.result().reason.map_or(ErrorKind::Denied, |reason| match reason {
            Reason::AbsoluteInput | Reason::InputEscape | Reason::Escape | Reason::NestedEscape => {
                ErrorKind::Outside
            }
            Reason::Denied | Reason::TierDeny => ErrorKind::Denied,
            Reason::TierPromptRefused | Reason::SensitiveRefused | Reason::AutorunRefused => {
                ErrorKind::NeedsConsent
            }
            Reason::ResolutionFailed => ErrorKind::Unresolved,
            Reason::PermissionDenied => ErrorKind::System,
            Reason::PolicyUnavailable => ErrorKind::Policy,
        });
        Self::new(kind, error)
    }
}
