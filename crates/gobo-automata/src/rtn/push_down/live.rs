//! What leads to no text, taken away from the states of a push-down automaton.
//!
//! A state can be left at some exits, and below it some of them lead on to a text. Which ones is a matter of the stack: a comment up to the end
//! of its line may stand where the text goes on with that, and not between brackets that have to be closed before. So states are told apart by the
//! exits that their stacks *allow*. A frame that is pushed allows the exits after which the state below it can be left at one that is allowed there, and so
//! what a stack allows is known from its top: a frame is one frame for each set that it stands on. States that can be left at no allowed
//! exit are taken away, and so every text is the beginning of a whole one.
//!
//! Two sets are one to a state if the same states are taken away with both of those that it leads to on its level. Each state sees its set so: as the
//! greatest one that is the same to it. Else the states of a grammar would be there for every stack of operators that may stand before them.
//!
//! The exits at which states can be left are a least fixed point, found in sweeps over sets of bits, and so are the sets of exits of the
//! states that each leads to. Cost: sweeps, times edges and returns, times exits and their sets by words; and states times the sets that stacks allow,
//! few of which differ.

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

/// Sets of numbers below a bound, one for each state.
struct Sets {
    words: usize,
    flat: Vec<u64>,
}

impl Sets {
    fn new(states: usize, bound: usize, budget: &Budget) -> Result<Self, CompileError> {
        let words = bound.div_ceil(64).max(1);
        budget.charge_bytes(PHASE, (states * words * 8) as u64)?;
        Ok(Self { words, flat: vec![0; states * words] })
    }

    fn of(&self, state: CharState) -> &[u64] {
        &self.flat[state.index() * self.words..][..self.words]
    }

    fn insert(&mut self, state: CharState, number: usize) {
        self.flat[state.index() * self.words + number / 64] |= 1 << (number % 64);
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
    exits: Sets,
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
    /// Those of the states that each leads to on its level of the stack, by their places there.
    met: Sets,
    budget: &'a Budget,
}

impl Subset {
    /// The states that lead to texts.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn live(&self, budget: &Budget) -> Result<Live, CompileError> {
        let exits = self.exits_of_states(budget)?;
        budget.charge_steps(PHASE, (self.dfa.len() * exits.words) as u64)?;
        let mut kinds: Vec<&[u64]> =
            CharState::range(0..self.dfa.len()).map(|state| exits.of(state)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        budget.charge_bytes(PHASE, (kinds.len() * exits.words * 8) as u64)?;
        let met = self.kinds_of_states(&kinds, &exits, budget)?;
        let kinds = kinds.into_iter().map(Box::from).collect();
        let mut whole = vec![0; exits.words];
        self.wholes.iter().for_each(|exit| whole[exit.index() / 64] |= 1 << (exit.index() % 64));
        let split = Split {
            exits,
            of: self,
            allowed: Interner::default(),
            states: vec![(CharState::DEAD, AllowedId::new(0))],
            number: HashMap::new(),
            rules: Table::new(),
            rows: Table::new(),
            row_of: HashMap::new(),
            rule_of: HashMap::new(),
            kinds,
            met,
            budget,
        };
        split.run(&whole)
    }

    /// The exits at which each state can be left.
    fn exits_of_states(&self, budget: &Budget) -> Result<Sets, CompileError> {
        let mut exits = Sets::new(self.dfa.len(), self.exits, budget)?;
        for (state, end) in CharState::enumerate(&self.ends) {
            end.iter().for_each(|&end| exits.insert(state, end.index()));
        }
        while self.sweep(&mut exits, |exits, entry, exit| has(exits.of(entry), exit), budget)? {}
        Ok(exits)
    }

    /// The sets of exits, by their places in `kinds`, of the states that each leads to on its level of the stack, whatever the exits of what is called.
    fn kinds_of_states(&self, kinds: &[&[u64]], exits: &Sets, budget: &Budget) -> Result<Sets, CompileError> {
        let mut met = Sets::new(self.dfa.len(), kinds.len(), budget)?;
        for state in CharState::range(1..self.dfa.len()) {
            let kind = kinds.binary_search(&exits.of(state));
            kind.iter().for_each(|&kind| met.insert(state, kind));
        }
        while self.sweep(&mut met, |_, _, _| true, budget)? {}
        Ok(met)
    }

    /// Gives each state what those have that it leads to on its level of the stack; whether that was more. `ends`: whether a state that is called
    /// can be left at an exit.
    fn sweep(
        &self,
        sets: &mut Sets,
        ends: impl Fn(&Sets, CharState, ExitId) -> bool,
        budget: &Budget,
    ) -> Result<bool, CompileError> {
        budget.charge_steps(PHASE, self.dfa.size() * sets.words as u64)?;
        let mut has_changed = false;
        for state in CharState::range(1..self.dfa.len()).rev() {
            for of_state in self.dfa.row(state).chunk_by(|one, next| one.1 == next.1) {
                has_changed |= sets.unite(state, of_state[0].1);
            }
            for &rule in &self.pushes[state.index()] {
                let (frame, entry) = self.rules[rule];
                let row = &self.rows[frame];
                let mut united = 0;
                for &(exit, to) in row {
                    if ends(sets, entry, exit) {
                        united += 1;
                        has_changed |= sets.unite(state, to);
                    }
                }
                budget.charge_steps(PHASE, (row.len() + united * sets.words) as u64)?;
            }
        }
        Ok(has_changed)
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
        if let Some(&known) = self.number.get(&(state, allowed)) {
            return Ok(known);
        }
        self.budget.charge_steps(PHASE, self.exits.words as u64)?;
        let number = if is_met(self.exits.of(state), self.allowed.get(allowed)) {
            let coarse = self.coarsen(state, allowed)?;
            let fresh = CharState::new(self.states.len());
            let known = *self.number.entry((state, coarse)).or_insert(fresh);
            if known == fresh {
                self.budget.charge_bytes(PHASE, 48)?;
                self.budget.check_states(PHASE, self.states.len())?;
                self.states.push((state, coarse));
            }
            known
        } else {
            CharState::DEAD
        };
        self.budget.charge_bytes(PHASE, 24)?;
        self.number.insert((state, allowed), number);
        Ok(number)
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
            above[exit.index() / 64] |= 1 << (exit.index() % 64);
        }
        let above = self.allow(&above)?;
        let entry = self.state(entry, above)?;
        let is_dead = entry == CharState::DEAD;
        let made = (!is_dead).then(|| self.rules.push(LiveRule { frame, entry, row }));
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

    /// The greatest set that is the same to a state: all but the exits of the states that it leads to on its level and that are taken away.
    fn coarsen(&mut self, state: CharState, allowed: AllowedId) -> Result<AllowedId, CompileError> {
        let allowed = self.allowed.get(allowed);
        let mut coarse = vec![u64::MAX; self.exits.words];
        let mut looked = 0;
        for (word, &met) in self.met.of(state).iter().enumerate() {
            let mut left = met;
            while left != 0 {
                let kind = &self.kinds[word * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                looked += 1;
                if !is_met(kind, allowed) {
                    coarse.iter_mut().zip(kind).for_each(|(coarse, kind)| *coarse &= !kind);
                }
            }
        }
        self.budget.charge_steps(PHASE, ((1 + looked) * coarse.len()) as u64)?;
        self.allow(&coarse)
    }

    fn allow(&mut self, exits: &[u64]) -> Result<AllowedId, CompileError> {
        let (id, is_new) = self.allowed.intern(exits);
        if is_new {
            self.budget.charge_bytes(PHASE, exits.len() as u64 * 8)?;
        }
        Ok(id)
    }
}
