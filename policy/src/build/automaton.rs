//! From patterns to the table that an image carries: the automaton that `regex-automata` determines,
//! with equal states made one.
//!
//! The table is not the library's own form: that would have to be validated as a whole by every process
//! that maps it, and equal states of it do not mean equal futures, which renames are judged by.

use std::collections::HashMap;
use std::string::String;
use std::vec;
use std::vec::Vec;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, MatchKind};
use zerocopy::little_endian::U16;

use super::BuildError;
use crate::automaton::{Marks, State};

/// What the library may use while it determines the automaton.
const ROOM: usize = 256 << 20;

/// The parts of the table, see [`crate::automaton::Automaton`].
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) classes: Vec<u8>,
    pub(super) states: Vec<State>,
    pub(super) edges: Vec<U16>,
}

/// The next state of each state by each byte, the first state being the first; and the marks of each.
struct Determined {
    next: Vec<[u32; 256]>,
    here: Vec<Marks>,
}

/// The table for lists of regular expressions, each list with the mark that it stands for.
pub(super) fn table(lists: &[(Marks, Vec<String>)]) -> Result<Table, BuildError> {
    let determined = determine(lists)?;
    let (merged, blocks) = merge(&determined);
    // The block of a state and a state of each block are all that is needed from here on.
    let mut representatives = vec![0; blocks];
    for (state, &block) in merged.iter().enumerate() {
        representatives[block] = state;
    }
    let target =
        |block: usize, byte: usize| merged[determined.next[representatives[block]][byte] as usize];
    let (classes, bytes) = classes(blocks, &target);
    let here: Vec<Marks> = representatives.iter().map(|&state| determined.here[state]).collect();
    let mut edges = Vec::with_capacity(blocks * bytes.len());
    for block in 0..blocks {
        for &byte in &bytes {
            let next = u16::try_from(target(block, byte)).map_err(|_| BuildError::TooLarge)?;
            edges.push(U16::new(next));
        }
    }
    let ahead = ahead(&here, &edges, bytes.len());
    let states = here.iter().zip(ahead);
    let states =
        states.map(|(here, ahead)| State { here: here.bits(), ahead: ahead.bits() }).collect();
    Ok(Table { classes, states, edges })
}

fn determine(lists: &[(Marks, Vec<String>)]) -> Result<Determined, BuildError> {
    let patterns: Vec<String> = lists.iter().map(|(_, list)| alternation(list)).collect();
    let automaton = dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Anchored)
                .match_kind(MatchKind::All)
                .accelerate(false)
                .dfa_size_limit(Some(ROOM))
                .determinize_size_limit(Some(ROOM)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true))
        .thompson(thompson::Config::new().utf8(false))
        .build_many(&patterns)
        .map_err(|_| BuildError::TooManyPatterns)?;
    let begin = start::Config::new().anchored(Anchored::Yes);
    let begin = automaton.start_state(&begin).map_err(|_| BuildError::TooManyPatterns)?;

    let mut numbers = HashMap::from([(begin, 0_u32)]);
    let mut found = vec![begin];
    let mut determined = Determined { next: Vec::new(), here: Vec::new() };
    while let Some(&state) = found.get(determined.next.len()) {
        let mut row = [0; 256];
        for (byte, next) in (0..=u8::MAX).zip(&mut row) {
            let to = automaton.next_state(state, byte);
            let fresh = u32::try_from(found.len()).map_err(|_| BuildError::TooLarge)?;
            *next = *numbers.entry(to).or_insert_with(|| {
                found.push(to);
                fresh
            });
        }
        determined.next.push(row);
        let end = automaton.next_eoi_state(state);
        let matched = if automaton.is_match_state(end) { automaton.match_len(end) } else { 0 };
        let marks = (0..matched).map(|which| automaton.match_pattern(end, which).as_usize());
        let marks = marks.filter_map(|list| lists.get(list)).map(|(mark, _)| *mark);
        determined.here.push(marks.fold(Marks::NONE, Marks::union));
    }
    Ok(determined)
}

/// One expression for a list; of an empty one, one that matches nothing.
fn alternation(list: &[String]) -> String {
    if list.is_empty() {
        return "[a&&b]".into();
    }
    let list: Vec<String> = list.iter().map(|one| std::format!("(?:{one})")).collect();
    list.join("|")
}

/// Numbers the states such that equal numbers have equal futures (Moore's algorithm), the first state
/// being of the first block; and how many numbers there are.
fn merge(determined: &Determined) -> (Vec<usize>, usize) {
    let mut blocks: Vec<usize> =
        determined.here.iter().map(|marks| usize::from(marks.bits())).collect();
    let mut count = 0;
    loop {
        let mut known: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        let refined: Vec<usize> = determined
            .next
            .iter()
            .zip(&blocks)
            .map(|(row, &block)| {
                let future = row.iter().map(|&next| blocks[next as usize]).collect();
                let fresh = known.len();
                *known.entry((block, future)).or_insert(fresh)
            })
            .collect();
        blocks = refined;
        if known.len() == count {
            return (blocks, count);
        }
        count = known.len();
    }
}

/// The class of each byte, and a byte of each class.
fn classes(blocks: usize, target: &impl Fn(usize, usize) -> usize) -> (Vec<u8>, Vec<usize>) {
    let mut known: HashMap<Vec<usize>, u8> = HashMap::new();
    let mut bytes = Vec::new();
    let class = |byte: usize| {
        let column: Vec<usize> = (0..blocks).map(|block| target(block, byte)).collect();
        let fresh = u8::try_from(known.len()).unwrap_or(u8::MAX);
        *known.entry(column).or_insert_with(|| {
            bytes.push(byte);
            fresh
        })
    };
    let classes = (0..256).map(class).collect();
    (classes, bytes)
}

/// The marks that each state may still come to.
fn ahead(here: &[Marks], edges: &[U16], stride: usize) -> Vec<Marks> {
    let mut ahead = vec![Marks::NONE; here.len()];
    loop {
        let before = ahead.clone();
        for (state, row) in edges.chunks(stride).enumerate() {
            for next in row {
                let next = usize::from(next.get());
                ahead[state] = ahead[state].union(here[next]).union(ahead[next]);
            }
        }
        if before == ahead {
            return ahead;
        }
    }
}
