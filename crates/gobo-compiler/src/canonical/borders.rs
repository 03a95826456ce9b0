//! The borders of an index as they are written: states of the constraint that have the same borders, with the same rows, are one class.

use foldhash::HashMap;
use gobo_artifact::write::BorderParts;
use gobo_automata::StateId;
use gobo_types::{DenseId as _, checked_u32};

use super::fronts::{ClassId, FrontId, Fronts};
use super::texts::{Spot, Texts};
use super::words::Spelled;

/// What is found behind a border.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
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
    /// Tokens that spell words behind which nothing may go on: border, node of words, token; ascending.
    pub(super) spelled: Vec<[u32; 3]>,
}

impl Borders {
    /// Of an index of so many states; `behind` has what is found behind each front, if anything is. O(states + classes × borders).
    pub(super) fn new(
        states: usize,
        texts: &Texts<'_>,
        fronts: &Fronts,
        behind: &[Option<Behind>],
        spelled: &Spelled,
    ) -> Self {
        let mut borders = Self {
            parts: BorderParts { classes: vec![0; states], starts: vec![1, 1], all: vec![[0, 0]] },
            sets: vec![Some(0)],
            spelled: Vec::new(),
        };
        let mut known: HashMap<Vec<Written>, u32> = HashMap::default();
        let mut of_classes: HashMap<ClassId, u32> = HashMap::default();
        for state in StateId::range(1..states.min(fronts.states())) {
            let Some(of) = fronts.class(state) else { continue };
            let number = match of_classes.get(&of).filter(|_| !spelled.is_any(state)) {
                Some(&number) => number,
                None => {
                    let write = |front: FrontId| {
                        let Behind { row, set } = behind[front.index()]?;
                        let chunk = fronts.at(front).chunk;
                        Some((chunk, row, set, spelled.of(Spot { state, chunk })))
                    };
                    let written: Vec<Written> = fronts.of_class(texts, of).filter_map(write).collect();
                    let fresh = checked_u32(borders.parts.starts.len() - 1);
                    let number = match known.get(&written) {
                        _ if written.is_empty() => 0,
                        Some(&number) => number,
                        None => {
                            borders.add(&written);
                            known.insert(written, fresh);
                            fresh
                        }
                    };
                    if !spelled.is_any(state) {
                        of_classes.insert(of, number);
                    }
                    number
                }
            };
            borders.parts.classes[state.index()] = number;
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
