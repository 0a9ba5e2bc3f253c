//! Turns the expression that `globset` makes of a pattern into one over characters. Used by `pattern`.
//!
//! `globset` writes expressions over bytes: its `?` is one byte, and a class is a set of bytes. [`crate::characters`]
//! defines a character: one of valid UTF-8, else one byte.

use std::fmt::Write as _;
use std::format;
use std::string::String;
use std::vec::Vec;

use crate::characters::{CHARACTER, INVALID};

/// The expression of one pattern for the table of all patterns, over [`crate::characters::encoded`] paths. No class of
/// it matches the separator: `[!a]` is one character of a name.
pub(super) fn expression(of_bytes: &str) -> String {
    let mut out = String::new();
    let mut rest = of_bytes;
    while !rest.is_empty() {
        let length = if rest.starts_with('[') { class_length(rest) } else { piece_length(rest) };
        let (piece, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match piece.strip_prefix('[').and_then(|class| class.strip_suffix(']')) {
            // `*` matches any bytes.
            Some("^/") if behind.starts_with('*') => out.push_str("[[^/]&&[^/]]"),
            Some(class) => out.push_str(&one_of(class)),
            None => out.push_str(piece),
        }
        rest = behind;
    }
    out
}

/// The length of the class at the beginning.
fn class_length(rest: &str) -> usize {
    let mut is_escaped = false;
    let end = rest.find(|character| {
        let ends = character == ']' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |end| end + 1)
}

/// The length of the first character, with the backslash that escapes it.
fn piece_length(rest: &str) -> usize {
    let escape = usize::from(rest.starts_with('\\'));
    escape + rest.chars().nth(escape).map_or(0, char::len_utf8)
}

/// One character of a class, which is given without its brackets.
fn one_of(class: &str) -> String {
    let members = of_characters(class);
    match (class.starts_with('^'), members.contains(r"\x{")) {
        (false, false) => format!("[[{members}]&&[^/]]"),
        (false, true) => format!("{CHARACTER}[[{members}]&&[^/]])"),
        (true, _) => format!("(?:{CHARACTER}[[{members}]&&[^/]])|{INVALID})"),
    }
}

/// The members of a class, with bytes joined to characters.
fn of_characters(class: &str) -> String {
    let mut out = String::new();
    let mut rest = class;
    while !rest.is_empty() {
        let (bytes, behind) = leading_bytes(rest);
        for character in String::from_utf8_lossy(&bytes).chars() {
            // Writing to a string cannot fail.
            let _ = write!(out, r"\x{{{:x}}}", u32::from(character));
        }
        let (piece, behind) = behind.split_at_checked(piece_length(behind)).unwrap_or((behind, ""));
        out.push_str(piece);
        rest = behind;
    }
    out
}

/// The bytes at the beginning that are written as `\xff`, and the text after them.
fn leading_bytes(text: &str) -> (Vec<u8>, &str) {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((digits, behind)) =
        rest.strip_prefix(r"\x").and_then(|digits| digits.split_at_checked(2))
    {
        let Ok(byte) = u8::from_str_radix(digits, 16) else { break };
        bytes.push(byte);
        rest = behind;
    }
    (bytes, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_of_characters() {
        let any = r"(?:(?u:[[^/]&&[^/]])|[\xF8-\xFF][\x80-\x8F])";
        assert_eq!(expression("(?-u)^/a[^/]b[^/]*$"), format!("(?-u)^/a{any}b[[^/]&&[^/]]*$"));
        assert_eq!(expression(r"[a\]]\["), r"[[a\]]&&[^/]]\[");
        assert_eq!(expression(r"[\xc3\xa0-\xc3\xbc]"), r"(?u:[[\x{e0}-\x{fc}]&&[^/]])");
        assert_eq!(
            expression(r"[^x\xc3\xa0\xe2\x82\xac]"),
            format!(r"(?:(?u:[[^x\x{{e0}}\x{{20ac}}]&&[^/]])|{INVALID})")
        );
    }
}
