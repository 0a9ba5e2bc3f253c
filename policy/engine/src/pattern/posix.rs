//! Writes a pattern as POSIX extended regular expressions of whole paths. Used by [`crate::sbpl`].
//!
//! Nobody documents whether the sandbox of macOS matches characters or bytes. So an expression that grants counts only
//! printable ASCII as a character, and one that withholds counts up to four other bytes as one. Either is right for both.

use std::borrow::ToOwned as _;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::{Pattern, class_length, directory_of, is_escaped, named, within_brackets};

/// One character, as far as a grant goes.
const LEAST: &str = "[ -.0-~]";

/// One character that is not printable ASCII, as far as a denial goes.
const OTHER: &str = "[^ -~/][^ -~/]?[^ -~/]?[^ -~/]?";

/// What an expression matches, compared with the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Nothing else. For grants.
    AtMost,
    /// At least the same. For denials.
    AtLeast,
}

impl Pattern {
    /// Expressions that together match the canonical paths that the pattern matches.
    pub(crate) fn posix(&self, extent: Extent) -> impl Iterator<Item = String> {
        self.globs.iter().map(move |glob| of_glob(glob, extent))
    }
}

fn of_glob(glob: &str, extent: Extent) -> String {
    if let Some(directory) = directory_of(glob).and_then(named) {
        return format!("^{}/", literal(&directory));
    }
    let mut rest = glob;
    let mut out = "^".to_owned();
    if let Some(behind) = rest.strip_prefix("**/") {
        // A first name that may be empty also stands for the one before the root's slash.
        let may_be_empty = behind.starts_with(['*', '{']);
        out.push_str(if may_be_empty { "((/[^/]+)*/)?" } else { "(/[^/]+)*/" });
        rest = behind;
    }
    out.push_str(&sequence(&mut rest, false, extent));
    out + "$"
}

/// The expression of everything up to the end. `in_braces`, a comma or brace ends it, too.
fn sequence(rest: &mut &str, in_braces: bool, extent: Extent) -> String {
    let mut out = String::new();
    let goes_on = |first: &char| !(in_braces && matches!(first, ',' | '}'));
    while let Some(first) = rest.chars().next().filter(goes_on) {
        if let Some(behind) = rest.strip_prefix("/**") {
            out.push_str(if behind.starts_with('/') { "(/[^/]+)*" } else { "(/[^/]+)+" });
            *rest = behind;
            continue;
        }
        let length = class_length(rest).unwrap_or(first.len_utf8());
        let (piece, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        *rest = behind;
        out.push_str(&match (first, within_brackets(piece)) {
            (_, Some(class)) if is_escaped(piece) => literal(class),
            (_, Some(class)) => {
                let others = class.strip_prefix(['!', '^']);
                one_of(others.unwrap_or(class), others.is_some(), extent)
            }
            ('*', _) => "[^/]*".to_owned(),
            ('?', _) => one_of("", true, extent),
            ('{', _) => alternatives(rest, extent),
            _ => literal(piece),
        });
    }
    out
}

/// The expression of alternatives in braces, of which the first is open. A comma outside of braces is a character.
fn alternatives(rest: &mut &str, extent: Extent) -> String {
    let mut all = Vec::new();
    loop {
        all.push(sequence(rest, true, extent));
        let ends = !rest.starts_with(',');
        *rest = rest.get(1..).unwrap_or_default();
        if ends {
            break;
        }
    }
    let optional = if all.iter().any(String::is_empty) { "?" } else { "" };
    all.retain(|one| !one.is_empty());
    if all.is_empty() { String::new() } else { format!("({}){optional}", all.join("|")) }
}

/// One character: of these members and ranges, or none of them.
fn one_of(members: &str, negated: bool, extent: Extent) -> String {
    let ranges = ranges(members);
    let has = |byte: u8| ranges.iter().any(|range| range.contains(&char::from(byte)));
    let printable: Vec<u8> =
        (b' '..=b'~').filter(|byte| *byte != b'/' && has(*byte) != negated).collect();
    let has_others =
        negated || ranges.iter().any(|range| *range.end() > '~' || *range.start() < ' ');
    let set = if members.is_empty() { LEAST.to_owned() } else { set(&printable) };
    match (extent, has_others) {
        (Extent::AtLeast, true) if printable.is_empty() => format!("({OTHER})"),
        (Extent::AtLeast, true) => format!("({set}|{OTHER})"),
        _ => set,
    }
}

/// The members of a class, each as a range.
fn ranges(members: &str) -> Vec<core::ops::RangeInclusive<char>> {
    let mut out = Vec::new();
    let members: Vec<char> = members.chars().collect();
    let mut rest = members.as_slice();
    loop {
        rest = match rest {
            [first, '-', last, behind @ ..] => {
                out.push(*first..=*last);
                behind
            }
            [one, behind @ ..] => {
                out.push(*one..=*one);
                behind
            }
            [] => return out,
        };
    }
}

/// One of these characters. Those with a meaning in brackets stand beside them. Without any, nothing in a path.
fn set(characters: &[u8]) -> String {
    let is_special = |byte: &&u8| b"[]^-\\".contains(byte);
    let mut parts: Vec<String> = Vec::new();
    let plain: String =
        characters.iter().filter(|byte| !is_special(byte)).map(|byte| char::from(*byte)).collect();
    if !plain.is_empty() {
        parts.push(format!("[{plain}]"));
    }
    let special = characters.iter().filter(is_special);
    parts.extend(special.map(|byte| literal(char::from(*byte).encode_utf8(&mut [0; 4]))));
    if parts.is_empty() { "//".to_owned() } else { format!("({})", parts.join("|")) }
}

/// The expression of a text.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if r".[]{}()*+?^$|\".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
