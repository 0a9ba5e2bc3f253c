//! Matches the exclusions of a rule, name by name, against paths below its anchor. Used by `lookup` and `decide`.

use crate::components::{Component, Components};
use crate::volume::{Folds, Names};

/// Whether `pattern`, component by component, matches the beginning of `rest`. `names` says how names are compared.
#[inline(never)] // few rules have any, and the stack of the preload library is short
pub(crate) fn excludes(pattern: &[u8], rest: &[u8], names: Names<'_>) -> bool {
    let mut parts = Components::of(rest);
    Components::of(pattern)
        .all(|wanted| parts.next().is_some_and(|name| is_match(wanted.name, name.name, names)))
}

/// As [`excludes`], whether `pattern` may match something below `rest`.
pub(crate) fn leads_below(pattern: &[u8], rest: &[u8], names: Names<'_>) -> bool {
    let mut wanted = Components::of(pattern);
    let leads_on = |name: Component<'_>| {
        wanted.next().is_some_and(|wanted| is_match(wanted.name, name.name, names))
    };
    Components::of(rest).all(leads_on) && wanted.next().is_some()
}

/// The rest of an exclusion of a grant, `pattern`, at `way` below its anchor. `None` if it excludes nothing below
/// there.
#[cfg(feature = "std")]
#[must_use]
pub fn behind(pattern: &str, way: &[u8]) -> Option<std::string::String> {
    let mut wanted = Components::of(pattern.as_bytes());
    let leads_on =
        |name: Component<'_>| wanted.next().is_some_and(|wanted| matches(wanted.name, name.name));
    if !Components::of(way).all(leads_on) {
        return None;
    }
    let rest = pattern.get(wanted.at()..)?.trim_start_matches('/');
    (!rest.is_empty()).then(|| rest.into())
}

fn is_match(pattern: &[u8], name: &[u8], names: Names<'_>) -> bool {
    names
        .folds()
        .map_or_else(|| matches(pattern, name), |folds| matches_folded(pattern, name, folds))
}

/// As [`matches`], for the folded name. It tracks all places in the pattern at once. A pattern that is too long for
/// that matches.
#[cold]
#[inline(never)]
fn matches_folded(pattern: &[u8], name: &[u8], folds: &Folds<'_>) -> bool {
    let end = 1_u128.wrapping_shl(u32::try_from(pattern.len()).unwrap_or(u32::MAX));
    let passed = |at: u128| {
        let mut here = 1_u128;
        pattern.iter().fold(at, |at, &part| {
            let behind = here.wrapping_shl(1);
            let is_passed = part == b'*' && at & here != 0;
            here = behind;
            if is_passed { at | behind } else { at }
        })
    };
    let mut at = passed(1);
    let _ = folds.each(name, |byte| {
        let (mut next, mut here) = (0, 1_u128);
        for &part in pattern {
            let behind = here.wrapping_shl(1);
            if at & here != 0 && (part == b'*' || part == byte) {
                next |= if part == b'*' { here } else { behind };
            }
            here = behind;
        }
        at = passed(next);
        Some(())
    });
    pattern.len() > 127 || at & end != 0
}

/// Whether one component matches a pattern in which `*` stands for any bytes.
fn matches(mut pattern: &[u8], mut name: &[u8]) -> bool {
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, name) {
            ([b'*', after @ ..], _) => {
                retry = Some((after, name));
                pattern = after;
            }
            ([wanted, after @ ..], [byte, rest @ ..]) if wanted == byte => {
                pattern = after;
                name = rest;
            }
            ([], []) => return true,
            _ => match retry {
                Some((after, [_, rest @ ..])) => {
                    retry = Some((after, rest));
                    pattern = after;
                    name = rest;
                }
                _ => return false,
            },
        }
    }
}
