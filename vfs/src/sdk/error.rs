//! The errors of the client.

use std::io;

use crate::fault::{Code, Fault};

/// Why a request got no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The host denied the request or failed, and says why.
    #[error(transparent)]
    Refused(#[from] Fault),
    /// The file is not UTF-8. [`super::Client::read_bytes`] reads it.
    #[error("{0} is not UTF-8")]
    NotText(String),
    /// The host closed the connection.
    #[error("the host is gone")]
    Gone,
    /// The client does not understand the host.
    #[error("not understood: {0}")]
    Protocol(String),
    /// The connection failed.
    #[error("the host cannot be reached: {0}")]
    Io(#[from] io::Error),
}

impl Error {
    /// The code of a fault that the host sent.
    #[must_use]
    pub const fn code(&self) -> Option<Code> {
        match self {
            Self::Refused(fault) => Some(fault.code),
            _ => None,
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}
