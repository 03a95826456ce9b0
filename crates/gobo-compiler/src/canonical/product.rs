//! The product of a constraint's automaton and the automaton of the tokenizer's chunks.
//!
//! A state is a pair: where the text stands, and where its chunks do. Bytes lead both on. Between two tokens the second one moves by itself, over the
//! border of two tokens of a chunk or of two chunks, and then the state is another pair. Only pairs that are reached are made. O(pairs × classes of
//! bytes).

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::{Chunks, NO_CHUNK, NO_STEP};
use gobo_automata::{Calls, Dfa, Interner, StateId};
use gobo_types::{Budget, CompileError, DenseId as _, checked_u32, dense_id};

const PHASE: &str = "cutting into chunks";

/// Bytes of a pair beside its transitions.
const STATE_BYTES: u64 = 40;

dense_id! {
    /// The transitions of a state, by how far it is to the next one.
    pub(super) struct StepsId;
}

/// The state from which nothing leads on.
pub(super) const DEAD: u32 = 0;

/// The bottom of the stack of an automaton with calls: the whole text is as called from there, and returns to [`Self::end`].
pub(super) struct Bottom {
    /// In the place of a state: behind the whole text.
    pub(super) end: StateId,
    /// `[states]`: whether the text may stand there with nothing on its stack.
    pub(super) is_below: Vec<bool>,
}

impl Bottom {
    /// O(sweeps × transitions).
    pub(super) fn new(dfa: &Dfa, calls: &Calls, budget: &Budget) -> Result<Self, CompileError> {
        let mut is_below = vec![false; dfa.len()];
        let mut open = vec![dfa.start];
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut is_below[state.index()], true) {
                continue;
            }
            budget.charge_steps(PHASE, dfa.stride as u64)?;
            open.extend((0..dfa.stride).filter_map(|class| dfa.step(state, class)));
            for push in calls.push_transitions(state) {
                match calls.pushed(push) {
                    [] => open.push(push.entry),
                    [outermost, ..] => open.extend(calls.returns[outermost.index()].states()),
                }
            }
        }
        Ok(Self { end: StateId::new(dfa.len()), is_below })
    }

    /// The states behind the end of the rule at hand, whatever is on top of the stack: where it ends in `state`, and chunks stand at `chunk`.
    fn after<'a>(
        &'a self,
        calls: &'a Calls,
        state: StateId,
        chunk: u16,
        chunks: &Chunks<'_>,
    ) -> impl Iterator<Item = StateId> + 'a {
        let exit = calls.exit(state);
        let returns =
            calls.stack_tops(state).iter().filter_map(move |top| calls.returns[top.index()].state(exit));
        let may_end = self.is_below[state.index()] && chunks.may_end(chunk);
        returns.chain(may_end.then_some(self.end))
    }
}

/// The product. All tables have an entry for each state, [`DEAD`] first.
pub(super) struct Product {
    /// The class of each byte.
    classes: [u8; 256],
    /// `[states]`: the strings of a schema, and the counts of one string, have the same.
    steps_of: Vec<StepsId>,
    /// `[classes]` each: the number of the next state less that of the state at hand, or [`NO_STEP`].
    steps: Interner<StepsId, i32>,
    /// The state behind the border of two tokens of a chunk, or [`DEAD`].
    pub(super) within: Vec<u32>,
    /// The state behind the border of two chunks, or [`DEAD`].
    pub(super) marked: Vec<u32>,
    /// Whether the text may end; with calls, whether the rule at hand may.
    pub(super) ends: Vec<bool>,
    pub(super) start: u32,
    /// `[states of chunks between characters]`: the state at the beginning of the text, behind a prompt whose chunks stand there; empty where no prompt
    /// is asked for.
    pub(super) starts: Vec<u32>,
    /// `[states]`: where the text stands, and where its chunks do.
    pub(super) pairs: Vec<(StateId, u16)>,
    number: HashMap<(StateId, u16), u32>,
}

impl Product {
    /// The product; with calls also of what they lead to, `bottom` being where the text itself may stand ([`Bottom`]).
    pub(super) fn new(
        dfa: &Dfa,
        chunks: &Chunks<'_>,
        is_behind_prompt: bool,
        bottom: Option<&Bottom>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let (classes, bytes) = classes(dfa, chunks);
        let stride = bytes.len();
        let mut pairs: Vec<(StateId, u16)> = vec![(StateId::DEAD, NO_CHUNK)];
        let mut number: HashMap<(StateId, u16), u32> = HashMap::new();
        let mut steps: Interner<StepsId, i32> = Interner::default();
        let mut row = vec![NO_STEP; stride];
        let (nowhere, _) = steps.intern(&row);
        let (mut steps_of, mut within, mut marked) = (vec![nowhere], vec![DEAD], vec![DEAD]);
        let mut ends = vec![false];
        let mut of = |pairs: &mut Vec<(StateId, u16)>, pair: (StateId, u16)| {
            if pair.0 == StateId::DEAD || pair.1 == NO_CHUNK {
                return DEAD;
            }
            *number.entry(pair).or_insert_with(|| {
                pairs.push(pair);
                checked_u32(pairs.len() - 1)
            })
        };
        let start = of(&mut pairs, (dfa.start, chunks.start()));
        let behind = if is_behind_prompt { chunks.between() } else { 0 };
        let starts = (0..behind).map(|chunk| of(&mut pairs, (dfa.start, chunk))).collect();
        let mut at = 1;
        while at < pairs.len() {
            let (state, chunk) = pairs[at];
            let is_end = bottom.is_some_and(|bottom| state == bottom.end);
            budget.charge_steps(PHASE, stride as u64)?;
            budget.charge_bytes(PHASE, STATE_BYTES)?;
            budget.check_states(PHASE, pairs.len())?;
            let number = checked_u32(at);
            at += 1;
            if is_end {
                steps_of.push(nowhere);
                within.push(DEAD);
                marked.push(DEAD);
                ends.push(true);
                continue;
            }
            for (step, &byte) in row.iter_mut().zip(&bytes) {
                *step = match of(&mut pairs, (dfa.next(state, byte), chunks.next(chunk, byte))) {
                    DEAD => NO_STEP,
                    next => i32::try_from(i64::from(next) - i64::from(number))
                        .expect("the limit of states is below 2^31"),
                };
            }
            let (of_state, is_new) = steps.intern(&row);
            budget.charge_bytes(PHASE, if is_new { stride as u64 * 4 } else { 0 })?;
            steps_of.push(of_state);
            within.push(of(&mut pairs, (state, chunks.within(chunk))));
            marked.push(of(&mut pairs, (state, chunks.marked(chunk))));
            match (bottom, &dfa.calls) {
                (Some(bottom), Some(calls)) => {
                    let ways = calls.push_transitions(state).len() + calls.stack_tops(state).len();
                    budget.charge_steps(PHASE, ways as u64)?;
                    for push in calls.push_transitions(state) {
                        of(&mut pairs, (push.entry, chunk));
                    }
                    if dfa.accepting[state] {
                        for next in bottom.after(calls, state, chunk, chunks) {
                            of(&mut pairs, (next, chunk));
                        }
                    }
                    ends.push(dfa.accepting[state]);
                }
                _ => ends.push(dfa.accepting[state] && chunks.may_end(chunk)),
            }
        }
        Ok(Self { classes, steps_of, steps, within, marked, ends, start, starts, pairs, number })
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The state after a byte. O(1).
    #[inline]
    pub(super) fn next(&self, state: u32, byte: u8) -> u32 {
        let steps = self.steps.get(self.steps_of[state as usize]);
        after(state, steps[usize::from(self.classes[usize::from(byte)])])
    }

    /// The states behind the border of two tokens of a chunk, and of two chunks. O(1).
    pub(super) fn borders(&self, state: u32) -> [u32; 2] {
        [self.within[state as usize], self.marked[state as usize]]
    }

    /// The state of a pair that bytes reach; [`DEAD`] of others. O(1).
    pub(super) fn state_of(&self, pair: (StateId, u16)) -> u32 {
        self.number.get(&pair).copied().unwrap_or(DEAD)
    }

    /// The states after all bytes, [`DEAD`] among them. O(1) each.
    pub(super) fn all_next(&self, state: u32) -> impl Iterator<Item = u32> + '_ {
        self.steps.get(self.steps_of[state as usize]).iter().map(move |&step| after(state, step))
    }
}

/// The state so far from another one.
#[inline]
fn after(state: u32, step: i32) -> u32 {
    if step == NO_STEP { DEAD } else { state.wrapping_add_signed(step) }
}

/// Classes of bytes that neither automaton tells apart, and a byte of each.
fn classes(dfa: &Dfa, chunks: &Chunks<'_>) -> ([u8; 256], Vec<u8>) {
    let mut of: HashMap<(u8, u8), u8> = HashMap::new();
    let mut bytes = Vec::new();
    let classes = std::array::from_fn(|byte| {
        let byte = u8::try_from(byte).expect("there are 256 bytes");
        *of.entry((dfa.classes[usize::from(byte)], chunks.class(byte))).or_insert_with(|| {
            bytes.push(byte);
            u8::try_from(bytes.len() - 1).expect("there are 256 bytes")
        })
    });
    (classes, bytes)
}
