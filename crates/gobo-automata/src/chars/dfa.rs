//! Deterministic automata over classes of characters, and their canonical form: minimal, with the coarsest classes.

use gobo_types::{Budget, CompileError, DenseId as _};

use crate::equivalence::{Edges, Partition};
use crate::ids::{CharState, Symbol};
use crate::symbols::{Interner, SymbolDfa};

/// A deterministic automaton over classes of characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CharDfa {
    /// The characters of each class, `(first, last, class)`, ascending and disjoint. Other characters lead nowhere.
    pub(crate) ranges: Vec<(u32, u32, Symbol)>,
    pub(crate) classes: usize,
    /// The automaton whose symbols are the classes.
    pub(crate) symbols: SymbolDfa,
    /// Whether it is known that no two states accept the same texts and that all reach acceptance.
    pub(crate) is_minimal: bool,
}

impl CharDfa {
    /// The automaton that has no state but the dead one.
    pub(crate) fn new(ranges: Vec<(u32, u32, Symbol)>, classes: usize) -> Self {
        Self { ranges, classes, symbols: SymbolDfa::empty(), is_minimal: false }
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.len() as u64 * 12 + self.symbols.bytes()
    }

    /// Number of states, the dead one included.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// The state in which texts begin: [`CharState::DEAD`] if there is none.
    pub(crate) fn start(&self) -> CharState {
        self.symbols.start
    }

    /// Whether a text may end in a state.
    pub(crate) fn is_accepting(&self, state: CharState) -> bool {
        self.symbols.accepting[state]
    }

    /// Adds a state with edges ascending by class.
    pub(crate) fn push(&mut self, edges: &[(Symbol, CharState)], accepting: bool) {
        self.symbols.push(edges, accepting);
    }

    /// The edges of a state that lead somewhere, ascending by class.
    pub(crate) fn row(&self, state: CharState) -> &[(Symbol, CharState)] {
        self.symbols.row(state)
    }

    /// The automaton of all texts that are in the language once one leading space is dropped, if there is one: a new
    /// start that reads a space and is where the old one was, and reads everything else as the old one did.
    pub(crate) fn before_strip_of_one_space(mut self) -> Self {
        const SPACE: u32 = b' ' as u32;
        if self.symbols.is_empty() {
            return self;
        }
        // The space gets a class of its own, so that only it leads to the old start.
        let space = Symbol::new(self.classes);
        self.classes += 1;
        let at = self.ranges.partition_point(|&(_, last, _)| last < SPACE);
        let mut old_class = None;
        match self.ranges.get(at).copied().filter(|&(first, ..)| first <= SPACE) {
            None => self.ranges.insert(at, (SPACE, SPACE, space)),
            Some((first, last, class)) => {
                old_class = Some(class);
                let before = (first < SPACE).then_some((first, SPACE - 1, class));
                let after = (last > SPACE).then_some((SPACE + 1, last, class));
                let parts = before.into_iter().chain([(SPACE, SPACE, space)]).chain(after);
                self.ranges.splice(at..=at, parts);
            }
        }
        // A class that held the space alone has no character left.
        let left =
            |class: Symbol| old_class != Some(class) || self.ranges.iter().any(|range| range.2 == class);
        let mut split = Self::new(self.ranges.clone(), self.classes);
        let mut row = Vec::new();
        for state in CharState::range(1..self.len()) {
            row.clear();
            row.extend_from_slice(self.row(state));
            let on_space = old_class.and_then(|class| row.iter().find(|edge| edge.0 == class).copied());
            row.retain(|edge| left(edge.0));
            row.extend(on_space.map(|(_, next)| (space, next)));
            split.push(&row, self.is_accepting(state));
        }
        row.clear();
        row.extend(self.row(self.start()).iter().filter(|edge| left(edge.0)));
        row.push((space, self.start()));
        split.push(&row, self.is_accepting(self.start()));
        split.symbols.start = CharState::new(self.len());
        split
    }

    /// The trimmed, minimal automaton of the same language, with states numbered breadth first and classes by their first
    /// character: equal languages give equal automata.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn canonical(mut self, budget: &Budget) -> Result<Self, CompileError> {
        const PHASE: &str = "minimising";
        let blocks = if self.is_minimal {
            Partition::discrete(self.len())
        } else {
            self.symbols = self.symbols.trim(budget)?;
            if self.symbols.is_empty() {
                (self.ranges, self.classes) = (Vec::new(), 0);
            }
            self.symbols.equivalent(PHASE, budget)?
        };
        // Classes are compared on one state of each block.
        let mut representatives = vec![None; blocks.blocks()];
        for state in CharState::range(1..self.len()) {
            representatives[blocks.block(state).index()].get_or_insert(state);
        }
        let block = |state| blocks.block(state).number();
        let merged = self.merge_classes(representatives.iter().flatten(), block, budget)?;
        if self.symbols.is_empty() {
            return Ok(Self::new(merged.ranges, merged.classes));
        }
        let symbols = self.symbols.quotient(&blocks, |row| {
            merged.rename(row);
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            budget.charge_bytes(PHASE, row.len() as u64 * 8)
        })?;
        Ok(Self { ranges: merged.ranges, classes: merged.classes, symbols, is_minimal: true })
    }

    /// The same automaton with one class for all that lead the same way from every state. For automata whose states are
    /// told apart by more than their edges.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn with_merged_classes(&self, budget: &Budget) -> Result<Self, CompileError> {
        let states: Vec<CharState> = CharState::range(1..self.len()).collect();
        let merged = self.merge_classes(states.iter(), CharState::number, budget)?;
        let mut symbols = SymbolDfa::empty();
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        for &state in &states {
            row.clear();
            row.extend_from_slice(self.row(state));
            merged.rename(&mut row);
            symbols.push(&row, self.is_accepting(state));
        }
        symbols.start = self.start();
        Ok(Self { ranges: merged.ranges, classes: merged.classes, symbols, is_minimal: false })
    }

    /// Merges classes that lead the same way from each of `states`, up to `block`; those that lead nowhere disappear.
    fn merge_classes<'a>(
        &self,
        states: impl Iterator<Item = &'a CharState> + Clone,
        block: impl Fn(CharState) -> u32,
        budget: &Budget,
    ) -> Result<MergedClasses, CompileError> {
        const PHASE: &str = "merging classes";
        budget.charge_bytes(PHASE, self.symbols.edge_count() as u64 * 8 + self.classes as u64 * 24)?;
        // `[classes + 1]`: where the column of each class begins: pairs of a state and the block after it.
        let mut starts = vec![0_usize; self.classes + 1];
        for &state in states.clone() {
            let row = self.row(state);
            budget.charge_steps(PHASE, row.len() as u64)?;
            row.iter().for_each(|&(class, _)| starts[class.index() + 1] += 2);
        }
        for class in 0..self.classes {
            starts[class + 1] += starts[class];
        }
        let mut columns = vec![0_u32; starts[self.classes]];
        let mut fill = starts.clone();
        for &state in states {
            for &(class, next) in self.row(state) {
                let at = &mut fill[class.index()];
                columns[*at..*at + 2].copy_from_slice(&[state.number(), block(next)]);
                *at += 2;
            }
        }
        let mut merged = MergedClasses { ranges: Vec::new(), classes: 0, of: vec![None; self.classes] };
        let mut known: Interner<Symbol, u32> = Interner::default();
        for &(first, last, class) in &self.ranges {
            let column = &columns[starts[class.index()]..starts[class.index() + 1]];
            if column.is_empty() {
                continue;
            }
            let of = *merged.of[class.index()].get_or_insert_with(|| known.intern(column).0);
            match merged.ranges.last_mut() {
                Some(before) if before.2 == of && before.1 + 1 == first => before.1 = last,
                _ => merged.ranges.push((first, last, of)),
            }
        }
        merged.classes = known.len();
        Ok(merged)
    }
}

struct MergedClasses {
    ranges: Vec<(u32, u32, Symbol)>,
    classes: usize,
    /// `[old classes]`: the new ones; `None` where no edge reads the class.
    of: Vec<Option<Symbol>>,
}

impl MergedClasses {
    /// Gives the edges of a state their new classes: one edge of those that have become one.
    fn rename(&self, row: &mut Vec<(Symbol, CharState)>) {
        for (class, _) in row.iter_mut() {
            *class = self.of[class.index()].expect("an edge reads the class");
        }
        row.sort_unstable_by_key(|edge| edge.0);
        row.dedup_by_key(|edge| edge.0);
    }
}
