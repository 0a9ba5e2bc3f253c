//! Handles file systems on which names that differ in case are equal: the paths on them, and the folded form that equal
//! names share. Used by `image`, `walk` and `automaton`.
//!
//! The folding is at least as coarse as that of any file system we know. It joins letters that differ in case, by
//! simple or full folding of any version of Unicode, or in their composition. It drops combining marks and characters
//! without a width. It only decides about denials, so joining too much denies too much.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::components::{Components, leads_to};
use crate::layout::{self, Header, ImageError, Span};

/// A directory at and below which names that differ in case are equal.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct ImageVolume {
    /// Its canonical path: a span of `bytes`.
    pub(crate) root: Span,
    /// Whether entries may have other names besides their spellings, such as the short names of FAT and NTFS.
    pub(crate) aliased: U32,
}

/// How a path is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Comparison {
    /// By its bytes.
    Exact,
    /// Also by its folded form.
    Folded,
    /// The names that it equals are unknown.
    Unknown,
}

impl ImageVolume {
    /// How `path` is compared, if it is on the volume whose root is `root`.
    pub(crate) fn compares(&self, root: &[u8], path: &[u8]) -> Comparison {
        let is_below = leads_to(root, path) || root == b"/";
        match path.get(root.len()..).filter(|_| is_below) {
            None => Comparison::Exact,
            Some(rest) if self.aliased.get() != 0 => {
                let mut names = Components::of(rest);
                if names.any(|component| may_be_alias(component.name)) {
                    Comparison::Unknown
                } else {
                    Comparison::Folded
                }
            }
            Some(_) => Comparison::Folded,
        }
    }
}

/// Whether the name may be another name of an entry: a short name such as `SECRET~1.TXT`, or a stream such as
/// `f:stream`. Also a name from which the file system removes dots or spaces, or that it reads in a code page.
fn may_be_alias(name: &[u8]) -> bool {
    matches!(name.last(), Some(b'.' | b' '))
        || name.contains(&b':')
        || core::str::from_utf8(name).is_err()
        || is_short(name)
}

/// Whether it has the form of a short name that stands for a longer one. That is up to eight characters with a `~`
/// among them, and up to three after a dot.
fn is_short(name: &[u8]) -> bool {
    let dot = name.iter().position(|&byte| byte == b'.');
    let (stem, extension) = name.split_at_checked(dot.unwrap_or(name.len())).unwrap_or((name, &[]));
    let tilde = stem.iter().position(|&byte| byte == b'~');
    stem.len() <= 8
        && extension.len() <= 4
        && !extension.get(1..).unwrap_or(&[]).contains(&b'.')
        && tilde.is_some_and(|at| at != 0 && at < stem.len().wrapping_sub(1))
}

/// How the names of an image are compared with those of a path: by their bytes, or by their folded forms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'i>(Option<&'i Folds<'i>>);

impl<'i> Names<'i> {
    /// Compares by `folds`, or by bytes if it is `None`.
    pub(crate) const fn by(folds: Option<&'i Folds<'i>>) -> Self {
        Self(folds)
    }

    /// Whether the name of a path is the `known` one.
    #[inline]
    pub(crate) fn are_same(self, name: &[u8], known: &[u8]) -> bool {
        self.0.map_or_else(|| name == known, |folds| folds.equals(name, known))
    }

    /// Whether the name of a path ends with the `known` ending.
    #[inline]
    pub(crate) fn ends_with(self, name: &[u8], known: [u8; 4]) -> bool {
        self.0.map_or_else(|| name.ends_with(&known), |folds| folds.ends_with(name, known))
    }

    /// The part of `path` below `base`, with the separator before it.
    #[inline]
    pub(crate) fn below<'p>(self, base: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
        match self.0 {
            None => path.strip_prefix(base).filter(|tail| matches!(tail, [] | [b'/', ..])),
            Some(folds) => folds.below(base, path),
        }
    }

    /// Whether `path` is the known `base` or a prefix of it.
    #[inline]
    pub(crate) fn lead_to(self, path: &[u8], base: &[u8]) -> bool {
        self.0.map_or_else(|| leads_to(path, base), |folds| folds.lead_to(path, base))
    }

    /// The folding of the names, if there is one.
    pub(crate) const fn folds(self) -> Option<&'i Folds<'i>> {
        self.0
    }
}

/// The folded form of a range of characters, from the first to the last.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Fold {
    pub(crate) first: U32,
    pub(crate) last: U32,
    /// A span of the texts. Empty if the characters are dropped.
    pub(crate) becomes: Span,
}

/// The folded forms of all characters that change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folds<'a> {
    /// In the order of the characters.
    pub(crate) table: &'a [Fold],
    pub(crate) texts: &'a [u8],
}

impl<'a> Folds<'a> {
    /// The folds of an image. `None` if its names are not folded.
    pub(crate) fn of(whole: &'a [u8], header: &Header) -> Result<Option<Self>, ImageError> {
        if header.folds.count.get() == 0 {
            return Ok(None);
        }
        let [folds, texts] = [header.folds, header.fold_texts];
        Ok(Some(Self { table: layout::table(whole, folds)?, texts: layout::part(whole, texts) }))
    }

    /// Passes on the folded name, byte by byte, until `put` returns `None`.
    #[inline]
    pub(crate) fn each(&self, name: &[u8], mut put: impl FnMut(u8) -> Option<()>) -> Option<()> {
        let mut rest = name;
        while let [first, behind @ ..] = rest {
            rest = behind;
            if first.is_ascii() {
                put(first.to_ascii_lowercase())?;
                continue;
            }
            let found = self.first(*first, behind);
            rest = behind.get(found.wrapping_shr(COUNT) as usize..)?;
            let mut letters = found & !(0xFF << COUNT);
            while letters != 0 {
                let [byte, ..] = letters.to_le_bytes();
                put(byte)?;
                letters = letters.wrapping_shr(8);
            }
        }
        Some(())
    }

    /// The folded form of the character that begins with this byte, which is not ASCII. The first byte is the lowest.
    /// The bits from [`COUNT`] on say how many bytes after the first belong to it. A byte that begins no character
    /// stays.
    #[cold]
    #[inline(never)]
    fn first(&self, first: u8, behind: &[u8]) -> u128 {
        let Some((code, length)) = character(first, behind) else { return first.into() };
        let count = (length as u128).wrapping_shl(COUNT);
        if let Some(jamo) = jamo(code) {
            return count | jamo;
        }
        let at = self.table.partition_point(|fold| fold.first.get() <= code).wrapping_sub(1);
        let fold = self.table.get(at).filter(|fold| code <= fold.last.get());
        let own = behind.get(..length).unwrap_or(&[]);
        let becomes = match fold {
            Some(fold) => packed(layout::part(self.texts, fold.becomes)),
            None => packed(own).wrapping_shl(8) | u128::from(first),
        };
        count | becomes
    }

    /// As [`Names::below`].
    #[cold]
    #[inline(never)]
    fn below<'p>(&self, base: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
        let (mut names, mut end) = (Components::of(path), 0);
        for known in Components::of(base) {
            end = names.next().filter(|name| self.equals(name.name, known.name))?.end;
        }
        path.get(end..)
    }

    /// As [`Names::lead_to`].
    #[cold]
    #[inline(never)]
    fn lead_to(&self, path: &[u8], base: &[u8]) -> bool {
        let mut known = Components::of(base);
        let is_known =
            |name: &[u8]| known.next().is_some_and(|known| self.equals(name, known.name));
        Components::of(path).map(|name| name.name).all(is_known)
    }

    /// As [`Names::ends_with`].
    #[cold]
    #[inline(never)]
    fn ends_with(&self, name: &[u8], known: [u8; 4]) -> bool {
        let mut end = 0_u32;
        let _ = self.each(name, |byte| {
            end = end.wrapping_shl(8) | u32::from(byte);
            Some(())
        });
        end == u32::from_be_bytes(known)
    }

    /// Whether the folded name equals `known`, which is folded or all ASCII.
    #[cold]
    #[inline(never)]
    pub(crate) fn equals(&self, name: &[u8], known: &[u8]) -> bool {
        let mut rest = known.iter().map(u8::to_ascii_lowercase);
        let is_prefix = self.each(name, |byte| (rest.next() == Some(byte)).then_some(()));
        is_prefix.is_some() && rest.next().is_none()
    }
}

/// The position of a number beside the bytes of up to three characters.
const COUNT: u32 = 120;

/// Bytes of up to three characters, none of which is zero.
fn packed(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |all, &byte| all.wrapping_shl(8) | u128::from(byte))
}

/// The character that begins with this byte, and how many of the bytes after it belong to it.
fn character(first: u8, behind: &[u8]) -> Option<(u32, usize)> {
    let (length, bits, least) = match first {
        0xC2..=0xDF => (1, 0x1F, 0x80),
        0xE0..=0xEF => (2, 0x0F, 0x800),
        0xF0..=0xF4 => (3, 0x07, 0x1_0000),
        _ => return None,
    };
    let more = |code: u32, byte: &u8| {
        (byte & 0xC0 == 0x80).then_some(code.wrapping_shl(6) | u32::from(byte & 0x3F))
    };
    let code = behind.get(..length)?.iter().try_fold(u32::from(first & bits), more)?;
    (code >= least && char::from_u32(code).is_some()).then_some((code, length))
}

/// The letters of a Korean syllable, as Unicode decomposes it.
fn jamo(code: u32) -> Option<u128> {
    const FIRST: u32 = 0xAC00;
    let index = code.checked_sub(FIRST).filter(|&index| index < 19 * 21 * 28)?;
    let part = |base: u32, index: u32| {
        let [.., middle, low] = base.wrapping_add(index).to_be_bytes();
        let high = 0x80 | middle.wrapping_shl(2) & 0x3F | low.wrapping_shr(6);
        packed(&[0xE1, high, 0x80 | low & 0x3F])
    };
    let last = if index % 28 == 0 { 0 } else { part(0x11A7, index % 28) };
    let others = part(0x1161, index / 28 % 21) | last.wrapping_shl(24);
    Some(part(0x1100, index / 588) | others.wrapping_shl(24))
}
