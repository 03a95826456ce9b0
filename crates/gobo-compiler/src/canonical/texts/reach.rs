//! Where chunks may stand in each state of the constraint.
//!
//! A text leads the automaton of the constraint and that of chunks on side by side. The second one knows 23 to 46 states between characters and up to some thousand inside of
//! them, so pairs of the two are many; but the *sets* of states of chunks in which a state of the constraint can be met are few, since all of a string's have the same. Sets
//! are numbered, and where a set leads by a row of transitions is found once. O(states × changes of their sets).

use std::collections::VecDeque;
use std::rc::Rc;

use foldhash::HashMap;
use gobo_artifact::layout::NO_STEP;
use gobo_automata::{Dfa, StateId};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::After;
use super::chunk_sets::{ChunkSetId, ChunkSets};
use super::tops::Tops;
use crate::canonical::rules::Rules;
use crate::canonical::walk::PHASE;

/// Bytes of the sets of a state.
const STATE_BYTES: u64 = 24;

/// See the [module](self).
pub(crate) struct Reach {
    /// `[states]`: where chunks may stand behind a byte that leads there, or behind the end of a rule.
    pub(crate) ends: Vec<ChunkSetId>,
    /// `[states]`: the same and behind the borders there.
    pub(crate) all: Vec<ChunkSetId>,
    /// `[states]`: where chunks may stand at the beginning of a token.
    pub(crate) borders: Vec<ChunkSetId>,
}

/// `[classes of the constraint]`: of the bytes that the automaton of chunks tells apart, one each.
pub(super) fn bytes_of_classes(dfa: &Dfa, sets: &ChunkSets<'_>) -> Vec<Vec<u8>> {
    let mut of = vec![Vec::<u8>::new(); dfa.stride];
    for byte in 0..=u8::MAX {
        let bytes = &mut of[usize::from(dfa.classes[usize::from(byte)])];
        if bytes.iter().all(|&known| sets.chunks.class(known) != sets.chunks.class(byte)) {
            bytes.push(byte);
        }
    }
    of
}

/// How far a state lies that bytes lead to, and where chunks stand there.
type Moves = Rc<[(i32, ChunkSetId)]>;

struct Search<'s, 'a> {
    dfa: &'s Dfa,
    sets: &'s mut ChunkSets<'a>,
    bytes: &'s [Vec<u8>],
    moves: HashMap<(u32, ChunkSetId), Moves>,
    reach: Reach,
    open: VecDeque<StateId>,
    is_open: Vec<bool>,
}

impl Search<'_, '_> {
    /// Where a row of transitions leads from a set.
    fn moves(&mut self, row: u32, set: ChunkSetId) -> Moves {
        if let Some(known) = self.moves.get(&(row, set)) {
            return Rc::clone(known);
        }
        let deltas = &self.dfa.deltas[row as usize * self.dfa.stride..][..self.dfa.stride];
        let mut moves: Vec<(i32, ChunkSetId)> = Vec::new();
        for (&delta, bytes) in deltas.iter().zip(self.bytes).filter(|of| *of.0 != NO_STEP) {
            let next = bytes.iter().fold(ChunkSetId::EMPTY, |all, &byte| {
                let next = self.sets.step(set, byte);
                self.sets.union(all, next)
            });
            match moves.iter_mut().find(|of| of.0 == delta) {
                Some(of) => of.1 = self.sets.union(of.1, next),
                None => moves.push((delta, next)),
            }
        }
        let moves: Moves = moves.into();
        self.moves.insert((row, set), Rc::clone(&moves));
        moves
    }

    /// Chunks may stand in `ends` at a state behind a byte, in `all` anyhow, and tokens may begin in `borders`.
    fn add(&mut self, state: StateId, ends: ChunkSetId, all: ChunkSetId, borders: ChunkSetId) {
        let at = state.index();
        let ends = self.sets.union(self.reach.ends[at], ends);
        let all = self.sets.union(all, ends);
        let all = self.sets.union(self.reach.all[at], all);
        let all = self.sets.closed(all);
        let behind = self.sets.borders(ends);
        let borders = self.sets.union(borders, behind);
        let borders = self.sets.union(self.reach.borders[at], borders);
        let now = (ends, all, borders);
        if (self.reach.ends[at], self.reach.all[at], self.reach.borders[at]) != now {
            (self.reach.ends[at], self.reach.all[at], self.reach.borders[at]) = now;
            if !std::mem::replace(&mut self.is_open[at], true) {
                self.open.push_back(state);
            }
        }
    }
}

impl Reach {
    /// `behind_prompt`: where chunks may stand at the end of a prompt.
    pub(super) fn new(
        rules: &Rules<'_>,
        tops: &Tops<'_>,
        sets: &mut ChunkSets<'_>,
        bytes: &[Vec<u8>],
        is_behind_prompt: bool,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let Rules { dfa, calls } = rules;
        let chunks = sets.chunks;
        let none = vec![ChunkSetId::EMPTY; dfa.len()];
        budget.charge_bytes(PHASE, dfa.len() as u64 * STATE_BYTES)?;
        let reach = Self { ends: none.clone(), all: none.clone(), borders: none };
        let (open, is_open) = (VecDeque::new(), vec![false; dfa.len()]);
        let mut search = Search { dfa, sets, bytes, moves: HashMap::default(), reach, open, is_open };
        let start = search.sets.of([chunks.start()]);
        let prompt = search.sets.of(0..if is_behind_prompt { chunks.between() } else { 0 });
        search.add(dfa.start, prompt, start, start);
        let mut held = 0;
        while let Some(state) = search.open.pop_front() {
            search.is_open[state.index()] = false;
            let all = search.reach.all[state.index()];
            budget.charge_steps(PHASE, dfa.stride as u64 / 2 + 1)?;
            for &(delta, next) in search.moves(dfa.row_of[state.index()], all).iter() {
                search.add(state.offset(delta), next, ChunkSetId::EMPTY, ChunkSetId::EMPTY);
            }
            for push in calls.push_transitions(state) {
                search.add(push.entry, ChunkSetId::EMPTY, all, ChunkSetId::EMPTY);
            }
            if dfa.accepting[state] {
                let (ends, borders) = (search.reach.ends[state.index()], search.reach.borders[state.index()]);
                for &top in tops.at(state) {
                    if let Some(After::To(next)) = tops.after(top, calls.exit(state)) {
                        search.add(next, ends, all, borders);
                    }
                }
            }
            let now = search.sets.len() as u64 * search.sets.set_bytes();
            budget.charge_bytes(PHASE, now - held)?;
            held = now;
        }
        Ok(search.reach)
    }
}
