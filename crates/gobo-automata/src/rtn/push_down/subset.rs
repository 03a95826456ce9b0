//! The subset construction of push-down automata (Rabin & Scott 1959, and Alur & Madhusudan 2004 for stacks whose pushes do not depend on what
//! was guessed).
//!
//! A state is a set of *positions*: nodes that push or end, and states within texts that go on. Pushes of one frame are one call, of the set
//! of all nodes above it. The ends of a set are one exit: where it leads, below a frame, is the set of the nodes to which the ends lead there. So
//! exits are found as states are, and each frame has a row of states by exit. Frames that a set pushes are kept apart, because the stacks
//! differ: a byte that may come after two of them leaves two configurations.
//!
//! Cost: edges of the sets, and exits times frames; the budget bounds both.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table, checked_u32};

use super::{EndId, Frame, FrameId, NodeId, PushDown, ReadId};
use crate::chars::{ClassRanges, joint_classes};
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::symbols::{Interner, SymbolDfa};

/// The phase that verdicts name.
pub(super) const PHASE: &str = "laying out the parser";

const SPACE: u32 = b' ' as u32;

/// The states that a push-down automaton becomes.
pub(super) struct Subset {
    pub(super) ranges: ClassRanges,
    pub(super) classes: usize,
    /// Edges that read a character.
    pub(super) dfa: SymbolDfa,
    /// `[states]`: the exit of those that end.
    pub(super) ends: Vec<Option<ExitId>>,
    /// `[states]`: the rules that are called.
    pub(super) pushes: Vec<Vec<RuleId>>,
    /// `[rules]`: the frame that is pushed, and the state above it.
    pub(super) rules: Table<RuleId, (FrameId, CharState)>,
    /// `[frames]`: the states after their exits, ascending by exit.
    pub(super) rows: Table<FrameId, Vec<(ExitId, CharState)>>,
    pub(super) exits: usize,
    /// The exits of sets with the end of the whole text, ascending.
    pub(super) wholes: Vec<ExitId>,
}

struct Construction<'a> {
    of: &'a PushDown,
    /// `[reads]`: the number of the first position within it.
    bases: Table<ReadId, u32>,
    /// `[texts, classes]`: the minterms of each class.
    minterms: Vec<Vec<Vec<Symbol>>>,
    /// `[positions]`: what is reached without reading.
    closures: Vec<Option<Box<[u32]>>>,
    sets: Interner<CharState, u32>,
    exits: Interner<ExitId, EndId>,
    rule_of: HashMap<(FrameId, CharState), RuleId>,
    rules: Table<RuleId, (FrameId, CharState)>,
    is_pushed: Table<FrameId, bool>,
    /// `[frames]`: the exits that their rows know.
    followed: Table<FrameId, usize>,
    rows: Table<FrameId, Vec<(ExitId, CharState)>>,
    budget: &'a Budget,
}

impl Subset {
    /// The states of a push-down automaton. The space has a class of its own.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn of(of: &PushDown, budget: &Budget) -> Result<Self, CompileError> {
        let space = [(SPACE, SPACE, Symbol::FIRST)];
        let parts = of.texts.iter().map(|texts| texts.dfa.ranges.as_slice());
        let parts: Vec<_> = parts.chain([space.as_slice()]).collect();
        let (ranges, columns) = joint_classes(&parts, budget)?;
        let mut minterms: Vec<Vec<Vec<Symbol>>> =
            of.texts.iter().map(|texts| vec![Vec::new(); texts.dfa.classes]).collect();
        for (minterm, column) in Symbol::enumerate(&columns) {
            budget.charge_steps(PHASE, column.len() as u64)?;
            for (minterms, class) in minterms.iter_mut().zip(column) {
                class.iter().for_each(|class| minterms[class.index()].push(minterm));
            }
        }
        let mut positions = of.nodes.len();
        let mut bases = Table::new();
        for &(texts, _) in &of.reads {
            bases.push(checked_u32(positions));
            positions += of.texts[texts].len();
        }
        budget.charge_bytes(PHASE, positions as u64 * 24)?;
        let mut construction = Construction {
            of,
            bases,
            minterms,
            closures: vec![None; positions],
            sets: Interner::default(),
            exits: Interner::default(),
            rule_of: HashMap::new(),
            rules: Table::new(),
            is_pushed: Table::filled(false, of.frames.len()),
            followed: Table::filled(0, of.frames.len()),
            rows: Table::filled(Vec::new(), of.frames.len()),
            budget,
        };
        let (dfa, ends, pushes) = construction.run()?;
        let Construction { rules, rows, exits, .. } = construction;
        let all = ExitId::range(0..exits.len());
        let wholes = all.filter(|&exit| exits.get(exit).contains(&EndId::WHOLE)).collect();
        let (classes, exits) = (columns.len(), exits.len());
        Ok(Self { ranges, classes, dfa, ends, pushes, rules, rows, exits, wholes })
    }
}

impl Subset {
    /// That of all texts that are texts once one leading space is dropped, if there is one: a new start that reads a space and is where the
    /// old one was, and reads everything else as the old one did.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn before_strip_of_one_space(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let at = self.ranges.partition_point(|range| range.1 < SPACE);
        let Some(&(_, _, space)) = self.ranges.get(at) else { return Ok(()) };
        let old = self.dfa.start;
        if old == CharState::DEAD {
            return Ok(());
        }
        let start = self.without(space, old, budget)?;
        let mut row = self.dfa.row(start).to_vec();
        row.insert(row.partition_point(|edge| edge.0 < space), (space, old));
        let (end, pushes) = (self.ends[start.index()], self.pushes[start.index()].clone());
        self.dfa.start = self.dfa.push(&row, end.is_some());
        self.ends.push(end);
        self.pushes.push(pushes);
        Ok(())
    }

    /// A state whose texts are those of another one that do not begin with a class of characters.
    fn without(
        &mut self,
        class: Symbol,
        state: CharState,
        budget: &Budget,
    ) -> Result<CharState, CompileError> {
        let first = self.dfa.len();
        // The states that are copied, in the order of their copies.
        let mut order = vec![state];
        let mut known = HashMap::from_iter([(state, CharState::new(first))]);
        while let Some(&state) = order.get(self.dfa.len() - first) {
            let mut row = self.dfa.row(state).to_vec();
            row.retain(|edge| edge.0 != class);
            let mut pushes = Vec::new();
            for rule in self.pushes[state.index()].clone() {
                let (frame, entry) = self.rules[rule];
                let entry = *known.entry(entry).or_insert_with(|| {
                    order.push(entry);
                    CharState::new(first + order.len() - 1)
                });
                pushes.push(self.rules.push((frame, entry)));
            }
            budget.charge_steps(PHASE, 1 + (row.len() + pushes.len()) as u64)?;
            budget.charge_bytes(PHASE, 48 + row.len() as u64 * 8 + pushes.len() as u64 * 12)?;
            let end = self.ends[state.index()];
            self.dfa.push(&row, end.is_some());
            self.ends.push(end);
            self.pushes.push(pushes);
        }
        Ok(CharState::new(first))
    }
}

/// States, the exits of those that end, and what each calls.
type States = (SymbolDfa, Vec<Option<ExitId>>, Vec<Vec<RuleId>>);

impl Construction<'_> {
    fn run(&mut self) -> Result<States, CompileError> {
        self.sets.intern(&[]);
        let mut dfa = SymbolDfa::empty();
        let mut ends = vec![None];
        let mut pushes = vec![Vec::new()];
        let mut members = Vec::new();
        self.enter(&[self.of.start], &mut members)?;
        dfa.start = self.set(&mut members)?;
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        let mut after: Vec<(Symbol, u32)> = Vec::new();
        loop {
            while dfa.len() < self.sets.len() {
                let set = self.sets.get(CharState::new(dfa.len())).to_vec();
                self.row(&set, &mut after, &mut row)?;
                let (called, exit) = self.stack(&set)?;
                self.budget.charge_bytes(PHASE, row.len() as u64 * 8 + 32)?;
                dfa.push(&row, exit.is_some());
                ends.push(exit);
                pushes.push(called);
            }
            self.follow()?;
            if dfa.len() == self.sets.len() {
                return Ok((dfa, ends, pushes));
            }
        }
    }

    /// The edges of a set that read a character.
    fn row(
        &mut self,
        set: &[u32],
        after: &mut Vec<(Symbol, u32)>,
        row: &mut Vec<(Symbol, CharState)>,
    ) -> Result<(), CompileError> {
        after.clear();
        row.clear();
        for &position in set.iter().filter(|position| **position as usize >= self.of.nodes.len()) {
            let (read, state) = self.within(position);
            let texts = self.of.reads[read].0;
            let base = self.bases[read];
            for &(class, to) in self.of.texts[texts].dfa.row(state) {
                let minterms = &self.minterms[texts][class.index()];
                after.extend(minterms.iter().map(|&minterm| (minterm, base + to.number())));
            }
        }
        self.budget.charge_steps(PHASE, 1 + after.len() as u64)?;
        after.sort_unstable();
        after.dedup();
        let mut members = Vec::new();
        let mut last: Option<(&[(Symbol, u32)], CharState)> = None;
        for of_minterm in after.chunk_by(|one, next| one.0 == next.0) {
            let is_same = |before: &[(Symbol, u32)]| {
                before.len() == of_minterm.len()
                    && before.iter().zip(of_minterm).all(|(one, other)| one.1 == other.1)
            };
            let to = match last {
                Some((before, to)) if is_same(before) => to,
                _ => {
                    members.clear();
                    for &(_, position) in of_minterm {
                        self.arrive(position, &mut members)?;
                    }
                    self.set(&mut members)?
                }
            };
            last = Some((of_minterm, to));
            if to != CharState::DEAD {
                row.push((of_minterm[0].0, to));
            }
        }
        Ok(())
    }

    /// What a set pushes, and its exit.
    fn stack(&mut self, set: &[u32]) -> Result<(Vec<RuleId>, Option<ExitId>), CompileError> {
        let of = self.of;
        let nodes = set.iter().filter(|position| (**position as usize) < of.nodes.len());
        let nodes: Vec<NodeId> = nodes.map(|&position| NodeId::new(position as usize)).collect();
        let mut pushed: Vec<(FrameId, NodeId)> =
            nodes.iter().flat_map(|&node| of.nodes[node].pushes.iter().copied()).collect();
        pushed.sort_unstable();
        pushed.dedup();
        self.budget.charge_steps(PHASE, pushed.len() as u64)?;
        let mut called = Vec::new();
        let mut members = Vec::new();
        for of_frame in pushed.chunk_by(|one, next| one.0 == next.0) {
            members.clear();
            let above: Vec<NodeId> = of_frame.iter().map(|push| push.1).collect();
            self.enter(&above, &mut members)?;
            let ends =
                |&position: &u32| of.nodes.get(position as usize).is_some_and(|node| !node.ends.is_empty());
            if members.iter().any(ends) {
                let reason = "a frame is popped before anything is read";
                return Err(CompileError::Failed(reason.into()));
            }
            let key = (of_frame[0].0, self.set(&mut members)?);
            self.is_pushed[key.0] = true;
            let rules = &mut self.rules;
            called.push(*self.rule_of.entry(key).or_insert_with(|| rules.push(key)));
        }
        let mut ends: Vec<EndId> =
            nodes.iter().flat_map(|&node| of.nodes[node].ends.iter().copied()).collect();
        ends.sort_unstable();
        ends.dedup();
        let exit = (!ends.is_empty()).then(|| self.exits.intern(&ends).0);
        Ok((called, exit))
    }

    /// Completes the rows of all frames.
    fn follow(&mut self) -> Result<(), CompileError> {
        let mut members = Vec::new();
        for (frame, Frame { returns, .. }) in self.of.frames.enumerate() {
            if !self.is_pushed[frame] {
                continue;
            }
            let first = std::mem::replace(&mut self.followed[frame], self.exits.len());
            for exit in ExitId::range(first..self.exits.len()) {
                let ends = self.exits.get(exit);
                self.budget.charge_steps(PHASE, ends.len() as u64)?;
                let to: Vec<NodeId> = ends.iter().filter_map(|end| returns.get(end).copied()).collect();
                if to.is_empty() {
                    continue;
                }
                members.clear();
                self.enter(&to, &mut members)?;
                let to = self.set(&mut members)?;
                if to != CharState::DEAD {
                    self.budget.charge_bytes(PHASE, 8)?;
                    self.rows[frame].push((exit, to));
                }
            }
        }
        Ok(())
    }

    fn within(&self, position: u32) -> (ReadId, CharState) {
        let read = self.bases.partition_point(|&base| base <= position) - 1;
        let read = ReadId::new(read);
        (read, CharState::new((position - self.bases[read]) as usize))
    }

    /// Adds the positions that are reached at nodes without reading.
    fn enter(&mut self, nodes: &[NodeId], members: &mut Vec<u32>) -> Result<(), CompileError> {
        nodes.iter().try_for_each(|node| self.arrive(node.number(), members))
    }

    /// Adds the positions that are reached at a position without reading.
    fn arrive(&mut self, position: u32, members: &mut Vec<u32>) -> Result<(), CompileError> {
        if self.closures[position as usize].is_none() {
            let closure = self.closure(position)?;
            self.budget.charge_bytes(PHASE, closure.len() as u64 * 4)?;
            self.closures[position as usize] = Some(closure);
        }
        members.extend_from_slice(self.closures[position as usize].as_deref().unwrap_or_default());
        Ok(())
    }

    fn closure(&self, position: u32) -> Result<Box<[u32]>, CompileError> {
        let of = self.of;
        let mut open = vec![position];
        let mut seen = foldhash::HashSet::default();
        let mut found = Vec::new();
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            self.budget.charge_steps(PHASE, 1)?;
            let Some(node) = of.nodes.get(at as usize) else {
                let (read, state) = self.within(at);
                let (texts, to) = of.reads[read];
                let texts = &of.texts[texts];
                if !texts.dfa.row(state).is_empty() {
                    found.push(at);
                }
                if texts.may_end(state) {
                    open.push(to.number());
                }
                continue;
            };
            if !node.pushes.is_empty() || !node.ends.is_empty() {
                found.push(at);
            }
            open.extend(
                node.reads.iter().map(|&read| self.bases[read] + of.texts[of.reads[read].0].start().number()),
            );
        }
        found.sort_unstable();
        Ok(found.into())
    }

    /// The number of a set of positions.
    fn set(&mut self, members: &mut Vec<u32>) -> Result<CharState, CompileError> {
        members.sort_unstable();
        members.dedup();
        let (set, is_new) = self.sets.intern(members);
        if is_new {
            self.budget.charge_bytes(PHASE, members.len() as u64 * 4 + 24)?;
            self.budget.check_states(PHASE, self.sets.len() - 1)?;
        }
        Ok(set)
    }
}
