//! Puts several automata into one table.
//!
//! One automaton for `**/a/**/*.x`, `**/b/**/*.y` and similar patterns has a state for each set of `a`, `b` … that a
//! path may have passed. Each pattern doubles their number. Separate automata have a few states each.

use std::collections::{BTreeSet, HashMap};
use std::vec;
use std::vec::Vec;

use zerocopy::little_endian::U16;

use super::{BuildError, Table};
use crate::table::listed::{Expression, Matching, PatternList};

/// Most automata in a table. Each path goes through all of them.
const MOST: usize = 64;

/// The patterns of each automaton. The first has all patterns that need no automaton of their own. If there are too
/// many, several share one.
pub(super) fn parts(lists: &[PatternList]) -> Vec<Vec<PatternList>> {
    let matching = lists.iter().flat_map(|list| [&list.exact, &list.below]);
    let expressions = matching.flat_map(|matching| &matching.expressions);
    let apart: BTreeSet<&str> = expressions.filter_map(|one| one.apart.as_deref()).collect();
    let count = 1 + apart.len().min(MOST - 1);
    let numbers: HashMap<&str, usize> = apart.into_iter().zip((1..count).cycle()).collect();
    let number = |one: &Expression| one.apart.as_deref().map_or(0, |apart| numbers[apart]);
    let part = |matching: &Matching, part: usize| Matching {
        names: if part == 0 { matching.names.clone() } else { Vec::new() },
        expressions: matching
            .expressions
            .iter()
            .filter(|one| number(one) == part)
            .cloned()
            .collect(),
    };
    let listed = |list: &PatternList, number| PatternList {
        marks: list.marks,
        exact: part(&list.exact, number),
        below: part(&list.below, number),
    };
    (0..count).map(|part| lists.iter().map(|list| listed(list, part)).collect()).collect()
}

/// One table of all. The states of each come after those of the one before.
pub(super) fn united(tables: Vec<Table>) -> Result<Table, BuildError> {
    let tables = match <[Table; 1]>::try_from(tables) {
        Ok([table]) => return Ok(table),
        Err(tables) => tables,
    };
    let (classes, bytes) = classes(&tables);
    let mut all = Table { classes, states: vec![], edges: vec![], starts: vec![] };
    for table in &tables {
        let before = all.states.len();
        let place = |state: usize| {
            u16::try_from(before + state).map(U16::new).map_err(|_| BuildError::TooManyPatterns)
        };
        if before > 0 {
            all.starts.push(place(0)?);
        }
        for row in table.edges.chunks_exact(table.edges.len() / table.states.len()) {
            for &byte in &bytes {
                let next = row[usize::from(table.classes[usize::from(byte)])];
                all.edges.push(place(next.get().into())?);
            }
        }
        all.states.extend_from_slice(&table.states);
    }
    Ok(all)
}

/// The class of each byte, and a byte of each class. Bytes of one class are in one class in every table.
fn classes(tables: &[Table]) -> (Vec<u8>, Vec<u8>) {
    let mut known = HashMap::new();
    let mut bytes = Vec::new();
    let class = |byte: u8| {
        let of_each: Vec<u8> =
            tables.iter().map(|table| table.classes[usize::from(byte)]).collect();
        *known.entry(of_each).or_insert_with(|| {
            bytes.push(byte);
            // There are no more classes than bytes.
            u8::try_from(bytes.len() - 1).unwrap_or(u8::MAX)
        })
    };
    let classes = (0..=u8::MAX).map(class).collect();
    (classes, bytes)
}
