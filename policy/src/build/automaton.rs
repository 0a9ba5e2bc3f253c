//! From patterns to the table that an image carries: the automaton that `regex-automata` determines,
//! with equal states made one.
//!
//! The table is not the library's own form: that would have to be validated as a whole by every process
//! that maps it, and equal states of it do not mean equal futures, which renames are judged by.

use std::collections::{BTreeMap, HashMap};
use std::string::String;
use std::vec;
use std::vec::Vec;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::alphabet::Unit;
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, MatchKind};
use zerocopy::little_endian::U16;

use super::BuildError;
use crate::automaton::{Marks, State};

/// How large the library's table may become. A thousand names need a tenth of it; few patterns with many
/// `*` or `?` in one part may need more than there is.
const TABLE_ROOM: usize = 16 << 20;
/// What the library may use beside it. The time that it takes goes with this: seconds at the worst.
const WORK_ROOM: usize = 6 << 20;

/// The parts of the table, see [`crate::automaton::Automaton`].
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) classes: Vec<u8>,
    pub(super) states: Vec<State>,
    pub(super) edges: Vec<U16>,
}

/// The next state of each state by each of some bytes, the first state being the first; and the marks of
/// each.
struct Determined {
    /// Each stands for all bytes that make no difference to it.
    bytes: Vec<u8>,
    /// The place in `bytes` of what stands for a byte.
    places: [usize; 256],
    /// As many for each state as there are `bytes`.
    next: Vec<u32>,
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
    let stride = determined.bytes.len();
    let target = |block: usize, place: usize| {
        merged[determined.next[representatives[block] * stride + place] as usize]
    };
    let (classes, places) = classes(&determined, blocks, &target);
    let here: Vec<Marks> = representatives.iter().map(|&state| determined.here[state]).collect();
    let mut edges = Vec::with_capacity(blocks * places.len());
    for block in 0..blocks {
        for &place in &places {
            let next = u16::try_from(target(block, place)).map_err(|_| BuildError::TooLarge)?;
            edges.push(U16::new(next));
        }
    }
    let ahead = ahead(&here, &edges, places.len());
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
                .dfa_size_limit(Some(TABLE_ROOM))
                .determinize_size_limit(Some(WORK_ROOM)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true))
        .thompson(thompson::Config::new().utf8(false))
        .build_many(&patterns)
        .map_err(|_| BuildError::TooManyPatterns)?;
    let begin = start::Config::new().anchored(Anchored::Yes);
    let begin = automaton.start_state(&begin).map_err(|_| BuildError::TooManyPatterns)?;

    let mut numbers = HashMap::from([(begin, 0_u32)]);
    let mut found = vec![begin];
    let alike = automaton.byte_classes();
    let bytes = alike.representatives(..).filter_map(Unit::as_u8).collect();
    let places =
        std::array::from_fn(|byte| u8::try_from(byte).map_or(0, |byte| alike.get(byte).into()));
    let mut determined = Determined { bytes, places, next: Vec::new(), here: Vec::new() };
    while let Some(&state) = found.get(determined.here.len()) {
        for &byte in &determined.bytes {
            let to = automaton.next_state(state, byte);
            let fresh = u32::try_from(found.len()).map_err(|_| BuildError::TooLarge)?;
            determined.next.push(*numbers.entry(to).or_insert_with(|| {
                found.push(to);
                fresh
            }));
        }
        let end = automaton.next_eoi_state(state);
        let matched = if automaton.is_match_state(end) { automaton.match_len(end) } else { 0 };
        let marks = (0..matched).map(|which| automaton.match_pattern(end, which).as_usize());
        let marks = marks.filter_map(|list| lists.get(list)).map(|(mark, _)| *mark);
        determined.here.push(marks.fold(Marks::NONE, Marks::union));
    }
    Ok(determined)
}

/// What many patterns begin and end with: `**/*`, `**/`, `/**` and `*`. Written once it is followed once; a
/// thousand times, it would be followed in as many combinations.
const BEGINNINGS: [&str; 3] = ["(?-u)^(?:/?|.*/)[[^/]&&[^/]]*", "(?-u)^(?:/?|.*/)", "(?-u)^"];
const ENDINGS: [&str; 3] = ["/.*$", "[[^/]&&[^/]]*$", "$"];

/// One expression for a list; of an empty one, one that matches nothing.
fn alternation(list: &[String]) -> String {
    if list.is_empty() {
        return "[a&&b]".into();
    }
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for one in list {
        let (begin, rest) = BEGINNINGS
            .iter()
            .find_map(|&begin| Some((begin, one.strip_prefix(begin)?)))
            .unwrap_or(("", one));
        let (end, rest) = ENDINGS
            .iter()
            .find_map(|&end| Some((end, rest.strip_suffix(end)?)))
            .unwrap_or(("", rest));
        groups.entry((begin, end)).or_default().push(rest);
    }
    let group = |((begin, end), rests): (&(&str, &str), &Vec<&str>)| {
        std::format!("(?:{begin}(?:{}){end})", rests.join("|"))
    };
    groups.iter().map(group).collect::<Vec<_>>().join("|")
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
            .chunks(determined.bytes.len())
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

/// The class of each byte, and for each class the place of a byte of it.
fn classes(
    determined: &Determined,
    blocks: usize,
    target: &impl Fn(usize, usize) -> usize,
) -> (Vec<u8>, Vec<usize>) {
    let mut known: HashMap<Vec<usize>, u8> = HashMap::new();
    let mut places = Vec::new();
    let class = |place: usize| {
        let column: Vec<usize> = (0..blocks).map(|block| target(block, place)).collect();
        let fresh = u8::try_from(known.len()).unwrap_or(u8::MAX);
        *known.entry(column).or_insert_with(|| {
            places.push(place);
            fresh
        })
    };
    let classes: Vec<u8> = (0..determined.bytes.len()).map(class).collect();
    (determined.places.map(|place| classes[place]).to_vec(), places)
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
