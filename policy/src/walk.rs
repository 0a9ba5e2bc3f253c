//! Along a path, component by component: down the trie of an image, and over a pattern.

use crate::image::{Image, NONE, Node};

/// How far a path goes down the trie.
pub(crate) struct Walk<'a, 'p> {
    /// The deepest rule passed, and what of the path follows its anchor.
    pub(crate) winner: Option<(u32, &'p [u8])>,
    /// The node of the whole path, where there is one.
    pub(crate) reached: Option<&'a Node>,
    /// See [`crate::decide::Lookup::visible`].
    pub(crate) visible: usize,
}

impl<'a, 'p> Walk<'a, 'p> {
    pub(crate) fn along(image: &Image<'a>, path: &'p [u8]) -> Self {
        let mut walk = Self { winner: None, reached: image.root(), visible: 0 };
        let mut parent = 0;
        walk.pass(path);
        for component in Components::of(path) {
            let below = walk.reached.filter(|node| node.interior != 0);
            if below.is_some_and(|node| node.below_any != 0) {
                walk.visible = component.end;
            }
            let Some((id, node)) = below.and_then(|_| image.child(parent, component.name)) else {
                walk.reached = None;
                break;
            };
            parent = id;
            walk.reached = Some(node);
            walk.pass(path.get(component.end..).unwrap_or(&[]));
        }
        walk
    }

    fn pass(&mut self, rest: &'p [u8]) {
        if let Some(node) = self.reached
            && node.rule.get() != NONE
        {
            let rest = if matches!(rest, [b'/']) { &[] } else { rest };
            self.winner = Some((node.rule.get(), rest));
        }
    }
}

/// One component of a path and where it ends.
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

/// Whether `pattern`, component by component, matches the beginning of `rest`.
pub(crate) fn excludes(pattern: &[u8], rest: &[u8]) -> bool {
    let mut names = Components::of(rest);
    Components::of(pattern)
        .all(|wanted| names.next().is_some_and(|name| matches(wanted.name, name.name)))
}

/// Whether `pattern` may match something below `rest`.
pub(crate) fn leads_below(pattern: &[u8], rest: &[u8]) -> bool {
    let mut wanted = Components::of(pattern);
    let leads_on =
        |name: Component<'_>| wanted.next().is_some_and(|wanted| matches(wanted.name, name.name));
    Components::of(rest).all(leads_on) && wanted.next().is_some()
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
