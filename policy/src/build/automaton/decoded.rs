//! The automaton of the patterns, which the library determines over encoded paths, taken over plain ones. Used where
//! the table of patterns is made.

use std::cell::RefCell;
use std::collections::HashMap;
use std::vec::Vec;

use regex_automata::dfa::{Automaton as _, dense};
use regex_automata::util::primitives::StateID;

use crate::characters::{Decoder, encoded_byte};

/// Where a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Point {
    /// In the library's automaton, if the character that has begun, if one has, is none: each byte of it is one.
    pub(super) state: StateID,
    /// What goes on with that character, and the state if it does.
    begun: Option<(Decoder, StateID)>,
}

/// See [`self`].
pub(super) struct Decoded {
    pub(super) automaton: dense::DFA<Vec<u32>>,
    /// Whether expressions tell characters from bytes.
    decodes: bool,
    /// Whether every byte beyond ASCII leads from a state to itself.
    steady: RefCell<HashMap<StateID, bool>>,
}

impl Decoded {
    pub(super) fn new(automaton: dense::DFA<Vec<u32>>, decodes: bool) -> Self {
        Self { automaton, decodes, steady: RefCell::default() }
    }

    /// What bytes have in common that lead from each point to the same.
    pub(super) fn kind(&self, byte: u8) -> [u8; 4] {
        let class = |byte| self.automaton.byte_classes().get(byte);
        if !self.decodes || byte.is_ascii() {
            return [class(byte), 0, 0, 0];
        }
        let [lead, follower] = encoded_byte(byte);
        [class(byte), class(lead), class(follower), Decoder::kind(byte)]
    }

    /// Where paths begin that stand at this state.
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
        // Most states come to the same whatever the characters are.
        let begun = begun.filter(|&(_, within)| within != state || !self.is_steady(state));
        Point { state, begun }
    }

    fn is_steady(&self, state: StateID) -> bool {
        let leads_back = |byte| self.automaton.next_state(state, byte) == state;
        let mut steady = self.steady.borrow_mut();
        *steady.entry(state).or_insert_with(|| (0x80..=u8::MAX).all(leads_back))
    }
}
