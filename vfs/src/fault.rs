//! Errors that answer a request (spec §14.4). `service` writes them, and `sdk` makes its own error of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a failure. On the wire it is a number.
///
/// ```
/// use jp_confine_vfs::Code;
///
/// assert_eq!(Code::from(-32001), Code::Denied);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "i32", into = "i32")]
#[non_exhaustive]
pub enum Code {
    /// The line is not a request.
    Malformed,
    /// The method does not exist.
    UnknownMethod,
    /// The parameters do not fit the method, or do not fit the file that they name.
    BadParams,
    /// The host failed.
    Internal,
    /// The policy does not allow it, and no person did.
    Denied,
    /// There is no such file.
    NotFound,
    /// Something is there already.
    Exists,
    /// It took too long.
    Timeout,
    /// The tool cancelled the request, or the user cancelled the call.
    Cancelled,
    /// Something exceeds a limit.
    TooLarge,
    /// A code of a later protocol.
    Other(i32),
}

const NUMBERS: [(Code, i32); 10] = [
    (Code::Malformed, -32600),
    (Code::UnknownMethod, -32601),
    (Code::BadParams, -32602),
    (Code::Internal, -32603),
    (Code::Denied, -32001),
    (Code::NotFound, -32002),
    (Code::Exists, -32003),
    (Code::Timeout, -32004),
    (Code::Cancelled, -32005),
    (Code::TooLarge, -32006),
];

impl From<i32> for Code {
    fn from(number: i32) -> Self {
        let known = NUMBERS.iter().find(|(_, known)| *known == number);
        known.map_or(Self::Other(number), |(code, _)| *code)
    }
}

impl From<Code> for i32 {
    fn from(code: Code) -> Self {
        match code {
            Code::Other(number) => number,
            // The table has every other code.
            _ => NUMBERS.iter().find(|(known, _)| *known == code).map_or(-32603, |(_, n)| *n),
        }
    }
}

/// A failure as the tool receives it.
///
/// ```
/// use jp_confine_vfs::Fault;
/// use jp_confine_vfs::sdk::{Error, ErrorKind};
///
/// let error = Error::from(Fault::denied("cannot read notes"));
/// assert_eq!(error.kind(), ErrorKind::Denied);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Fault {
    /// The kind.
    pub code: Code,
    /// The description: the failed operation, its object and how to allow it. Written for people and models.
    pub message: String,
}

impl Fault {
    /// A failure of the given kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// [`Code::BadParams`].
    pub fn params(message: impl fmt::Display) -> Self {
        Self::new(Code::BadParams, message.to_string())
    }

    /// [`Code::Denied`].
    pub fn denied(message: impl fmt::Display) -> Self {
        Self::new(Code::Denied, message.to_string())
    }

    /// [`Code::Cancelled`].
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(Code::Cancelled, "the request was abandoned")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // conformance: d11-166
    #[test]
    fn codes_and_numbers_stand_for_each_other() {
        for (code, number) in NUMBERS {
            assert_eq!((Code::from(number), i32::from(code)), (code, number));
        }
        assert_eq!(i32::from(Code::from(-32099)), -32099);
    }
}
