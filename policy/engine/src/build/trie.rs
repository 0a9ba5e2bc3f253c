//! The trie of path components while it is built: every prefix that is or leads to the path of a grant or alias.

use std::borrow::ToOwned as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::vec;
use std::vec::Vec;

use crate::build::bytes::size;
use crate::build_error::BuildError;
use crate::capability::Capabilities;
use crate::image::{edge_hash, folded_edge_hash};
use crate::layout::{
    ALIAS_BELOW, BACKING, BACKING_BELOW, HIDDEN_BELOW, NONE, Node, Rule, Span, VIEW, VIEW_BELOW,
};
use crate::reaches::Reaches;

/// A path prefix. It comes after its parent.
pub(super) struct Prefix<'a> {
    /// The index of its parent. The root is its own parent.
    pub(super) parent: usize,
    /// Its last component. Empty only for the root.
    pub(super) name: &'a [u8],
    /// The hash of the edge that leads to it.
    pub(super) hash: u32,
    /// Its node in the image.
    pub(super) node: Node,
    /// The last grant on it other than a control entry, even if a control entry covers it.
    pub(super) held: Option<usize>,
    /// Whether it is the path of a control entry.
    pub(super) control: bool,
}

impl<'a> Prefix<'a> {
    fn new(parent: usize, name: &'a [u8], hash: u32) -> Self {
        let node = Node {
            rule: NONE.into(),
            alias: Span::default(),
            view: 0,
            below_all: Capabilities::ALL.bits(),
            below_any: Capabilities::NONE.bits(),
            interior: 0,
            flags: 0,
        };
        Self { parent, name, hash, node, held: None, control: false }
    }
}

/// The place of a path.
pub(super) struct TriePlace {
    /// Its index.
    pub(super) at: usize,
    /// Whether a control entry is at it or above it.
    pub(super) covered: bool,
}

pub(super) struct Trie<'a> {
    /// The root first.
    pub(super) prefixes: Vec<Prefix<'a>>,
    /// Indices by hash, zero if free, at most half full: the open addressing of the image.
    slots: Vec<usize>,
    is_folded: bool,
}

impl<'a> Trie<'a> {
    /// An empty trie, for folded names or for names as written.
    pub(super) fn new(is_folded: bool) -> Self {
        Self { prefixes: vec![Prefix::new(0, &[], 0)], slots: vec![0; 64], is_folded }
    }

    /// The place of an absolute canonical path. Creates it, and those above it, if missing.
    pub(super) fn place(&mut self, path: &'a Path) -> Result<TriePlace, BuildError> {
        let not_canonical = || BuildError::NotCanonical(path.to_owned());
        let names = path.as_os_str().as_bytes().strip_prefix(b"/").ok_or_else(not_canonical)?;
        let mut place = TriePlace { at: 0, covered: self.prefixes[0].control };
        for name in names.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => continue,
                b".." => return Err(not_canonical()),
                _ => place.at = self.child(place.at, name)?,
            }
            place.covered |= self.prefixes[place.at].control;
        }
        Ok(place)
    }

    fn child(&mut self, parent: usize, name: &'a [u8]) -> Result<usize, BuildError> {
        let number = size(parent)?.get();
        let hash = if self.is_folded {
            name.iter().copied().fold(number, folded_edge_hash)
        } else {
            edge_hash(number, name)
        };
        let slot = self.slot(hash, |known| known.parent == parent && known.name == name);
        if self.slots[slot] != 0 {
            return Ok(self.slots[slot]);
        }
        let child = self.prefixes.len();
        self.slots[slot] = child;
        self.prefixes[parent].node.interior = 1;
        self.prefixes.push(Prefix::new(parent, name, hash));
        if self.prefixes.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 2];
            for child in 1..self.prefixes.len() {
                let slot = self.slot(self.prefixes[child].hash, |_| false);
                self.slots[slot] = child;
            }
        }
        Ok(child)
    }

    /// The slot of the prefix with this hash for which `is_it` holds, or else the free slot for it.
    fn slot(&self, hash: u32, is_it: impl Fn(&Prefix<'_>) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 && !is_it(&self.prefixes[self.slots[slot]]) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The grant that holds at the place without control entries.
    pub(super) fn holder(&self, mut at: usize) -> Option<usize> {
        while self.prefixes[at].held.is_none() && at != 0 {
            at = self.prefixes[at].parent;
        }
        self.prefixes[at].held
    }

    /// Fills in, from the leaves up, the capabilities that all rules and any rule strictly below each prefix grant, and
    /// the flags.
    pub(super) fn summarise(&mut self, rules: &[Rule]) {
        for at in (0..self.prefixes.len()).rev() {
            let Prefix { parent, node, .. } = &mut self.prefixes[at];
            let rule = rules.get(node.rule.get() as usize);
            if rule.is_some_and(|rule| rule.patterns.count.get() > 0) {
                // Each exclusion is a denial below.
                node.below_all = Capabilities::NONE.bits();
            }
            if node.alias.count.get() > 0 {
                node.flags |= ALIAS_BELOW;
            }
            if node.view & VIEW != 0 || rule.is_some_and(|rule| rule.hidden != 0) {
                node.flags |= HIDDEN_BELOW;
            }
            let (parent, node) = (*parent, *node);
            if at > 0 {
                let (all, any) = rule.map_or((u8::MAX, 0), |rule| (rule.caps, rule.caps));
                let above = &mut self.prefixes[parent].node;
                above.below_all &= node.below_all & all;
                above.below_any |= node.below_any | any;
                for (at, below) in [(VIEW, VIEW_BELOW), (BACKING, BACKING_BELOW)] {
                    above.view |= if node.view & (at | below) == 0 { 0 } else { below };
                }
                above.flags |= node.flags | rule.map_or(0, |rule| Reaches::of(rule).bits());
            }
        }
    }

    /// The prefix in each slot of the image. The root stands for "free".
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, &Prefix<'a>)> {
        self.slots.iter().map(|&at| (at, &self.prefixes[at]))
    }
}
