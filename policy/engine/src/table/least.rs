//! Minimises an automaton: merges equal states.

use std::collections::HashMap;
use std::vec;
use std::vec::Vec;

use super::Determined;
use super::names::NameTree;
use crate::automaton::Marks;
use crate::image::mix;

/// States of an automaton.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// For each state, the next one by each column.
    pub(super) next: Vec<Vec<usize>>,
    /// For each state, the marks of a path that ends there.
    pub(super) here: Vec<Marks>,
}

/// Adds the names to the determined automaton, with as few states as possible. Paths begin in the first.
pub(super) fn least(determined: &Determined, names: &NameTree) -> States {
    let (mut blocks, merged) = merged(&determined.states);
    // A path that left the names does not come back. So a name equals an existing state exactly if everything that
    // follows is the same. Longer names come first, so that this is known.
    let rows = blocks.next.iter().cloned().zip(blocks.here.iter().copied());
    let mut known: HashMap<(Vec<usize>, Marks), usize> =
        rows.enumerate().map(|(block, row)| (row, block)).collect();
    let mut numbers = vec![0; names.nodes().len()];
    for (node, name) in names.nodes().iter().enumerate().rev() {
        let mut row: Vec<usize> =
            determined.names.next[node].iter().map(|&state| merged[state]).collect();
        for &(byte, child) in &name.children {
            row[determined.columns[usize::from(byte)]] = numbers[child];
        }
        let here = determined.names.here[node];
        numbers[node] = *known.entry((row, here)).or_insert_with_key(|(row, here)| {
            blocks.next.push(row.clone());
            blocks.here.push(*here);
            blocks.here.len() - 1
        });
    }
    reachable(&blocks, numbers[0])
}

/// One state for each block of equal ones, and the block of each state.
fn merged(states: &States) -> (States, Vec<usize>) {
    let merged = merge(states);
    let mut blocks = States::default();
    for (state, &block) in merged.iter().enumerate() {
        // Blocks are numbered by their first states.
        if block == blocks.next.len() {
            blocks.next.push(states.next[state].iter().map(|&next| merged[next]).collect());
            blocks.here.push(states.here[state]);
        }
    }
    (blocks, merged)
}

/// The states that paths reach, in order.
fn reachable(states: &States, begin: usize) -> States {
    let mut numbers = vec![None; states.next.len()];
    let mut found = vec![begin];
    numbers[begin] = Some(0);
    let mut all = States::default();
    while let Some(&state) = found.get(all.next.len()) {
        let mut number = |&next: &usize| {
            *numbers[next].get_or_insert_with(|| {
                found.push(next);
                found.len() - 1
            })
        };
        all.next.push(states.next[state].iter().map(&mut number).collect());
        all.here.push(states.here[state]);
    }
    all
}

/// Numbers the states so that equal numbers have equal futures (Moore's algorithm).
fn merge(states: &States) -> Vec<usize> {
    let mut blocks: Vec<usize> =
        states.here.iter().map(|marks| usize::from(marks.bits())).collect();
    let mut count = 0;
    loop {
        let (refined, found) = refine(states, &blocks);
        if found == count {
            return refined;
        }
        (blocks, count) = (refined, found);
    }
}

/// Splits blocks whose states lead to different ones. Blocks are numbered by their first states. Also returns their
/// count.
fn refine(states: &States, blocks: &[usize]) -> (Vec<usize>, usize) {
    let future = |state: usize| {
        let next = states.next[state].iter().map(|&next| blocks[next]);
        core::iter::once(blocks[state]).chain(next)
    };
    // Whole futures are compared only if their digests are equal.
    let digest = |state| future(state).fold(0, |digest, block| mix(digest, block as u64));
    let mut order: Vec<(u64, usize)> =
        (0..blocks.len()).map(|state| (digest(state), state)).collect();
    order.sort_unstable_by(|&(digest, a), &(other, b)| {
        digest.cmp(&other).then_with(|| future(a).cmp(future(b))).then(a.cmp(&b))
    });
    let same = |&(digest, a): &(u64, usize), &(other, b): &(u64, usize)| {
        digest == other && future(a).eq(future(b))
    };
    let mut firsts = vec![0; blocks.len()];
    for equals in order.chunk_by(same) {
        for &(_, state) in equals {
            firsts[state] = equals[0].1;
        }
    }
    let mut numbers = vec![0; blocks.len()];
    let mut count = 0;
    for (state, &first) in firsts.iter().enumerate() {
        numbers[state] = if first == state { count } else { numbers[first] };
        count += usize::from(first == state);
    }
    (numbers, count)
}
