//! Collects the patterns that are plain paths, as one tree of their bytes.

use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

use crate::automaton::Marks;
use crate::table::listed::PatternList;

/// Names with the same beginning share it. Children come after their parents.
pub(super) struct NameTree {
    nodes: Vec<NameNode>,
}

/// A beginning of names.
#[derive(Clone, Debug, Default)]
pub(super) struct NameNode {
    /// By the next byte.
    pub(super) children: Vec<(u8, usize)>,
    /// The marks of the path that ends here.
    pub(super) exact: Marks,
    /// The marks of everything below the directory that ends here.
    pub(super) below: Marks,
}

impl NameTree {
    /// The names of all lists.
    pub(super) fn of(lists: &[PatternList]) -> Self {
        let mut names = Self { nodes: vec![NameNode::default()] };
        for list in lists {
            for name in &list.exact.names {
                let node = names.node(name.as_bytes());
                node.exact = node.exact.union(list.marks);
            }
            for name in &list.below.names {
                let node = names.node(name.as_bytes());
                node.below = node.below.union(list.marks);
            }
        }
        names
    }

    /// The first is where every path begins.
    pub(super) fn nodes(&self) -> &[NameNode] {
        &self.nodes
    }

    /// Every byte that leads from one node to another.
    pub(super) fn bytes(&self) -> BTreeSet<u8> {
        self.nodes.iter().flat_map(|node| &node.children).map(|&(byte, _)| byte).collect()
    }

    fn node(&mut self, name: &[u8]) -> &mut NameNode {
        let node = name.iter().fold(0, |node, &byte| self.child(node, byte));
        &mut self.nodes[node]
    }

    fn child(&mut self, node: usize, byte: u8) -> usize {
        let fresh = self.nodes.len();
        let children = &mut self.nodes[node].children;
        if let Some(&(_, child)) = children.iter().find(|&&(known, _)| known == byte) {
            return child;
        }
        children.push((byte, fresh));
        self.nodes.push(NameNode::default());
        fresh
    }
}
