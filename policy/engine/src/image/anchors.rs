//! Lists the paths that the rules of an image stand on, for a program that shows what is granted.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::vec::Vec;

use super::Image;
use crate::layout::NONE;

impl Image<'_> {
    /// The anchors of the rules: canonical absolute paths.
    #[must_use]
    pub fn anchors(&self) -> BTreeSet<PathBuf> {
        let edges = self.slots.iter().filter(|slot| slot.child.get() != 0);
        let ways: HashMap<u32, (u32, &[u8])> = edges
            .map(|slot| (slot.child.get(), (slot.parent.get(), self.string(slot.name))))
            .collect();
        let numbered = (0..).zip(self.nodes);
        let held = numbered.filter(|(_, node)| node.rule.get() != NONE);
        held.map(|(number, _)| path(&ways, number)).collect()
    }
}

/// The path of a node, by the edges that lead to each. A damaged image may have a circle of edges.
fn path(ways: &HashMap<u32, (u32, &[u8])>, node: u32) -> PathBuf {
    let next = |(node, _): &(u32, &[u8])| ways.get(node).copied();
    let edges = std::iter::successors(ways.get(&node).copied(), next).take(ways.len());
    let names: Vec<&[u8]> = edges.map(|(_, name)| name).collect();
    let mut path = Vec::new();
    for name in names.into_iter().rev() {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    if path.is_empty() { PathBuf::from("/") } else { OsString::from_vec(path).into() }
}
