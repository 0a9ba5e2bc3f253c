//! Walks along a path, component by component: down the trie of an image, and over a pattern.

use crate::image::{ALIAS_BELOW, HIDDEN_BELOW, Image, NONE, Node};
use crate::volume::{Folds, Names};

/// How far a path goes down the trie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    /// The deepest rule passed, and the end of its anchor in the path.
    winner: Option<(u32, usize)>,
    /// The node of the whole path, if there is one. `at` is its number.
    pub(crate) reached: Option<&'a Node>,
    at: u32,
    /// See [`crate::decide::Lookup::visible`].
    pub(crate) visible: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn along(image: &Image<'a>, path: &[u8]) -> Self {
        let (mut walk, mut names) = Self::begin(image, path);
        for component in &mut names {
            let below = walk.reached.filter(|node| node.interior != 0);
            if below.is_some_and(|node| node.below_any != 0) {
                walk.visible = component.end;
            }
            let child = below.and_then(|_| image.child(walk.at, component.name));
            walk.arrive(child, component.end);
            if child.is_none() {
                break;
            }
        }
        walk
    }

    /// The start of a walk along `path`, and the names that follow.
    fn begin<'p>(image: &Image<'a>, path: &'p [u8]) -> (Self, Components<'p>) {
        if let Some(head) = image.head().filter(|head| leads_to(head.path, path)) {
            return (head.walk, Components { path, at: head.path.len() });
        }
        let mut walk = Self { winner: None, reached: None, at: 0, visible: 0 };
        walk.arrive(image.root().map(|root| (0, root)), 0);
        (walk, Components::of(path))
    }

    fn arrive(&mut self, place: Option<(u32, &'a Node)>, end: usize) {
        self.reached = place.map(|(_, node)| node);
        if let Some((at, node)) = place {
            self.at = at;
            if node.rule.get() != NONE {
                self.winner = Some((node.rule.get(), end));
            }
        }
    }

    /// The deepest rule passed along `path`, and the part of the path after its anchor.
    pub(crate) fn winner<'p>(&self, path: &'p [u8]) -> Option<(u32, &'p [u8])> {
        let (rule, end) = self.winner?;
        let rest = path.get(end..).unwrap_or(&[]);
        Some((rule, if matches!(rest, [b'/']) { &[] } else { rest }))
    }

    /// Whether nothing is hidden at or below `path`, along which this walk went.
    pub(crate) fn shows_everything(&self, image: &Image<'a>, path: &[u8]) -> bool {
        let winner = self.winner(path).and_then(|(id, _)| image.rule(id));
        winner.is_none_or(|rule| rule.hidden == 0)
            && self.reached.is_none_or(|node| node.flags & HIDDEN_BELOW == 0)
    }
}

/// A walk to the directory below which most paths lie, done once for all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    path: &'a [u8],
    walk: Walk<'a>,
    shows_everything: bool,
}

impl<'a> Head<'a> {
    /// The walk to `path`, canonical. `None` if it is the root, or a symlink was on it when the policy was compiled.
    pub(crate) fn of(image: &Image<'a>, path: &'a [u8]) -> Option<Self> {
        let is_way = path.len() > 1 && alias(image, path).is_none();
        is_way.then(|| {
            let walk = Walk::along(image, path);
            Self { path, walk, shows_everything: walk.shows_everything(image, path) }
        })
    }

    /// Whether `path` is below it and nothing is hidden there.
    pub(crate) fn shows(&self, path: &[u8]) -> bool {
        self.shows_everything && leads_to(self.path, path)
    }
}

/// The symlink that was at a prefix of `path` when the policy was compiled: the length of that prefix and its target.
pub(crate) fn alias<'a>(image: &Image<'a>, path: &[u8]) -> Option<(usize, &'a [u8])> {
    let (mut walk, names) = Walk::begin(image, path);
    for component in names {
        walk.reached.filter(|node| node.flags & ALIAS_BELOW != 0)?;
        let (at, node) = image.child(walk.at, component.name)?;
        if node.alias.count.get() > 0 {
            return Some((component.end, image.string(node.alias)));
        }
        walk.arrive(Some((at, node)), component.end);
    }
    None
}

/// Whether `prefix` is a component-wise, non-empty prefix of `path`.
pub(crate) fn leads_to(prefix: &[u8], path: &[u8]) -> bool {
    !prefix.is_empty()
        && path.strip_prefix(prefix).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
}

/// One component of a path and the position of its end.
pub(crate) struct Component<'p> {
    pub(crate) name: &'p [u8],
    pub(crate) end: usize,
}

pub(crate) struct Components<'p> {
    path: &'p [u8],
    at: usize,
}

impl<'p> Components<'p> {
    pub(crate) const fn of(path: &'p [u8]) -> Self {
        Self { path, at: 0 }
    }
}

impl<'p> Iterator for Components<'p> {
    type Item = Component<'p>;

    fn next(&mut self) -> Option<Component<'p>> {
        let rest = self.path.get(self.at..)?;
        let skip = rest.iter().position(|&byte| byte != b'/')?;
        let rest = rest.get(skip..)?;
        let length = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
        let end = self.at.saturating_add(skip).saturating_add(length);
        self.at = end;
        Some(Component { name: rest.get(..length)?, end })
    }
}

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
    let rest = pattern.get(wanted.at..)?.trim_start_matches('/');
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
