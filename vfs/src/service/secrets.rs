//! Removes secret values from text for tools: values that were used for a tool and must not return to it (spec §14.7).

use std::cmp::Reverse;

use memchr::memmem;

/// Replaces each value.
const REDACTED: &[u8] = b"[REDACTED]";

/// Shortest value that is removed. Shorter ones are words of ordinary output, and removing them would reveal them.
pub const SHORTEST: usize = 8;

/// Words in the names of secret variables.
const WORDS: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"];

/// Whether a variable of this name has a secret value, whatever rules say.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let mut words = name.split(|one: char| !one.is_ascii_alphanumeric());
    words.any(|word| {
        let word = word.trim_end_matches(|one: char| one.is_ascii_digit()).to_ascii_uppercase();
        let word = word.as_str();
        WORDS.contains(&word) || word.strip_suffix('S').is_some_and(|one| WORDS.contains(&one))
    })
}

/// The values, longest first. There is no `Debug`, which would print them.
#[derive(Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Adds a value. Short values are ignored.
    pub(super) fn add(&mut self, value: &str) {
        if value.len() >= SHORTEST && !self.0.iter().any(|known| known == value.as_bytes()) {
            self.0.push(value.as_bytes().to_owned());
            self.0.sort_by_key(|value| Reverse(value.len()));
        }
    }

    /// Removes the values from `bytes` and counts the removals. Encoded forms of a value are not recognized.
    pub(super) fn scrub(&self, bytes: Vec<u8>) -> (Vec<u8>, u64) {
        let mut pieces = vec![Piece::Kept(&bytes[..])];
        for value in &self.0 {
            pieces = pieces.into_iter().flat_map(|piece| piece.without(value)).collect();
        }
        if pieces.len() == 1 {
            return (bytes, 0);
        }
        let count = pieces.iter().filter(|piece| matches!(piece, Piece::Redacted)).count() as u64;
        let text = |piece: Piece<'_>| match piece {
            Piece::Kept(bytes) => bytes.to_owned(),
            Piece::Redacted => REDACTED.to_owned(),
        };
        (pieces.into_iter().flat_map(text).collect(), count)
    }

    /// Like [`Self::scrub`], for text. Characters that a removal cuts apart are replaced.
    pub(super) fn scrub_text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.scrub(text.into_bytes()).0).into_owned()
    }
}

/// A piece of the searched bytes.
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

    // conformance: d11-94
    #[test]
    fn values_are_replaced_the_longest_first() {
        row(&[], "abc", "abc");
        row(&["", "1", "always", "seven77"], "1 always seven77", "1 always seven77");
        row(&["eight888"], "aeight888c", "a[REDACTED]c");
        row(&["12345678", "123456789"], "123456789 12345678", "[REDACTED] [REDACTED]");
        row(&["xxxxxxxx"], "xxxxxxxxxxxxxxxx", "[REDACTED][REDACTED]");
        row(&["[REDACTED", "secret-value"], "secret-value [REDACTED", "[REDACTED] [REDACTED]");
        row(&["abcdefgh", "cdefghijk"], "abcdefghijk", "ab[REDACTED]");
    }

    #[test]
    fn bytes_that_are_no_text_are_scrubbed_too() {
        let mut secrets = Secrets::default();
        secrets.add("key-12345");
        let (bytes, count) = secrets.scrub(b"\xffkey-12345\xffkey-12345".to_vec());
        assert_eq!((&bytes[..], count), (&b"\xff[REDACTED]\xff[REDACTED]"[..], 2));
    }

    #[test]
    fn names_tell_secrets_by_their_words() {
        for name in
            ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "db-password", "Auth", "KEY2", "API_KEYS"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "CARGO_TERM_COLOR",
            "RUST_BACKTRACE",
            "TOKENIZERS_PARALLELISM",
            "KEYBOARD",
            "",
            "AUTHOR",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
