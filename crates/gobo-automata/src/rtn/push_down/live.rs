//! What leads to no text, taken away from the states of a push-down automaton.
//!
//! A state can be left at some exits, and below it some of them lead on to a text. Which ones is a matter of the stack: a comment up to the end
//! of its line may stand where the text goes on with that, and not between brackets that have to be closed before. So states are told apart by the
//! exits that their stacks *allow*. A frame that is pushed allows the exits after which its state can be left at one that is allowed below it, and so
//! what a stack allows is known from its top: a frame is one frame for each set that it stands on. States that can be left at no allowed
//! exit are taken away, and so every text is the beginning of a whole one.
//!
//! The exits at which states can be left are a least fixed point, found in sweeps over sets of bits. Cost: sweeps, times edges and returns,
//! times exits by words; and states times the sets that stacks allow, few of which differ.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::FrameId;
use super::subset::{PHASE, Subset};
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::symbols::{Interner, SymbolDfa};

dense_id! {
    /// A set of exits that a stack allows.
    pub(super) struct AllowedId;

    /// Where a text goes on below a frame, by the exit at which it comes back.
    pub(super) struct RowId;
}

/// Sets of exits, one for each state.
struct Exits {
    words: usize,
    flat: Vec<u64>,
}

impl Exits {
    fn new(sets: usize, bound: usize, budget: &Budget) -> Result<Self, CompileError> {
        let words = bound.div_ceil(64).max(1);
        budget.charge_bytes(PHASE, (sets * words * 8) as u64)?;
        Ok(Self { words, flat: vec![0; sets * words] })
    }

    fn of(&self, state: CharState) -> &[u64] {
        &self.flat[state.index() * self.words..][..self.words]
    }

    fn insert(&mut self, state: CharState, exit: ExitId) {
        self.flat[state.index() * self.words + exit.index() / 64] |= 1 << (exit.index() % 64);
    }

    /// Adds what another state has; whether that was more.
    fn unite(&mut self, state: CharState, other: CharState) -> bool {
        let (to, from) = (state.index() * self.words, other.index() * self.words);
        let mut has_changed = false;
        for at in 0..self.words {
            let more = self.flat[from + at] & !self.flat[to + at];
            self.flat[to + at] |= more;
            has_changed |= more != 0;
        }
        has_changed
    }
}

fn has(set: &[u64], exit: ExitId) -> bool {
    set[exit.index() / 64] >> (exit.index() % 64) & 1 == 1
}

fn is_met(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// The states that lead to texts, by what their stacks allow.
pub(super) struct Live {
    /// Edges that read a character.
    pub(super) dfa: SymbolDfa,
    /// `[states]`: the exit of those that end.
    pub(super) ends: Vec<Option<ExitId>>,
    /// `[states]`: the rules that are called.
    pub(super) pushes: Vec<Vec<RuleId>>,
    /// `[rules]`.
    pub(super) rules: Table<RuleId, LiveRule>,
    /// The states after exits, ascending by exit.
    pub(super) rows: Table<RowId, Vec<(ExitId, CharState)>>,
    /// How many exits there are.
    pub(super) exits: usize,
    /// Those that end the whole text.
    pub(super) wholes: Vec<ExitId>,
}

/// A frame that is pushed, with what is above it and what is allowed below.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveRule {
    pub(super) frame: FrameId,
    /// The state above it.
    pub(super) entry: CharState,
    /// Where the text goes on below it.
    pub(super) row: RowId,
}

struct Split<'a> {
    of: &'a Subset,
    exits: Exits,
    allowed: Interner<AllowedId, u64>,
    /// The states that were met, with what their stacks allow.
    states: Vec<(CharState, AllowedId)>,
    number: HashMap<(CharState, AllowedId), CharState>,
    rules: Table<RuleId, LiveRule>,
    rows: Table<RowId, Vec<(ExitId, CharState)>>,
    row_of: HashMap<(FrameId, AllowedId), RowId>,
    rule_of: HashMap<(RuleId, AllowedId), Option<RuleId>>,
    /// The sets of exits of states.
    kinds: Vec<Box<[u64]>>,
    /// Those of them that are part of a set.
    parts: HashMap<Box<[u64]>, Rc<[usize]>>,
    budget: &'a Budget,
}

impl Subset {
    /// The states that lead to texts.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn live(&self, budget: &Budget) -> Result<Live, CompileError> {
        let mut split = Split {
            exits: self.exits_of_states(budget)?,
            of: self,
            allowed: Interner::default(),
            states: vec![(CharState::DEAD, AllowedId::new(0))],
            number: HashMap::new(),
            rules: Table::new(),
            rows: Table::new(),
            row_of: HashMap::new(),
            rule_of: HashMap::new(),
            kinds: Vec::new(),
            parts: HashMap::new(),
            budget,
        };
        budget.charge_steps(PHASE, (self.dfa.len() * split.exits.words) as u64)?;
        let mut kinds: Vec<&[u64]> =
            CharState::range(1..self.dfa.len()).map(|state| split.exits.of(state)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        budget.charge_bytes(PHASE, (kinds.len() * split.exits.words * 8) as u64)?;
        split.kinds = kinds.into_iter().map(Box::from).collect();
        let mut whole = vec![0; split.exits.words];
        self.wholes.iter().for_each(|exit| whole[exit.index() / 64] |= 1 << (exit.index() % 64));
        split.run(&whole)
    }

    /// The exits at which each state can be left.
    fn exits_of_states(&self, budget: &Budget) -> Result<Exits, CompileError> {
        let states = self.dfa.len();
        let mut exits = Exits::new(states, self.exits, budget)?;
        for (state, end) in CharState::enumerate(&self.ends) {
            end.iter().for_each(|&end| exits.insert(state, end));
        }
        loop {
            budget.charge_steps(PHASE, self.dfa.size() * exits.words as u64)?;
            let mut has_changed = false;
            for state in CharState::range(1..states).rev() {
                for of_state in self.dfa.row(state).chunk_by(|one, next| one.1 == next.1) {
                    has_changed |= exits.unite(state, of_state[0].1);
                }
                for &rule in &self.pushes[state.index()] {
                    let (frame, entry) = self.rules[rule];
                    let row = &self.rows[frame];
                    budget.charge_steps(PHASE, row.len() as u64)?;
                    for &(exit, to) in row {
                        if has(exits.of(entry), exit) {
                            has_changed |= exits.unite(state, to);
                        }
                    }
                }
            }
            if !has_changed {
                return Ok(exits);
            }
        }
    }
}

impl Split<'_> {
    fn run(mut self, whole: &[u64]) -> Result<Live, CompileError> {
        let of = self.of;
        let whole = self.allowed.intern(whole).0;
        let mut dfa = SymbolDfa::empty();
        let mut ends = vec![None];
        let mut pushes = vec![Vec::new()];
        dfa.start = self.state(of.dfa.start, whole)?;
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        while let Some(&(state, allowed)) = self.states.get(dfa.len()) {
            row.clear();
            for of_state in of.dfa.row(state).chunk_by(|one, next| one.1 == next.1) {
                let to = self.state(of_state[0].1, allowed)?;
                if to != CharState::DEAD {
                    row.extend(of_state.iter().map(|edge| (edge.0, to)));
                }
            }
            let mut called = Vec::new();
            for &rule in &of.pushes[state.index()] {
                called.extend(self.rule(rule, allowed)?);
            }
            let end = of.ends[state.index()];
            dfa.push(&row, end.is_some());
            ends.push(end);
            pushes.push(called);
        }
        Ok(Live {
            dfa,
            ends,
            pushes,
            rules: self.rules,
            rows: self.rows,
            exits: of.exits,
            wholes: of.wholes.clone(),
        })
    }

    /// A state above a stack that allows some exits; the dead one if it can be left at none of them.
    fn state(&mut self, state: CharState, allowed: AllowedId) -> Result<CharState, CompileError> {
        self.budget.charge_steps(PHASE, self.exits.words as u64)?;
        if !is_met(self.exits.of(state), self.allowed.get(allowed)) {
            return Ok(CharState::DEAD);
        }
        let fresh = CharState::new(self.states.len());
        let known = *self.number.entry((state, allowed)).or_insert(fresh);
        if known == fresh {
            self.budget.charge_bytes(PHASE, 48)?;
            self.budget.check_states(PHASE, self.states.len())?;
            self.states.push((state, allowed));
        }
        Ok(known)
    }

    /// A rule that is called above a stack that allows some exits; `None` if it leads nowhere.
    fn rule(&mut self, rule: RuleId, below: AllowedId) -> Result<Option<RuleId>, CompileError> {
        if let Some(&known) = self.rule_of.get(&(rule, below)) {
            return Ok(known);
        }
        let (frame, entry) = self.of.rules[rule];
        let row = self.row(frame, below)?;
        let mut above = vec![0; self.exits.words];
        self.budget.charge_steps(PHASE, (self.rows[row].len() + self.exits.words) as u64)?;
        for &(exit, _) in &self.rows[row] {
            if has(self.exits.of(entry), exit) {
                above[exit.index() / 64] |= 1 << (exit.index() % 64);
            }
        }
        let made = if above.iter().all(|word| *word == 0) {
            None
        } else {
            self.coarsen(entry, &mut above)?;
            self.budget.charge_bytes(PHASE, above.len() as u64 * 8)?;
            let above = self.allowed.intern(&above).0;
            let entry = self.state(entry, above)?;
            Some(self.rules.push(LiveRule { frame, entry, row }))
        };
        self.rule_of.insert((rule, below), made);
        Ok(made)
    }

    /// The row of a frame above a stack that allows some exits.
    fn row(&mut self, frame: FrameId, below: AllowedId) -> Result<RowId, CompileError> {
        if let Some(&known) = self.row_of.get(&(frame, below)) {
            return Ok(known);
        }
        let row = &self.of.rows[frame];
        self.budget.charge_steps(PHASE, row.len() as u64)?;
        let mut live = Vec::new();
        for &(exit, to) in row {
            let to = self.state(to, below)?;
            if to != CharState::DEAD {
                live.push((exit, to));
            }
        }
        self.budget.charge_bytes(PHASE, live.len() as u64 * 8)?;
        let id = self.rows.push(live);
        self.row_of.insert((frame, below), id);
        Ok(id)
    }

    /// Allows all that makes no difference to a state above: the exits of no state of which none is allowed.
    fn coarsen(&mut self, entry: CharState, allowed: &mut [u64]) -> Result<(), CompileError> {
        let all = self.exits.of(entry);
        let parts = match self.parts.get(all) {
            Some(known) => Rc::clone(known),
            None => {
                let is_part = |kind: &[u64]| kind.iter().zip(all).all(|(kind, all)| kind & !all == 0);
                let kinds = self.kinds.iter().enumerate();
                let parts: Rc<[usize]> = kinds.filter(|(_, kind)| is_part(kind)).map(|(at, _)| at).collect();
                self.budget.charge_steps(PHASE, (self.kinds.len() * all.len()) as u64)?;
                self.budget.charge_bytes(PHASE, (parts.len() + all.len()) as u64 * 8)?;
                self.parts.insert(all.into(), Rc::clone(&parts));
                parts
            }
        };
        self.budget.charge_steps(PHASE, (parts.len() * all.len()) as u64)?;
        let mut coarse = all.to_vec();
        for &part in parts.iter() {
            let kind = &self.kinds[part];
            if !is_met(kind, allowed) {
                coarse.iter_mut().zip(kind).for_each(|(coarse, kind)| *coarse &= !kind);
            }
        }
        allowed.copy_from_slice(&coarse);
        Ok(())
    }
}
