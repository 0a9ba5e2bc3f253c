//! Writes a pattern for folded names ([`crate::volume`]). Used by `pattern`.
//!
//! It matches every name that has a spelling which the original matches. The folded form of one character may be
//! several characters.

use std::borrow::ToOwned as _;
use std::collections::BTreeSet;
use std::format;
use std::string::String;
use std::sync::OnceLock;
use std::vec::Vec;

use super::{Pattern, PatternError, escaped, pieces, valid, within_brackets};
use crate::fold_table::FoldTable;

/// One character, folded. Some become several letters.
const ANY: &str = "{?,ss,f{i,l,f,fi,fl},st,ʼn,aʾ,[ա-ֆ][ա-ֆ],[α-ω]ι,[ᄀ-ᄒ][ᅡ-ᅵ],[ᄀ-ᄒ][ᅡ-ᅵ][ᆨ-ᇂ]}";
/// The largest class that is folded member by member. A larger one counts as any character.
const LARGEST: usize = 512;

impl Pattern {
    /// This pattern, for folded names.
    pub(crate) fn folded(&self, folds: &FoldTable) -> Result<Self, PatternError> {
        let globs = self.globs.iter().map(|one| {
            let folded = folded(one, folds);
            valid(&folded).map(|()| folded)
        });
        Ok(Self {
            text: self.text.clone(),
            place: self.place.clone(),
            globs: globs.collect::<Result<_, _>>()?,
            links: Vec::new(),
            matchers: OnceLock::new(),
        })
    }
}

/// The pattern `text` for folded names.
fn folded(text: &str, folds: &FoldTable) -> String {
    let piece = |piece: &str| match (piece, within_brackets(piece)) {
        ("?", _) => ANY.to_owned(),
        (_, Some(class)) => one_of(class, folds).unwrap_or_else(|| ANY.to_owned()),
        _ => folds.folded_text(piece),
    };
    pieces(text).map(piece).collect()
}

/// The folded members of a class, or `None` if it counts as any character. A character that is not in it may be equal
/// to one that is.
fn one_of(class: &str, folds: &FoldTable) -> Option<String> {
    if class.len() > 1 && class.starts_with(['!', '^']) {
        return None;
    }
    let mut members = BTreeSet::new();
    let mut rest = class.chars();
    while let Some(first) = rest.next() {
        let mut ahead = rest.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) => {
                rest = ahead;
                last
            }
            _ => first,
        };
        for character in (first..=last).take(LARGEST) {
            let text = folds.folded_text(character.encode_utf8(&mut [0; 4]));
            if text.is_empty() {
                return None;
            }
            // Within braces a comma would end it.
            members.insert(escaped(&text).replace(',', "[,]"));
        }
        if members.len() >= LARGEST || (first..=last).count() > LARGEST {
            return None;
        }
    }
    let alternatives: Vec<String> = members.into_iter().collect();
    match alternatives.as_slice() {
        [one] => Some(one.clone()),
        all => Some(format!("{{{}}}", all.join(","))),
    }
}
