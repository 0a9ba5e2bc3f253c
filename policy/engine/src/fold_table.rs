//! The folded forms of characters, for file systems that ignore case, as an image has them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use crate::layout::Span;
use crate::volume::{Fold, Folds};

/// A directory at and below which names that differ in case are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its canonical path.
    pub root: PathBuf,
    /// Whether entries may have other names besides their spellings, such as the short names of FAT and NTFS.
    pub aliased: bool,
}

/// The ranges that contain all characters that change.
const BLOCKS: [core::ops::RangeInclusive<u32>; 3] =
    [0x80..=0x1_FFFF, 0x2_F800..=0x2_FA1F, 0xE_0000..=0xE_0FFF];

/// Characters that file systems may ignore: `Default_Ignorable_Code_Point`.
const IGNORED: [(u32, u32); 17] = [
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1_BCA0, 0x1_BCA3),
    (0x1_D173, 0x1_D17A),
    (0xE_0000, 0xE_0FFF),
];

/// A mark that becomes a letter.
const IOTA_BELOW: char = '\u{345}';

/// The folded forms of all characters, in the form of an image.
#[derive(Debug)]
pub(crate) struct FoldTable {
    pub(crate) table: Vec<Fold>,
    pub(crate) texts: Vec<u8>,
}

impl FoldTable {
    pub(crate) fn new() -> Self {
        let mut folds = Self { table: Vec::new(), texts: Vec::new() };
        for character in BLOCKS.into_iter().flatten().filter_map(char::from_u32) {
            // The evaluator decomposes syllables itself.
            if ('\u{ac00}'..='\u{d7a3}').contains(&character) {
                continue;
            }
            let becomes = folded_character(character);
            if becomes.chars().ne([character]) {
                folds.push(character, &becomes);
            }
        }
        folds
    }

    fn push(&mut self, character: char, becomes: &str) {
        let code = u32::from(character);
        if let Some(last) = self.table.last_mut()
            && becomes.is_empty()
            && last.becomes.count.get() == 0
            && last.last.get() + 1 == code
        {
            last.last = code.into();
            return;
        }
        // Both numbers are small.
        let size = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).into();
        let span = Span { offset: size(self.texts.len()), count: size(becomes.len()) };
        self.texts.extend_from_slice(becomes.as_bytes());
        self.table.push(Fold { first: code.into(), last: code.into(), becomes: span });
    }

    pub(crate) fn folds(&self) -> Folds<'_> {
        Folds { table: &self.table, texts: &self.texts }
    }

    /// The common form of a name, or a whole path, and all that are equal to it.
    pub(crate) fn folded(&self, name: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(name.len());
        self.folds().each(name, |byte| {
            out.push(byte);
            Some(())
        });
        out
    }

    /// As [`Self::folded`], for text.
    pub(crate) fn folded_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.folded(text.as_bytes())).into_owned()
    }

    /// As [`Self::folded`], for a path.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        OsString::from_vec(self.folded(path.as_os_str().as_bytes())).into()
    }
}

/// Folds one character until the result no longer changes.
fn folded_character(character: char) -> String {
    let mut text = String::from(character);
    loop {
        let next = step(&text);
        if next == text {
            return text;
        }
        text = next;
    }
}

pub(crate) fn step(text: &str) -> String {
    let mut apart = String::new();
    text.chars().for_each(|character| decompose_canonical(character, |part| apart.push(part)));
    let is_left = |&character: &char| {
        let is_mark = canonical_combining_class(character) != 0 && character != IOTA_BELOW;
        !is_mark && !is_ignored(character)
    };
    let upper = apart.chars().filter(is_left).flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

fn is_ignored(character: char) -> bool {
    let code = u32::from(character);
    IGNORED.iter().any(|&(first, last)| (first..=last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_file_system_takes_for_equal_become_equal() {
        let table = FoldTable::new();
        for names in [
            &["secret", "SECRET", "Secret", "ſecret", "se\u{200c}cret"][..],
            &["jp-confine.toml", "JP-CONFINE.TOML", "jp-conﬁne.toml", "jp-confine.toM\u{feff}L"],
            &["é", "É", "e\u{301}", "E\u{301}"],
            &["straße", "STRASSE", "STRAẞE", "strasse"],
            &["\u{212a}ey", "key", "KEY"],
            &["ᾳ", "ᾼ", "α\u{345}", "αι", "ΑΙ"],
            &["σς", "ΣΣ"],
            &["ǆ", "ǅ", "Ǆ"],
            &["가", "\u{1100}\u{1161}"],
            &["각", "\u{1100}\u{1161}\u{11a8}"],
            &["İ", "i\u{307}"],
            &["ŉ", "ʼn", "ʼN"],
            &["ა", "Ა"],
        ] {
            let folded: Vec<String> = names.iter().map(|name| table.folded_text(name)).collect();
            assert!(folded.windows(2).all(|two| two[0] == two[1]), "{names:?}: {folded:?}");
        }
        for (one, other) in [("a", "b"), ("가", "나"), ("и", "к"), ("ß", "s"), ("日", "本")]
        {
            assert_ne!(table.folded_text(one), table.folded_text(other));
        }
        assert_eq!(table.folded(b"A\xffB\xc3"), b"a\xffb\xc3");
    }

    /// In any version and kind of case folding.
    #[test]
    fn case_makes_no_difference() {
        let table = FoldTable::new();
        for character in ('\0'..=char::MAX).filter(|character| character.is_alphabetic()) {
            let [own, upper, lower] = [
                String::from(character),
                character.to_uppercase().collect(),
                character.to_lowercase().collect(),
            ]
            .map(|text| table.folded_text(&text));
            assert_eq!([&upper, &lower], [&own, &own], "{character}");
            assert_eq!(table.folded_text(&own), own, "{character}");
        }
    }
}
