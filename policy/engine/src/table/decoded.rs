//! Runs the automaton of the patterns over plain paths, although `regex-automata` determined it over encoded ones. Used
//! by the builder of the table of patterns.

use std::cell::RefCell;
use std::collections::HashMap;
use std::vec::Vec;

use regex_automata::dfa::{Automaton as _, dense};
use regex_automata::util::primitives::StateID;

use crate::characters::{Decoder, encoded_byte};

/// The position of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Point {
    /// The state in the determined automaton, if an unfinished character counts as invalid: each of its bytes is then
    /// one.
    pub(super) state: StateID,
    /// The decoder of the unfinished character, and the state if it continues.
    begun: Option<(Decoder, StateID)>,
}

/// See [`self`].
pub(super) struct Decoded {
    pub(super) automaton: dense::DFA<Vec<u32>>,
    /// Whether expressions tell characters from bytes.
    decodes: bool,
    /// For each state, whether every byte beyond ASCII leads back to it.
    steady: RefCell<HashMap<StateID, bool>>,
}

impl Decoded {
    pub(super) fn new(automaton: dense::DFA<Vec<u32>>, decodes: bool) -> Self {
        Self { automaton, decodes, steady: RefCell::default() }
    }

    /// The kind of a byte. Bytes of one kind lead from each point to the same one.
    pub(super) fn kind(&self, byte: u8) -> [u8; 4] {
        let class = |byte| self.automaton.byte_classes().get(byte);
        if !self.decodes || byte.is_ascii() {
            return [class(byte), 0, 0, 0];
        }
        let [lead, follower] = encoded_byte(byte);
        [class(byte), class(lead), class(follower), Decoder::kind(byte)]
    }

    /// The point of a path that begins at this state.
    pub(super) const fn at(state: StateID) -> Point {
        Point { state, begun: None }
    }

    pub(super) fn step(&self, from: Point, byte: u8) -> Point {
        let next = |state| self.automaton.next_state(state, byte);
        if !self.decodes || byte.is_ascii() {
            return Self::at(next(from.state));
        }
        let state = encoded_byte(byte)
            .into_iter()
            .fold(from.state, |state, byte| self.automaton.next_state(state, byte));
        let begun = match from.begun.filter(|(decoder, _)| decoder.accepts(byte)) {
            Some((decoder, within)) => match decoder.advance() {
                Some(decoder) => Some((decoder, next(within))),
                None => return Self::at(next(within)),
            },
            None => Decoder::begin(byte).map(|decoder| (decoder, next(from.state))),
        };
        // In most states the characters make no difference.
        let begun = begun.filter(|&(_, within)| within != state || !self.is_steady(state));
        Point { state, begun }
    }

    fn is_steady(&self, state: StateID) -> bool {
        let leads_back = |byte| self.automaton.next_state(state, byte) == state;
        let mut steady = self.steady.borrow_mut();
        *steady.entry(state).or_insert_with(|| (0x80..=u8::MAX).all(leads_back))
    }
}
