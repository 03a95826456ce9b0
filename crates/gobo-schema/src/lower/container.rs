//! The automaton of the text of an array or object: states, brackets and separators.
//!
//! A state is a (stage, position, formula) triple. Arrays and objects add the edges that read an element; what stands around elements and
//! between them, as brackets, separators and whitespace, is the same for both and is added here.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Machine, MachineState};
use gobo_types::DenseId as _;

use crate::formula::formulas::{FormulaId, NEVER};
use crate::text::yaml::line;
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
    frame: Frame,
}

/// What stands around elements and between them.
pub(crate) struct Frame {
    /// Before all that follows.
    pub(crate) open: Expr,
    /// All of an array or object without elements, but for [`Self::open`].
    pub(crate) empty: Expr,
    /// Before the first element.
    pub(crate) first: Expr,
    /// Between two elements.
    pub(crate) between: Expr,
    /// After the last element.
    pub(crate) close: Expr,
}

impl Frame {
    /// The brackets of JSON, and commas.
    pub(crate) fn json(open: &str, close: &str, layout: Layout, depth: u32) -> Self {
        Self {
            open: layout.open(open),
            empty: Expr::text(close),
            first: layout.first(depth),
            between: layout.between(depth),
            close: Expr::Concat(vec![layout.last(depth), Expr::text(close)]),
        }
    }
}

impl Frame {
    /// What stands around and between the lines of YAML, without which there is nothing.
    pub(crate) fn lines(depth: u32) -> Self {
        let (nothing, empty) = (|| Expr::text(""), Expr::Alternate(Vec::new()));
        Self { open: nothing(), empty, first: nothing(), between: Expr::text(line(depth)), close: nothing() }
    }
}

impl Builder {
    pub(crate) fn new(frame: Frame) -> Self {
        Self {
            machine: Machine::default(),
            known: HashMap::new(),
            order: Vec::new(),
            done: 0,
            end: None,
            frame,
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
        let from = self.state(stage, at, formula);
        let (between, close) = match stage {
            Stage::Start => (self.frame.first.clone(), self.frame.empty.clone()),
            Stage::After => (self.frame.between.clone(), self.frame.close.clone()),
            Stage::Element => return,
        };
        if can_go_on {
            let to = self.state(Stage::Element, at, formula);
            self.machine.add_edge(from, between, to);
        }
        if can_end {
            let end = *self.end.get_or_insert_with(|| self.machine.add_state(true));
            self.machine.add_edge(from, close, end);
        }
    }

    /// The texts of the array or object.
    pub(crate) fn finish(self) -> Expr {
        Expr::Concat(vec![self.frame.open, Expr::Machine(Box::new(self.machine))])
    }
}
