//! Values that went somewhere on a tool's behalf and must not come back to it (spec §14.7).

use std::cmp::Reverse;

use memchr::memmem;

/// What stands where a value stood.
const REDACTED: &[u8] = b"[REDACTED]";

/// The values, the longest first; none of them is empty. Their `Debug` form would be what is kept here.
#[derive(Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Adds a value; an empty one is none.
    pub(super) fn add(&mut self, value: &str) {
        if !value.is_empty() && !self.0.iter().any(|known| known == value.as_bytes()) {
            self.0.push(value.as_bytes().to_owned());
            self.0.sort_by_key(|value| Reverse(value.len()));
        }
    }

    /// `bytes` without the values; encoded forms of them are not known.
    pub(super) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut pieces = vec![Piece::Kept(&bytes[..])];
        for value in &self.0 {
            pieces = pieces.into_iter().flat_map(|piece| piece.without(value)).collect();
        }
        if pieces.len() == 1 {
            return bytes;
        }
        let text = |piece: Piece<'_>| match piece {
            Piece::Kept(bytes) => bytes.to_owned(),
            Piece::Redacted => REDACTED.to_owned(),
        };
        pieces.into_iter().flat_map(text).collect()
    }

    /// The same of text. What was cut apart within a character is replaced.
    pub(super) fn scrub_text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.scrub(text.into_bytes())).into_owned()
    }
}

/// What was found of some bytes.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Kept(&'a [u8]),
    Redacted,
}

impl Piece<'_> {
    fn without(self, value: &[u8]) -> Vec<Self> {
        let Self::Kept(bytes) = self else { return vec![self] };
        let mut pieces = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(bytes, value) {
            pieces.extend([Self::Kept(&bytes[from..at]), Self::Redacted]);
            from = at + value.len();
        }
        pieces.push(Self::Kept(&bytes[from..]));
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn row(values: &[&str], text: &str, expected: &str) {
        let mut secrets = Secrets::default();
        for value in values {
            secrets.add(value);
        }
        assert_eq!(secrets.scrub_text(text.to_owned()), expected);
    }

    #[test]
    fn values_are_replaced_the_longest_first() {
        row(&[], "abc", "abc");
        row(&[""], "abc", "abc");
        row(&["b"], "abc", "a[REDACTED]c");
        row(&["ab", "abc"], "abc ab", "[REDACTED] [REDACTED]");
        row(&["x"], "xx", "[REDACTED][REDACTED]");
        row(&["E", "secret"], "secret E", "[REDACTED] [REDACTED]");
        row(&["abc", "bcdef"], "abcdef", "a[REDACTED]");
    }

    #[test]
    fn bytes_that_are_no_text_are_scrubbed_too() {
        let mut secrets = Secrets::default();
        secrets.add("key");
        assert_eq!(secrets.scrub(b"\xffkey\xff".to_vec()), b"\xff[REDACTED]\xff");
    }
}
