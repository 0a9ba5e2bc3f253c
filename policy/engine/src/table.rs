//! Builds the table of an image from patterns: the automaton that `regex-automata` determines, with equal states
//! merged.
//!
//! The table does not use that crate's own form. Every process that maps it would have to validate that form as a
//! whole. Also, its states can differ and still have equal futures, and renames are judged by futures.

mod decoded;
mod least;
mod listed;
mod names;
mod parts;

use std::collections::{BTreeMap, HashMap};
use std::string::String;
use std::vec;
use std::vec::Vec;

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};
use zerocopy::little_endian::U16;

use self::decoded::{Decoded, Point};
use self::least::{States, least};
pub(crate) use self::listed::{Expression, PatternList};
use self::names::NameTree;
use self::parts::{parts, united};
use crate::automaton::{Automaton, Marks, Seen, State};
use crate::build_error::BuildError;
use crate::characters::CHARACTER;

/// Most bytes for all tables of `regex-automata` together. The time depends on this, and is a second and a half at
/// worst. A thousand names need a tenth of it. A few patterns with many `*` or `?` in one part may need more.
const TABLE_ROOM: usize = 16 << 20;
/// Most bytes of working memory for each table.
const WORK_ROOM: usize = 6 << 20;
/// Most states before equal ones are merged. With characters of several bytes there are more than in the table of
/// `regex-automata`.
const MOST_STATES: usize = 1 << 17;

/// The parts of the table, see [`crate::automaton::Automaton`].
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(super) classes: Vec<u8>,
    pub(super) states: Vec<State>,
    pub(super) edges: Vec<U16>,
    pub(super) starts: Vec<U16>,
}

impl Table {
    /// The patterns' answer for a path.
    pub(crate) fn look(&self, path: &[u8]) -> Seen {
        if self.is_empty() { Seen::NOTHING } else { self.automaton().look(path) }
    }

    /// Whether there are no patterns.
    pub(crate) const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether the patterns say the same below two canonical directories.
    pub(crate) fn alike_below(&self, one: &[u8], other: &[u8]) -> bool {
        self.is_empty() || self.automaton().alike_below(one, other)
    }

    /// The state of the first automaton after the canonical path of a directory.
    pub(super) fn state_behind(&self, directory: &[u8]) -> u32 {
        self.automaton().state_behind(directory)
    }

    fn automaton(&self) -> Automaton<'_> {
        let Self { classes, states, edges, starts } = self;
        Automaton { classes, states, edges, starts, folds: None }
    }
}

/// The table of an image that has no patterns.
pub(crate) static NO_PATTERNS: Table =
    Table { classes: Vec::new(), states: Vec::new(), edges: Vec::new(), starts: Vec::new() };

/// The table for lists of patterns.
pub(crate) fn table(lists: &[PatternList]) -> Result<Table, BuildError> {
    let mut room = TABLE_ROOM;
    let parts = parts(lists);
    let tables = parts.iter().map(|lists| table_of_one(lists, &mut room));
    united(tables.collect::<Result<_, _>>()?)
}

/// The table of one automaton. The memory that it takes is subtracted from `room`.
///
/// Names are a tree already, so `regex-automata` need not find out what follows each of their bytes. It determines the
/// other patterns alone, and the names are added to the result.
fn table_of_one(lists: &[PatternList], room: &mut usize) -> Result<Table, BuildError> {
    let names = NameTree::of(lists);
    let determined = determine(lists, &names, room)?;
    let States { next, here } = least(&determined, &names);
    let (classes, distinct) = classes(&next);
    let mut edges = Vec::with_capacity(next.len() * distinct.len());
    for row in &next {
        for &column in &distinct {
            let next = u16::try_from(row[column]).map_err(|_| BuildError::TooManyPatterns)?;
            edges.push(U16::new(next));
        }
    }
    let ahead = ahead(&here, &edges, distinct.len());
    let states = here.iter().zip(ahead);
    let states = states
        .map(|(here, ahead)| State { here: here.bits().into(), ahead: ahead.bits().into() })
        .collect();
    let classes = determined.columns.iter().map(|&column| classes[column]).collect();
    Ok(Table { classes, states, edges, starts: Vec::new() })
}

/// A point of the determined automaton, and the marks of all directories that the path is below.
type Passed = (Point, Marks);

/// The futures of paths, as far as the determined automaton knows them.
struct Determined {
    /// The column of each byte.
    columns: Vec<usize>,
    /// Every state that a path can reach after it has left the names.
    states: States,
    /// For each name, where bytes lead that do not continue a longer name.
    names: States,
}

fn determine(
    lists: &[PatternList],
    names: &NameTree,
    room: &mut usize,
) -> Result<Determined, BuildError> {
    let automaton = library_automaton(lists, *room)?;
    *room = room.saturating_sub(automaton.memory_usage());
    let begin = start::Config::new().anchored(Anchored::Yes);
    let begin = automaton.start_state(&begin).map_err(|_| BuildError::TooIntricate)?;
    let automaton = Decoded::new(automaton, tells_characters(lists));
    let begin = Decoded::at(begin);
    let (columns, bytes) = columns(&automaton, names);
    let mut numbers = HashMap::new();
    let mut found: Vec<Passed> = Vec::new();
    let step = |(point, passed): Passed, below: Marks, byte| {
        let within = if byte == b'/' { passed.union(below) } else { passed };
        (automaton.step(point, byte), within)
    };
    let mut row = |found: &mut Vec<Passed>, (at, below): (Passed, Marks)| {
        let number = |&byte: &u8| {
            let to = step(at, below, byte);
            *numbers.entry(to).or_insert_with(|| {
                found.push(to);
                found.len() - 1
            })
        };
        bytes.iter().map(number).collect::<Vec<usize>>()
    };
    let mut of_names = States::default();
    let mut rows = HashMap::new();
    let mut places = vec![(begin, Marks::NONE); names.nodes().len()];
    for (number, node) in names.nodes().iter().enumerate() {
        let at = places[number];
        let (exact, below) = marks(&automaton.automaton, at.0.state, lists);
        let below = below.union(node.below);
        of_names.here.push(exact.union(node.exact).union(at.1));
        // Most names are at the same place as others.
        let next = rows.entry((at, below)).or_insert_with_key(|&place| row(&mut found, place));
        of_names.next.push(next.clone());
        for &(byte, child) in &node.children {
            places[child] = step(at, below, byte);
        }
    }
    let mut states = States::default();
    while let Some(&at) = found.get(states.next.len()) {
        if found.len() > MOST_STATES {
            return Err(BuildError::TooIntricate);
        }
        let (exact, below) = marks(&automaton.automaton, at.0.state, lists);
        states.here.push(exact.union(at.1));
        states.next.push(row(&mut found, (at, below)));
    }
    Ok(Determined { columns, states, names: of_names })
}

fn library_automaton(
    lists: &[PatternList],
    room: usize,
) -> Result<dense::DFA<Vec<u32>>, BuildError> {
    let both = |list: &PatternList| {
        [alternation(&list.exact.expressions), alternation(&list.below.expressions)]
    };
    let patterns: Vec<String> = lists.iter().flat_map(both).collect();
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Anchored)
                .match_kind(MatchKind::All)
                .accelerate(false)
                .dfa_size_limit(Some(room))
                .determinize_size_limit(Some(WORK_ROOM)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true))
        .thompson(thompson::Config::new().utf8(false))
        .build_many(&patterns)
        .map_err(|_| BuildError::TooIntricate)
}

/// Whether expressions in these lists tell characters from bytes.
fn tells_characters(lists: &[PatternList]) -> bool {
    let matching = lists.iter().flat_map(|list| [&list.exact, &list.below]);
    let mut expressions = matching.flat_map(|matching| &matching.expressions);
    expressions.any(|one| one.regex.contains(CHARACTER))
}

/// The marks of a path that ends in this state: for itself, and as a directory.
fn marks(
    automaton: &dense::DFA<Vec<u32>>,
    state: StateID,
    lists: &[PatternList],
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

/// The column of each byte, and a byte of each column. Columns are the classes of the determined automaton, with the
/// separator and the bytes of names apart.
fn columns(automaton: &Decoded, names: &NameTree) -> (Vec<usize>, Vec<u8>) {
    let mut known = HashMap::new();
    let mut bytes = Vec::new();
    let apart = names.bytes();
    let column = |byte: u8| {
        let fresh = bytes.len();
        let apart = (byte == b'/' || apart.contains(&byte)).then_some(byte);
        *known.entry((automaton.kind(byte), apart)).or_insert_with(|| {
            bytes.push(byte);
            fresh
        })
    };
    let columns = (0..=u8::MAX).map(column).collect();
    (columns, bytes)
}

/// Common beginnings and endings of patterns: `**/*` or `**/`, and `*`. Written once, each is followed once. Written a
/// thousand times, it would be followed in as many combinations.
const BEGINNINGS: [&str; 3] = ["(?-u)^(?:/?|.*/)[[^/]&&[^/]]*", "(?-u)^(?:/?|.*/)", "(?-u)^"];
const ENDINGS: [&str; 2] = ["[[^/]&&[^/]]*$", "$"];

/// One expression for a list. For an empty list, it matches nothing.
fn alternation(list: &[Expression]) -> String {
    if list.is_empty() {
        return "[a&&b]".into();
    }
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for Expression { regex: one, .. } in list {
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

/// The class of each column, and a column of each class.
fn classes(next: &[Vec<usize>]) -> (Vec<u8>, Vec<usize>) {
    let mut known: HashMap<Vec<usize>, u8> = HashMap::new();
    let mut distinct = Vec::new();
    let class = |column: usize| {
        let futures: Vec<usize> = next.iter().map(|row| row[column]).collect();
        let fresh = u8::try_from(known.len()).unwrap_or(u8::MAX);
        *known.entry(futures).or_insert_with(|| {
            distinct.push(column);
            fresh
        })
    };
    let classes = (0..next.first().map_or(0, Vec::len)).map(class).collect();
    (classes, distinct)
}

/// The marks that a path may still reach from each state.
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
