//! The one error of the client, and its kinds.

use std::error::Error as StdError;
use std::{fmt, io};

use crate::fault::{Code, Fault};

/// Why a request got no result. It displays as the message for the person or model that called the tool.
///
/// ```
/// use jp_confine_vfs::sdk::{Client, ErrorKind};
///
/// let error = Client::new(std::io::empty(), std::io::sink()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Gone);
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    cause: Box<dyn StdError + Send + Sync>,
}

/// What kind of [`Error`] it is, for programs.
///
/// ```no_run
/// use jp_confine_vfs::sdk::{self, ErrorKind};
///
/// let mut host = sdk::connect()?;
/// let notes = match host.read("notes") {
///     Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
///     read => read?,
/// };
/// # Ok::<(), sdk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The policy does not allow it, and no person did.
    Denied,
    /// There is no such file.
    NotFound,
    /// Something is there already.
    Exists,
    /// The parameters do not fit the method or the file that they name. A path is not UTF-8.
    BadParams,
    /// The host does not have the method, or does not offer it.
    UnknownMethod,
    /// Something exceeds a limit.
    TooLarge,
    /// It took too long.
    Timeout,
    /// The user cancelled the call.
    Cancelled,
    /// The host failed.
    Internal,
    /// The host answered with an error of a later protocol.
    Other,
    /// The file is not UTF-8. [`super::Client::read_bytes`] reads it.
    NotText,
    /// The host closed the connection.
    Gone,
    /// Client and host do not understand each other.
    Protocol,
    /// The connection failed.
    Io,
}

impl Error {
    pub(super) fn new(kind: ErrorKind, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
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
        match self.kind {
            ErrorKind::Protocol => write!(f, "not understood: {}", self.cause),
            ErrorKind::Io => write!(f, "the host cannot be reached: {}", self.cause),
            _ => self.cause.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let kind = match fault.code {
            Code::Malformed => ErrorKind::Protocol,
            Code::UnknownMethod => ErrorKind::UnknownMethod,
            Code::BadParams => ErrorKind::BadParams,
            Code::Internal => ErrorKind::Internal,
            Code::Denied => ErrorKind::Denied,
            Code::NotFound => ErrorKind::NotFound,
            Code::Exists => ErrorKind::Exists,
            Code::Timeout => ErrorKind::Timeout,
            Code::Cancelled => ErrorKind::Cancelled,
            Code::TooLarge => ErrorKind::TooLarge,
            Code::Other(_) => ErrorKind::Other,
        };
        Self::new(kind, fault)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::Io, error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new(ErrorKind::Protocol, error)
    }
}
