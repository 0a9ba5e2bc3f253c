//! Walks along a path, component by component: down the trie of an image, and over a pattern.

use crate::components::{Components, leads_to};
use crate::image::Image;
use crate::layout::{ALIAS_BELOW, BACKING, BACKING_BELOW, HIDDEN_BELOW, NONE, Node, VIEW};

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
            if below.is_some_and(Node::is_way) {
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
            return (head.walk, Components::behind(path, head.path.len()));
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
pub(crate) struct WalkHead<'a> {
    path: &'a [u8],
    walk: Walk<'a>,
    shows_everything: bool,
    is_in_backing: bool,
}

impl<'a> WalkHead<'a> {
    /// The walk to `path`, canonical. `None` if it is the root, or a symlink was on it when the policy was compiled.
    pub(crate) fn of(image: &Image<'a>, path: &'a [u8]) -> Option<Self> {
        let is_way = path.len() > 1 && alias(image, path).is_none();
        is_way.then(|| {
            let walk = Walk::along(image, path);
            let shows_everything = walk.shows_everything(image, path);
            Self { path, walk, shows_everything, is_in_backing: is_in_backing(image, path) }
        })
    }

    /// Whether `path` is below it and nothing is hidden there.
    pub(crate) fn shows(&self, path: &[u8]) -> bool {
        self.shows_everything && leads_to(self.path, path)
    }
}

/// A prefix of a path, and what names behind it lead to instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias<'a> {
    /// The length of the prefix.
    pub end: usize,
    /// The canonical path that replaces it.
    pub target: &'a [u8],
    /// The prefix is the place of a view. Otherwise it was a symlink when the policy was compiled.
    pub is_view: bool,
}

/// What a prefix of `path` stands for: the first symlink that was known when the policy was compiled, or the view that
/// shows the path. A view does not show paths that a rule below its place is about, nor the way to them.
pub(crate) fn alias<'a>(image: &Image<'a>, path: &[u8]) -> Option<Alias<'a>> {
    let (mut walk, names) = Walk::begin(image, path);
    let mut view = None;
    let mut end = 0;
    for component in names {
        if view.is_none() && walk.reached.is_none_or(|node| node.flags & ALIAS_BELOW == 0) {
            return None;
        }
        let Some((at, node)) = image.child(walk.at, component.name) else { return view };
        let alias = Alias {
            end: component.end,
            target: image.string(node.alias),
            is_view: node.view & VIEW != 0,
        };
        match (alias.target, alias.is_view) {
            ([], _) => view = view.filter(|_| node.rule.get() == NONE),
            (_, true) => view = Some(alias),
            (_, false) => return Some(alias),
        }
        end = component.end;
        walk.arrive(Some((at, node)), end);
    }
    let is_way = |node: &Node, view: &Alias<'_>| view.end < end && node.below_any != 0;
    view.filter(|view| !walk.reached.is_some_and(|node| is_way(node, view)))
}

/// Whether `path` is the backing of a view, or below one.
pub(crate) fn is_in_backing(image: &Image<'_>, path: &[u8]) -> bool {
    if image.head().is_some_and(|head| head.is_in_backing && leads_to(head.path, path)) {
        return true;
    }
    let (mut walk, names) = Walk::begin(image, path);
    for component in names {
        if walk.reached.is_none_or(|node| node.view & BACKING_BELOW == 0) {
            return false;
        }
        let child = image.child(walk.at, component.name);
        if child.is_some_and(|(_, node)| node.view & BACKING != 0) {
            return true;
        }
        walk.arrive(child, component.end);
    }
    false
}
