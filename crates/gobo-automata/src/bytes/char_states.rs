//! How the states of an automaton over bytes make up characters.

use std::ops::Range;

use gobo_types::{DenseId as _, dense_id};

use crate::chars::dfa::CharDfa;
use crate::ids::{CharState, StateId, Symbol};

dense_id! {
    /// A way in which the bytes of wide characters divide into states.
    pub(crate) struct TemplateId;
}

/// The states of a byte automaton that belong to one state of its character automaton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The state between two characters.
    pub(crate) root: StateId,
    /// The first of the states inside characters. They may be those of an earlier block.
    pub(crate) inner: StateId,
    pub(crate) inner_states: u32,
    /// Which bytes lead where: blocks of one template differ in their exits alone.
    pub(crate) template: TemplateId,
    /// Where the exits stand in [`CharStates::exits`].
    pub(crate) exits: (u32, u32),
}

impl Block {
    /// Whether there are states inside characters, and they are no earlier block's.
    pub(crate) fn has_own_inner_states(&self) -> bool {
        self.inner.index() == self.root.index() + 1 && self.inner_states > 0
    }

    /// The state inside characters at an index among them.
    pub(crate) fn inner_state(&self, index: usize) -> StateId {
        StateId::new(self.inner.index() + index)
    }

    /// The indices of the states inside characters.
    pub(crate) fn inner_indices(&self) -> Range<usize> {
        self.inner.index()..self.inner.index() + self.inner_states as usize
    }
}

/// How the states of a byte automaton make up characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharStates {
    pub(crate) dfa: CharDfa,
    /// `[character states]`, ascending by root.
    pub(crate) blocks: Vec<Block>,
    /// The character states that follow a wide character.
    pub(crate) exits: Vec<CharState>,
}

impl CharStates {
    /// The state between characters with this number in the byte automaton.
    pub fn at(&self, state: StateId) -> Option<CharState> {
        let at = self.blocks.binary_search_by_key(&state, |block| block.root).ok()?;
        (at > 0).then(|| CharState::new(at))
    }

    /// The state between characters that follows another when `char` is read.
    pub fn after(&self, char_state: CharState, char: u32) -> Option<CharState> {
        let ranges = &self.dfa.ranges;
        let &(first, _, class) = ranges.get(ranges.partition_point(|&(_, last, _)| last < char))?;
        let row = self.dfa.row(char_state);
        let at = row.binary_search_by_key(&class, |edge| edge.0).ok().filter(|_| first <= char)?;
        Some(row[at].1)
    }

    /// Number of ranges of characters that lead anywhere.
    pub fn ranges(&self) -> usize {
        self.dfa.ranges.len()
    }

    /// The classes of the given characters, ascending; `None` if some character has none and so leads nowhere. `chars`:
    /// ranges, ascending, both ends included. O(ranges here × log(ranges there)).
    pub fn classes_of(&self, chars: &[[u32; 2]]) -> Option<Vec<Symbol>> {
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
            found[class.index()] |= any(first, last);
            behind = last + 1;
        }
        if any(behind, u32::from(char::MAX)) {
            return None;
        }
        Some(Symbol::enumerate(found).filter(|(_, found)| *found).map(|(class, _)| class).collect())
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.dfa.bytes() + (self.blocks.len() * size_of::<Block>() + self.exits.len() * 4) as u64
    }
}
