//! The borders of an index as they are written: states of the constraint that have the same borders, with the same rows, are one class.

use std::collections::HashMap as Map;

use foldhash::HashMap;
use gobo_artifact::write::BorderParts;
use gobo_automata::StateId;
use gobo_types::{DenseId as _, checked_u32};

use super::product::Product;
use super::words::Spelled;

/// What is found behind a border.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    /// The state of the product.
    pub(super) pair: u32,
    pub(super) row: u32,
    /// What is left to the stack.
    pub(super) set: u32,
}

/// A border as classes compare it: where the chunks stand, the row, the set, and the tokens behind which nothing may go on, by node of words.
type Written = (u16, u32, u32, Vec<[u32; 2]>);

/// The borders of an index.
pub(super) struct Borders {
    pub(super) parts: BorderParts,
    /// `[borders]`: what each leaves to the stack.
    pub(super) sets: Vec<Option<u32>>,
    pub(super) spelled: Spelled,
}

impl Borders {
    /// Of an index of so many states, from borders of the product and the tokens that spell words there, by state of the product. O(borders log borders).
    pub(super) fn new(states: usize, product: &Product, all: &[Behind], spelled: &[[u32; 3]]) -> Self {
        let mut words: Map<u32, Vec<[u32; 2]>> = Map::new();
        for &[pair, node, id] in spelled {
            words.entry(pair).or_default().push([node, id]);
        }
        let mut of_states: HashMap<StateId, Vec<Written>> = HashMap::default();
        for &Behind { pair, row, set } in all {
            let (state, chunk) = product.pairs[pair as usize];
            of_states.entry(state).or_default().push((chunk, row, set, words.remove(&pair).unwrap_or_default()));
        }
        let mut borders = Self {
            parts: BorderParts { classes: vec![0; states], starts: vec![1, 1], all: vec![[0, 0]] },
            sets: vec![Some(0)],
            spelled: Vec::new(),
        };
        let mut known: HashMap<Vec<Written>, u32> = HashMap::default();
        for state in StateId::range(0..states) {
            let Some(mut of_state) = of_states.remove(&state) else { continue };
            of_state.sort_unstable();
            let fresh = checked_u32(borders.parts.starts.len() - 1);
            let class = *known.entry(of_state).or_insert_with_key(|of_state| {
                borders.add(of_state);
                fresh
            });
            borders.parts.classes[state.index()] = class;
        }
        borders
    }

    fn add(&mut self, class: &[Written]) {
        for (chunk, row, set, words) in class {
            let number = checked_u32(self.parts.all.len());
            self.parts.all.push([u32::from(*chunk), *row]);
            self.sets.push(Some(*set));
            self.spelled.extend(words.iter().map(|&[node, id]| [number, node, id]));
        }
        self.parts.starts.push(checked_u32(self.parts.all.len()));
    }
}
