//! Writes the folded forms of characters, for file systems that ignore case. Applies them to a policy, for the image's
//! second form.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::{BuildError, Grant, GrantKind, ImageSpec, intern};
use crate::capability::Capabilities;
use crate::image::Span;
use crate::volume::{self, Fold, Folds};

/// A directory at and below which names that differ in case are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its canonical path.
    pub root: PathBuf,
    /// Whether entries may have other names besides their spellings, such as the short names of FAT and NTFS.
    pub aliased: bool,
}

/// The data of an image's second form besides the folded policy: see [`crate::volume`].
pub(super) struct Ground<'a> {
    /// The policy as written.
    pub(super) exact: &'a ImageSpec<'a>,
    folds: FoldTable,
}

impl Ground<'_> {
    /// The volumes in the form of an image. Their paths go into its `bytes`.
    pub(super) fn volumes(&self, bytes: &mut Vec<u8>) -> Result<Vec<volume::Volume>, BuildError> {
        let volume = |volume: &Volume| {
            let root = intern(bytes, volume.root.as_os_str().as_bytes())?;
            Ok(volume::Volume { root, aliased: u32::from(volume.aliased).into() })
        };
        self.exact.volumes.iter().map(volume).collect()
    }

    /// The folded forms of characters, and their texts.
    pub(super) fn folds(&self) -> (&[Fold], &[u8]) {
        (&self.folds.table, &self.folds.texts)
    }
}

/// The image of the policy with all names folded. Empty if case is ignored nowhere.
pub(super) fn form(exact: &ImageSpec<'_>) -> Result<Vec<u8>, BuildError> {
    if exact.volumes.is_empty() {
        return Ok(Vec::new());
    }
    let ground = Ground { exact, folds: FoldTable::new() };
    let grants = ground.folds.grants(exact);
    let tiers = exact.tiers.map(|tiers| tiers.folded(&ground.folds, exact.volumes));
    let tiers = tiers.transpose().map_err(|_| BuildError::TooIntricate)?;
    let spec = ImageSpec { tiers: tiers.as_ref(), ..ImageSpec::to_ask(&grants, exact.workspace) };
    super::image(&spec, &[], Some(&ground))
}

/// The anchor of rules that concern no volume. No folded name has such letters.
const ELSEWHERE: &str = "/ELSEWHERE";

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
    table: Vec<Fold>,
    texts: Vec<u8>,
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

    /// The grants with their names folded. If names become equal, each grants only what all grant.
    fn grants(&self, exact: &ImageSpec<'_>) -> Vec<Grant> {
        let is_about = |grant: &Grant, volume: &Volume| {
            grant.anchor.starts_with(&volume.root) || volume.root.starts_with(&grant.anchor)
        };
        let folded = |grant: &Grant| {
            let is_about = exact.volumes.iter().any(|volume| is_about(grant, volume));
            if is_about { self.path(&grant.anchor) } else { PathBuf::from(ELSEWHERE) }
        };
        // Of grants on the very same path the last wins.
        let mut winners: HashMap<&Path, &Grant> = HashMap::new();
        let declared = exact.grants.iter().filter(|grant| grant.kind != GrantKind::Control);
        winners.extend(declared.map(|grant| (grant.anchor.as_path(), grant)));
        let mut common: HashMap<PathBuf, (Capabilities, Vec<String>)> = HashMap::new();
        for grant in winners.into_values() {
            let carve_outs = grant.carve_outs.iter().map(|text| self.folded_text(text));
            let all = (Capabilities::ALL, Vec::new());
            let (caps, excluded) = common.entry(folded(grant)).or_insert(all);
            *caps = caps.intersection(grant.caps);
            excluded.extend(carve_outs);
        }
        let fold = |grant: &Grant| {
            let anchor = folded(grant);
            let none = (Capabilities::NONE, Vec::new());
            let (caps, carve_outs) = common.get(&anchor).cloned().unwrap_or(none);
            Grant { anchor, caps, carve_outs, ..grant.clone() }
        };
        exact.grants.iter().map(fold).collect()
    }
}

/// Folds one character until the result no longer changes.
pub(crate) fn folded_character(character: char) -> String {
    let mut text = String::from(character);
    loop {
        let next = step(&text);
        if next == text {
            return text;
        }
        text = next;
    }
}

fn step(text: &str) -> String {
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
