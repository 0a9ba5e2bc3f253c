//! Encodes bytes in JSON: as text where they are UTF-8, otherwise as base64 (spec §14.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// An encoding of bytes as text.
///
/// ```
/// use jp_confine_vfs::content::{Content, Encoding};
///
/// assert_eq!(Content::of(b"\xff".to_vec()).encoding, Some(Encoding::Base64));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Encoding {
    /// RFC 4648 §4, with padding.
    Base64,
}

/// Bytes as the protocol represents them.
///
/// ```no_run
/// use jp_confine_vfs::content::Content;
/// use jp_confine_vfs::method::HttpParams;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let reply = host.http_get(&HttpParams::new("https://example.com/logo.png"))?;
/// let bytes = Content { text: reply.body, encoding: reply.encoding }.into_bytes()?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The text, perhaps encoded.
    pub text: String,
    /// The encoding of `text`; `None` if it is plain.
    pub encoding: Option<Encoding>,
}

impl Content {
    /// Encodes bytes for sending.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, encoding: None },
            Err(error) => {
                let text = STANDARD.encode(error.as_bytes());
                Self { text, encoding: Some(Encoding::Base64) }
            }
        }
    }

    /// Decodes the bytes that were sent.
    ///
    /// # Errors
    /// [`crate::Code::BadParams`] where the text claims to be base64 and is not.
    pub fn into_bytes(self) -> Result<Vec<u8>, Fault> {
        match self.encoding {
            None => Ok(self.text.into_bytes()),
            Some(Encoding::Base64) => STANDARD
                .decode(self.text)
                .map_err(|error| Fault::params(format!("the content is not base64: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // conformance: d11-25, d11-26, d11-48, d11-211
    #[test]
    fn bytes_come_back_as_they_went() {
        for (bytes, encoding) in [
            (b"spring \xc3\xbc\n".as_slice(), None),
            (b"", None),
            (b"\0", None),
            (b"\xff\xfe", Some(Encoding::Base64)),
        ] {
            let content = Content::of(bytes.to_vec());
            assert_eq!(content.encoding, encoding);
            assert_eq!(content.into_bytes().as_deref(), Ok(bytes));
        }
        let wrong = Content { text: "%".to_owned(), encoding: Some(Encoding::Base64) };
        assert!(wrong.into_bytes().is_err());
    }
}
