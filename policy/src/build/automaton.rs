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
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, MatchKind};
use zerocopy::little_endian::U16;

use super::BuildError;
use crate::automaton::{Automaton, Marks, Seen, State};
use crate::image::mix;

/// How large the library's table may become. A thousand names need a tenth of it; few patterns with many
/// `*` or `?` in one part may need more than there is.
const TABLE_ROOM: usize = 16 << 20;
/// What the library may use beside it. The time that it takes goes with this: seconds at the worst.
const WORK_ROOM: usize = 6 << 20;

/// Expressions, over bytes, of one list of patterns, and the mark that the list stands for.
#[derive(Debug)]
pub(crate) struct Expressions {
    pub(crate) marks: Marks,
    /// Of whole paths.
    pub(crate) exact: Vec<String>,
    /// Of directories: what is below them is meant. Written into the expression this would have the
    /// library tell apart which of them were passed, and there may be many.
    pub(crate) below: Vec<String>,
}

/// The parts of the table, see [`crate::automaton::Automaton`].
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(super) classes: Vec<u8>,
    pub(super) states: Vec<State>,
    pub(super) edges: Vec<U16>,
}

impl Table {
    /// What the patterns say of a path.
    pub(crate) fn look(&self, path: &[u8]) -> Seen {
        self.automaton().look(path)
    }

    /// Where the automaton stands behind the canonical path of a directory.
    pub(super) fn state_behind(&self, directory: &[u8]) -> u32 {
        self.automaton().state_behind(directory)
    }

    fn automaton(&self) -> Automaton<'_> {
        let Self { classes, states, edges } = self;
        Automaton { classes, states, edges }
    }
}

/// The table of an image that has no patterns.
pub(super) static NO_PATTERNS: Table =
    Table { classes: Vec::new(), states: Vec::new(), edges: Vec::new() };

/// States, the first being where paths begin: which comes next by each column, and the marks of each.
struct Determined {
    /// The column of each byte.
    columns: Vec<usize>,
    next: Vec<Vec<u32>>,
    here: Vec<Marks>,
}

/// The table for lists of patterns.
pub(crate) fn table(lists: &[Expressions]) -> Result<Table, BuildError> {
    let determined = determine(lists)?;
    let (merged, blocks) = merge(&determined);
    // The block of a state and a state of each block are all that is needed from here on.
    let mut representatives = vec![0; blocks];
    for (state, &block) in merged.iter().enumerate() {
        representatives[block] = state;
    }
    let width = determined.next.first().map_or(0, Vec::len);
    let target = |block: usize, column: usize| {
        merged[determined.next[representatives[block]][column] as usize]
    };
    let (classes, columns) = classes(blocks, width, &target);
    let here: Vec<Marks> = representatives.iter().map(|&state| determined.here[state]).collect();
    let mut edges = Vec::with_capacity(blocks * columns.len());
    for block in 0..blocks {
        for &column in &columns {
            let next = u16::try_from(target(block, column)).map_err(|_| BuildError::TooLarge)?;
            edges.push(U16::new(next));
        }
    }
    let ahead = ahead(&here, &edges, columns.len());
    let states = here.iter().zip(ahead);
    let states =
        states.map(|(here, ahead)| State { here: here.bits(), ahead: ahead.bits() }).collect();
    let classes = determined.columns.iter().map(|&column| classes[column]).collect();
    Ok(Table { classes, states, edges })
}

/// A state of the library's automaton, and the marks that hold for all that is below a directory passed.
type Passed = (StateID, Marks);

fn determine(lists: &[Expressions]) -> Result<Determined, BuildError> {
    let automaton = library_automaton(lists)?;
    let begin = start::Config::new().anchored(Anchored::Yes);
    let begin = automaton.start_state(&begin).map_err(|_| BuildError::TooManyPatterns)?;
    let (columns, bytes) = columns(&automaton);
    let mut numbers = HashMap::from([((begin, Marks::NONE), 0_u32)]);
    let mut found: Vec<Passed> = vec![(begin, Marks::NONE)];
    let mut determined = Determined { columns, next: Vec::new(), here: Vec::new() };
    while let Some(&(state, passed)) = found.get(determined.next.len()) {
        let (exact, below) = marks(&automaton, state, lists);
        let mut row = Vec::with_capacity(bytes.len());
        for &byte in &bytes {
            let within = if byte == b'/' { passed.union(below) } else { passed };
            let to = (automaton.next_state(state, byte), within);
            let fresh = u32::try_from(found.len()).map_err(|_| BuildError::TooLarge)?;
            row.push(*numbers.entry(to).or_insert_with(|| {
                found.push(to);
                fresh
            }));
        }
        determined.next.push(row);
        determined.here.push(exact.union(passed));
    }
    Ok(determined)
}

fn library_automaton(lists: &[Expressions]) -> Result<dense::DFA<Vec<u32>>, BuildError> {
    let both = |list: &Expressions| [alternation(&list.exact), alternation(&list.below)];
    let patterns: Vec<String> = lists.iter().flat_map(both).collect();
    dense::Builder::new()
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
        .map_err(|_| BuildError::TooManyPatterns)
}

/// The lists that match a path which ends in this state: it itself, and as a directory.
fn marks(
    automaton: &dense::DFA<Vec<u32>>,
    state: StateID,
    lists: &[Expressions],
) -> (Marks, Marks) {
    let end = automaton.next_eoi_state(state);
    let matched = if automaton.is_match_state(end) { automaton.match_len(end) } else { 0 };
    let (mut exact, mut below) = (Marks::NONE, Marks::NONE);
    for pattern in (0..matched).map(|which| automaton.match_pattern(end, which).as_usize()) {
        let Some(list) = lists.get(pattern / 2) else { continue };
        let of = if pattern % 2 == 0 { &mut exact } else { &mut below };
        *of = of.union(list.marks);
    }
    (exact, below)
}

/// The column of each byte, and a byte of each column: the library's classes, the separator apart.
fn columns(automaton: &dense::DFA<Vec<u32>>) -> (Vec<usize>, Vec<u8>) {
    let mut known: HashMap<(u8, bool), usize> = HashMap::new();
    let mut bytes = Vec::new();
    let column = |byte: u8| {
        let fresh = bytes.len();
        *known.entry((automaton.byte_classes().get(byte), byte == b'/')).or_insert_with(|| {
            bytes.push(byte);
            fresh
        })
    };
    let columns = (0..=u8::MAX).map(column).collect();
    (columns, bytes)
}

/// What many patterns begin and end with: `**/*` or `**/`, and `*`. Written once it is followed once; a
/// thousand times, it would be followed in as many combinations.
const BEGINNINGS: [&str; 3] = ["(?-u)^(?:/?|.*/)[[^/]&&[^/]]*", "(?-u)^(?:/?|.*/)", "(?-u)^"];
const ENDINGS: [&str; 2] = ["[[^/]&&[^/]]*$", "$"];

/// One expression for a list; of an empty one, one that matches nothing.
fn alternation(list: &[String]) -> String {
    if list.is_empty() {
        return "[a&&b]".into();
    }
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for one in list {
        let begins = |&begin: &&'static str| Some((begin, one.strip_prefix(begin)?));
        let (begin, rest) = BEGINNINGS.iter().find_map(begins).unwrap_or(("", one));
        let ends = |&end: &&'static str| Some((end, rest.strip_suffix(end)?));
        let (end, rest) = ENDINGS.iter().find_map(ends).unwrap_or(("", rest));
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
        let (refined, found) = refine(determined, &blocks);
        if found == count {
            return (refined, found);
        }
        (blocks, count) = (refined, found);
    }
}

/// Parts what is in one block and leads to different ones; the blocks are numbered by their first states.
fn refine(determined: &Determined, blocks: &[usize]) -> (Vec<usize>, usize) {
    let future = |state: usize| {
        let next = determined.next[state].iter().map(|&next| blocks[next as usize]);
        core::iter::once(blocks[state]).chain(next)
    };
    // Futures are compared whole only where their digests are equal.
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

/// The class of each column, and a column of each class.
fn classes(
    blocks: usize,
    width: usize,
    target: &impl Fn(usize, usize) -> usize,
) -> (Vec<u8>, Vec<usize>) {
    let mut known: HashMap<Vec<usize>, u8> = HashMap::new();
    let mut columns = Vec::new();
    let class = |column: usize| {
        let futures: Vec<usize> = (0..blocks).map(|block| target(block, column)).collect();
        let fresh = u8::try_from(known.len()).unwrap_or(u8::MAX);
        *known.entry(futures).or_insert_with(|| {
            columns.push(column);
            fresh
        })
    };
    let classes = (0..width).map(class).collect();
    (classes, columns)
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
