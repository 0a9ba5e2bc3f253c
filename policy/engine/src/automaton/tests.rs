//! Tests of tables with several automata, and of broken ones.

use super::*;

/// Two automata over bytes that are `/` or something else. The first has no marks, the second denies the entries of a
/// directory.
struct Made {
    states: [State; 4],
    edges: [U16; 8],
    starts: std::vec::Vec<U16>,
}

impl Made {
    fn with(starts: &[u16]) -> Self {
        let deny = Marks::DENY.bits();
        let state = |here: u16, ahead: u16| State { here: here.into(), ahead: ahead.into() };
        Self {
            states: [state(0, 0), state(0, deny), state(0, deny), state(deny, deny)],
            edges: [0, 0, 2, 1, 3, 2, 3, 3].map(U16::new),
            starts: starts.iter().map(|&start| U16::new(start)).collect(),
        }
    }

    fn table<'a>(&'a self, classes: &'a [u8; 256]) -> Automaton<'a> {
        Automaton {
            classes,
            states: &self.states,
            edges: &self.edges,
            starts: &self.starts,
            folds: None,
        }
    }
}

fn classes() -> [u8; 256] {
    core::array::from_fn(|byte| u8::from(byte != usize::from(b'/')))
}

#[test]
fn each_automaton_has_its_say() {
    let (made, classes) = (Made::with(&[1]), classes());
    let table = made.table(&classes);
    assert_eq!(table.look(b"/a").here, Marks::NONE);
    assert_eq!(table.look(b"/a").ahead, Marks::DENY);
    assert_eq!(table.look(b"/a/b").here, Marks::DENY);
    assert_eq!(table.look_below(0, b"/b", b"/a/b").here, Marks::DENY);
    assert!(table.alike_below(b"/a", b"/b") && table.alike_below(b"/a/b", b"/c"));
    assert!(!table.alike_below(b"/", b"/b"));
    assert!(table.any_below(b"/", |marks| marks == Marks::NONE));
    assert!(!table.any_below(b"/a", |marks| marks == Marks::NONE));
    assert!(!Made::with(&[]).table(&classes).any_below(b"/a", |marks| marks == Marks::DENY));
}

/// A start that does not exist, or leads to a state that does not, denies everything.
#[test]
fn a_broken_start_denies_everything() {
    let classes = classes();
    let mut leads_outside = Made::with(&[1]);
    leads_outside.edges[2] = U16::new(u16::MAX);
    for made in [Made::with(&[4]), Made::with(&[1, u16::MAX]), leads_outside] {
        let table = made.table(&classes);
        for seen in [table.look(b"/a"), table.look(b"/"), table.look_below(0, b"/b", b"/a/b")] {
            assert!(seen.here.intersects(Marks::DENY) && seen.ahead.intersects(Marks::DENY));
            assert!(seen.here.intersects(Marks::SENSITIVE), "it is everything");
        }
        assert!(!table.alike_below(b"/a", b"/b") && !table.alike_below(b"/a", b"/a"));
        assert!(!table.any_below(b"/a", |marks| !marks.intersects(Marks::DENY)));
    }
}
