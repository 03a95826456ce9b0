//! How the states of an automaton over bytes make up characters.

use crate::chars::dfa::CharDfa;
use crate::ids::{CharState, StateId, number};

/// The states of a byte automaton that belong to one state of its character automaton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The state between two characters.
    pub(crate) root: StateId,
    /// The first of the states inside characters. They may be those of an earlier block.
    pub(crate) inner: StateId,
    pub(crate) inner_states: u32,
    /// Which bytes lead where: blocks of one template differ in their exits alone.
    pub(crate) template: u32,
    /// Where the exits stand in [`CharStates::exits`].
    pub(crate) exits: (u32, u32),
}

/// How the states of a byte automaton make up characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharStates {
    pub(crate) dfa: CharDfa,
    /// `[character states]`, ascending by root.
    pub(crate) blocks: Vec<Block>,
    /// The character states that follow a wide character.
    pub(crate) exits: Vec<StateId>,
}

impl CharStates {
    /// The state between characters with this number in the byte automaton.
    pub fn at(&self, state: StateId) -> Option<CharState> {
        let at = self.blocks.binary_search_by_key(&state, |block| block.root).ok()?;
        (at > 0).then(|| CharState::new(number(at)))
    }

    /// The state between characters that follows another when `char` is read.
    pub fn after(&self, char_state: CharState, char: u32) -> Option<CharState> {
        let ranges = &self.dfa.ranges;
        let &(first, _, class) = ranges.get(ranges.partition_point(|&(_, last, _)| last < char))?;
        let row = self.dfa.row(char_state.id());
        let at = row.binary_search_by_key(&class, |edge| edge.0).ok().filter(|_| first <= char)?;
        Some(CharState::new(row[at].1))
    }

    /// Number of ranges of characters that lead anywhere.
    pub fn ranges(&self) -> usize {
        self.dfa.ranges.len()
    }

    /// The classes of the given characters, ascending; `None` if some character has none and so leads nowhere. `chars`:
    /// ranges, ascending, both ends included. O(ranges here × log(ranges there)).
    pub fn classes_of(&self, chars: &[[u32; 2]]) -> Option<Vec<u32>> {
        let mut found = vec![false; self.dfa.classes];
        let mut rest = chars;
        let mut behind = 0;
        // Whether some character lies in [from, to]; ranges are asked for in ascending order.
        let mut any = |from: u32, to: u32| {
            // Doubling steps: near ranges are found in a few looks, far ones in few more.
            let mut step = 1;
            while rest.get(step).is_some_and(|range| range[1] < from) {
                step *= 2;
            }
            let near = &rest[..rest.len().min(step + 1)];
            rest = &rest[near.partition_point(|range| range[1] < from)..];
            rest.first().is_some_and(|range| range[0] <= to)
        };
        for &(first, last, class) in &self.dfa.ranges {
            if behind < first && any(behind, first - 1) {
                return None;
            }
            found[class as usize] |= any(first, last);
            behind = last + 1;
        }
        if any(behind, u32::from(char::MAX)) {
            return None;
        }
        Some((0..).zip(found).filter(|(_, found)| *found).map(|(class, _)| class).collect())
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.dfa.bytes() + (self.blocks.len() * size_of::<Block>() + self.exits.len() * 4) as u64
    }
}
