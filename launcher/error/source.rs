//! Holds the text of a configuration file. Used by `diagnostic`, which points into it.

use std::ops::Range;
use std::sync::Arc;

/// The text of a configuration file and the name it is shown under.
#[derive(Debug)]
pub(crate) struct Source {
    /// Name of the file in messages: the path as it was given or found.
    pub(crate) name: Arc<str>,
    /// The whole text.
    pub(crate) text: String,
}

impl Source {
    /// A text and the name it is shown under.
    pub(crate) fn new(name: &str, text: String) -> Self {
        Self { name: name.into(), text }
    }

    /// Number of lines that end in a part of the text.
    #[expect(clippy::naive_bytecount, reason = "quick enough without a crate for it")]
    pub(crate) fn breaks(&self, part: Range<usize>) -> usize {
        let bytes = self.text.as_bytes().get(part).unwrap_or_default();
        bytes.iter().filter(|&&byte| byte == b'\n').count()
    }
}
