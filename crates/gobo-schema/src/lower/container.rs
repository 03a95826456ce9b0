//! The automaton of the text of an array or object: states, brackets and separators.
//!
//! A state is a (stage, position, formula) triple. Arrays and objects add the edges that read an element; the brackets, the
//! separators and the whitespace around them are the same for both and are added here.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Machine, MachineState};
use gobo_types::DenseId as _;

use crate::formula::formulas::{FormulaId, NEVER};
use gobo_grammar::json::layout::Layout;

/// The stage of the text of an array or object at a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// After the opening bracket.
    Start,
    /// After an element.
    After,
    /// Before an element, which has to follow.
    Element,
}

/// A state: its stage, the position of the next element, and the obligation on the elements that follow.
pub(crate) type StateKey = (Stage, u32, FormulaId);

/// Steps of a state, its edges included.
pub(crate) const STEPS_PER_STATE: u64 = 16;

/// The automaton of an array or object under construction.
pub(crate) struct Builder {
    pub(crate) machine: Machine,
    known: HashMap<StateKey, MachineState>,
    order: Vec<StateKey>,
    /// Number of states of `order` whose edges were added.
    done: usize,
    end: Option<MachineState>,
    close: &'static str,
    open: &'static str,
    layout: Layout,
    depth: u32,
}

impl Builder {
    pub(crate) fn new(open: &'static str, close: &'static str, layout: Layout, depth: u32) -> Self {
        Self {
            machine: Machine::default(),
            known: HashMap::new(),
            order: Vec::new(),
            done: 0,
            end: None,
            open,
            close,
            layout,
            depth,
        }
    }

    /// The state of a stage, a position and a formula.
    pub(crate) fn state(&mut self, stage: Stage, at: u32, formula: FormulaId) -> MachineState {
        let Self { machine, known, order, .. } = self;
        *known.entry((stage, at, formula)).or_insert_with(|| {
            let state = machine.add_state(false);
            // The accepting state has no stage.
            order.resize(state.index(), (Stage::Start, u32::MAX, NEVER));
            order.push((stage, at, formula));
            state
        })
    }

    /// The next state whose edges are to be added.
    pub(crate) fn next_open(&mut self) -> Option<StateKey> {
        loop {
            let next = *self.order.get(self.done)?;
            self.done += 1;
            if next.2 != NEVER {
                return Some(next);
            }
        }
    }

    /// The edges from after a bracket or an element: to the next element, and to the end.
    pub(crate) fn add_ends(
        &mut self,
        stage: Stage,
        at: u32,
        formula: FormulaId,
        can_end: bool,
        can_go_on: bool,
    ) {
        let Self { layout, depth, .. } = *self;
        let from = self.state(stage, at, formula);
        let (between, last) = match stage {
            Stage::Start => (layout.first(depth), Expr::text("")),
            Stage::After => (layout.between(depth), layout.last(depth)),
            Stage::Element => return,
        };
        if can_go_on {
            let to = self.state(Stage::Element, at, formula);
            self.machine.add_edge(from, between, to);
        }
        if can_end {
            let end = *self.end.get_or_insert_with(|| self.machine.add_state(true));
            self.machine.add_edge(from, Expr::Concat(vec![last, Expr::text(self.close)]), end);
        }
    }

    /// The texts of the array or object.
    pub(crate) fn finish(self) -> Expr {
        Expr::Concat(vec![self.layout.open(self.open), Expr::Machine(Box::new(self.machine))])
    }
}
