//! Defines one character of a path: one of valid UTF-8, else one byte (spec §9.1). Used by patterns.
//!
//! Expressions match *encoded* paths. There, a byte of no valid character becomes a pair that no character has. The
//! pair is a byte from 0xF8 to 0xFF, and one like those that continue a character. So an expression for one character
//! never begins within another. The table of patterns matches plain paths, and [`Decoder`] finds the characters in
//! their bytes.

use std::borrow::Cow;
use std::vec::Vec;

/// The expression of a byte that belongs to no valid character, encoded.
pub(crate) const INVALID: &str = r"[\xF8-\xFF][\x80-\x8F]";

/// Begins the expression of a character of valid UTF-8.
pub(crate) const CHARACTER: &str = "(?u:";

/// The path in the encoding that expressions match.
pub(crate) fn encoded(path: &[u8]) -> Cow<'_, [u8]> {
    if core::str::from_utf8(path).is_ok() {
        return Cow::Borrowed(path);
    }
    let mut out = Vec::with_capacity(path.len() * 2);
    for chunk in path.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        out.extend(chunk.invalid().iter().flat_map(|&byte| encoded_byte(byte)));
    }
    Cow::Owned(out)
}

/// A byte of no valid character, encoded.
pub(crate) const fn encoded_byte(byte: u8) -> [u8; 2] {
    [0xF8 | byte >> 4 & 7, 0x80 | byte & 0xF]
}

/// The bytes that may continue a character that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decoder {
    /// How many are missing.
    missing: u8,
    /// The least and the greatest next byte.
    next: (u8, u8),
}

impl Decoder {
    const ANY: (u8, u8) = (0x80, 0xBF);

    /// The decoder after a byte that begins a character of several bytes. `None` after any other.
    pub(crate) const fn begin(byte: u8) -> Option<Self> {
        let (missing, next) = match byte {
            0xC2..=0xDF => (1, Self::ANY),
            0xE0 => (2, (0xA0, 0xBF)),
            // Surrogates are not characters.
            0xED => (2, (0x80, 0x9F)),
            0xE1..=0xEF => (2, Self::ANY),
            0xF0 => (3, (0x90, 0xBF)),
            0xF1..=0xF3 => (3, Self::ANY),
            0xF4 => (3, (0x80, 0x8F)),
            _ => return None,
        };
        Some(Self { missing, next })
    }

    /// Whether the character goes on with this byte.
    pub(crate) const fn accepts(self, byte: u8) -> bool {
        self.next.0 <= byte && byte <= self.next.1
    }

    /// The decoder after a byte that it accepts. `None` if that byte ends the character.
    pub(crate) const fn advance(self) -> Option<Self> {
        if self.missing == 1 {
            return None;
        }
        Some(Self { missing: self.missing - 1, next: Self::ANY })
    }

    /// The class of a byte. No decoder tells bytes of one class apart.
    pub(crate) const fn kind(byte: u8) -> u8 {
        match byte {
            0x00..=0x7F => 0,
            0x80..=0x8F => 1,
            0x90..=0x9F => 2,
            0xA0..=0xBF => 3,
            0xC2..=0xDF => 4,
            0xE0 | 0xED | 0xF0 | 0xF4 => byte,
            0xE1..=0xEF => 5,
            0xF1..=0xF3 => 6,
            _ => 7,
        }
    }
}
