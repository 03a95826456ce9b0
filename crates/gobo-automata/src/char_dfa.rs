use gobo_types::{Budget, CompileError};

use crate::dfa::{DEAD, StateId};
use crate::refine::{Edges, Partition, refine, useful};
use crate::slices::Slices;

/// A deterministic automaton over classes of characters: state 0 is dead, and an edge that is not there leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CharDfa {
    /// The characters of each class, `(first, last, class)`, ascending and disjoint. Other characters lead nowhere.
    pub(crate) ranges: Vec<(u32, u32, u32)>,
    pub(crate) classes: usize,
    /// `[states + 1]`: where the edges of each state begin.
    pub(crate) starts: Vec<u32>,
    /// `(class, state)`, ascending by class within a state.
    pub(crate) edges: Vec<(u32, StateId)>,
    pub(crate) accepting: Vec<bool>,
    pub(crate) start: StateId,
    /// Whether it is known that no two states accept the same texts and that all reach acceptance.
    pub(crate) is_minimal: bool,
}

impl CharDfa {
    /// The automaton that has no state but the dead one.
    pub(crate) fn new(ranges: Vec<(u32, u32, u32)>, classes: usize) -> Self {
        Self {
            ranges,
            classes,
            starts: vec![0, 0],
            edges: Vec::new(),
            accepting: vec![false],
            start: DEAD,
            is_minimal: false,
        }
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.ranges.len() * 12 + self.edges.len() * 8 + self.accepting.len() * 5) as u64
    }

    /// Adds a state with edges ascending by class.
    pub(crate) fn push(&mut self, edges: &[(u32, StateId)], accepting: bool) {
        self.edges.extend_from_slice(edges);
        self.starts.push(u32::try_from(self.edges.len()).expect("the budget keeps edges below 2^32"));
        self.accepting.push(accepting);
    }

    /// The edges of a state that lead somewhere, ascending by class.
    pub(crate) fn row(&self, state: StateId) -> &[(u32, StateId)] {
        &self.edges[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }

    /// The automaton of all texts that are in the language once one leading space is dropped, if there is one: a new
    /// start that reads a space and is where the old one was, and reads everything else as the old one did.
    pub(crate) fn before_strip_of_one_space(mut self) -> Self {
        const SPACE: u32 = b' ' as u32;
        if self.start == DEAD {
            return self;
        }
        // The space gets a class of its own, so that only it leads to the old start.
        let space = u32::try_from(self.classes).expect("no more classes than ranges");
        self.classes += 1;
        let at = self.ranges.partition_point(|&(_, last, _)| last < SPACE);
        let mut old_class = None;
        match self.ranges.get(at).copied().filter(|&(first, ..)| first <= SPACE) {
            None => self.ranges.insert(at, (SPACE, SPACE, space)),
            Some((first, last, class)) => {
                old_class = Some(class);
                let before = (first < SPACE).then_some((first, SPACE - 1, class));
                let behind = (last > SPACE).then_some((SPACE + 1, last, class));
                let parts = before.into_iter().chain([(SPACE, SPACE, space)]).chain(behind);
                self.ranges.splice(at..=at, parts);
            }
        }
        // A class that held the space alone has no character left.
        let left = |class: u32| old_class != Some(class) || self.ranges.iter().any(|range| range.2 == class);
        let mut split = Self::new(self.ranges.clone(), self.classes);
        let mut row = Vec::new();
        for state in 1..self.accepting.len() {
            row.clear();
            row.extend_from_slice(self.row(number(state)));
            let on_space = old_class.and_then(|class| row.iter().find(|edge| edge.0 == class).copied());
            row.retain(|edge| left(edge.0));
            row.extend(on_space.map(|(_, next)| (space, next)));
            split.push(&row, self.accepting[state]);
        }
        row.clear();
        row.extend(self.row(self.start).iter().filter(|edge| left(edge.0)));
        row.push((space, self.start));
        split.push(&row, self.accepting[self.start as usize]);
        split.start = number(self.accepting.len());
        split
    }

    /// The trimmed, minimal automaton of the same language, with states numbered breadth first and classes by their first
    /// character: equal languages give equal automata.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn canonical(mut self, budget: &Budget) -> Result<Self, CompileError> {
        const PHASE: &str = "minimising";
        if !self.is_minimal {
            self.trim(budget)?;
        }
        let blocks = if self.is_minimal {
            Partition::discrete(self.accepting.len())
        } else {
            let initial: Vec<u32> = (0..)
                .zip(&self.accepting)
                .map(|(state, &accepting)| if state == DEAD { 0 } else { 1 + u32::from(accepting) })
                .collect();
            refine(&self, &initial, None, PHASE, budget)?
        };
        // One state of each block speaks for all; classes are compared on these states alone.
        let mut speaker = vec![None; blocks.blocks()];
        for state in 1..number(self.accepting.len()) {
            speaker[blocks.block(state) as usize].get_or_insert(state);
        }
        let merged = self.merge_classes(speaker.iter().flatten(), |state| blocks.block(state), budget)?;
        let mut out = Self::new(merged.ranges, merged.classes);
        if self.start == DEAD {
            return Ok(out);
        }
        let mut numbers = vec![0; blocks.blocks()];
        numbers[blocks.block(self.start) as usize] = 1;
        let mut order = vec![blocks.block(self.start)];
        let mut row: Vec<(u32, StateId)> = Vec::new();
        let mut at = 0;
        while let Some(&block) = order.get(at) {
            let state = speaker[block as usize].expect("live blocks have states");
            row.clear();
            row.extend(self.row(state).iter().map(|&(class, next)| (merged.of[class as usize], next)));
            row.sort_unstable_by_key(|edge| edge.0);
            row.dedup_by_key(|edge| edge.0);
            for (_, next) in &mut row {
                let block = blocks.block(*next);
                let known = &mut numbers[block as usize];
                if *known == 0 {
                    order.push(block);
                    *known = number(order.len());
                }
                *next = *known;
            }
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            out.push(&row, self.accepting[state as usize]);
            at += 1;
        }
        (out.start, out.is_minimal) = (1, true);
        Ok(out)
    }

    /// The same automaton with one class for all that lead the same way from every state. For automata whose states are
    /// told apart by more than their edges.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn with_merged_classes(&self, budget: &Budget) -> Result<Self, CompileError> {
        let states: Vec<StateId> = (1..number(self.accepting.len())).collect();
        let merged = self.merge_classes(states.iter(), |state| state, budget)?;
        let mut out = Self::new(merged.ranges, merged.classes);
        let mut row: Vec<(u32, StateId)> = Vec::new();
        for &state in &states {
            row.clear();
            row.extend(self.row(state).iter().map(|&(class, next)| (merged.of[class as usize], next)));
            row.sort_unstable_by_key(|edge| edge.0);
            row.dedup_by_key(|edge| edge.0);
            out.push(&row, self.accepting[state as usize]);
        }
        out.start = self.start;
        Ok(out)
    }

    /// Removes every edge to a state that cannot reach acceptance.
    fn trim(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let useful = useful(self, &self.accepting, budget)?;
        if !useful[self.start as usize] {
            *self = Self::new(Vec::new(), 0);
            return Ok(());
        }
        if useful.iter().skip(1).all(|&useful| useful) {
            return Ok(());
        }
        let mut trimmed = Self::new(std::mem::take(&mut self.ranges), self.classes);
        let mut row = Vec::new();
        for state in 1..self.accepting.len() {
            row.clear();
            row.extend(self.row(number(state)).iter().filter(|(_, next)| useful[*next as usize]));
            trimmed.push(&row, self.accepting[state]);
        }
        trimmed.start = self.start;
        *self = trimmed;
        Ok(())
    }

    /// Merges classes that lead the same way from each of `states`, up to `block`; those that lead nowhere disappear.
    fn merge_classes<'a>(
        &self,
        states: impl Iterator<Item = &'a StateId> + Clone,
        block: impl Fn(StateId) -> u32,
        budget: &Budget,
    ) -> Result<MergedClasses, CompileError> {
        const PHASE: &str = "merging classes";
        budget.charge_bytes(PHASE, self.edges.len() as u64 * 8 + self.classes as u64 * 24)?;
        // `[classes + 1]`: where the column of each class begins: pairs of a state and the block behind it.
        let mut starts = vec![0_usize; self.classes + 1];
        for &state in states.clone() {
            let row = self.row(state);
            budget.charge_steps(PHASE, row.len() as u64)?;
            row.iter().for_each(|&(class, _)| starts[class as usize + 1] += 2);
        }
        for class in 0..self.classes {
            starts[class + 1] += starts[class];
        }
        let mut columns = vec![0_u32; starts[self.classes]];
        let mut fill = starts.clone();
        for &state in states {
            for &(class, next) in self.row(state) {
                let at = &mut fill[class as usize];
                columns[*at..*at + 2].copy_from_slice(&[state, block(next)]);
                *at += 2;
            }
        }
        let mut merged = MergedClasses { ranges: Vec::new(), classes: 0, of: vec![u32::MAX; self.classes] };
        let mut known = Slices::default();
        for &(first, last, class) in &self.ranges {
            let column = &columns[starts[class as usize]..starts[class as usize + 1]];
            if column.is_empty() {
                continue;
            }
            let of = &mut merged.of[class as usize];
            if *of == u32::MAX {
                *of = known.intern(column).0;
            }
            match merged.ranges.last_mut() {
                Some(before) if before.2 == *of && before.1 + 1 == first => before.1 = last,
                _ => merged.ranges.push((first, last, *of)),
            }
        }
        merged.classes = known.len();
        Ok(merged)
    }
}

struct MergedClasses {
    ranges: Vec<(u32, u32, u32)>,
    classes: usize,
    /// `[old classes]`.
    of: Vec<u32>,
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}

impl Edges for CharDfa {
    fn states(&self) -> usize {
        self.accepting.len()
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        self.row(state).iter().copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}
