use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Machine};

use crate::formula::{FormulaId, NEVER};
use crate::spelling::Layout;

/// Where in the text of an array or an object a state stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// Behind the bracket.
    Start,
    /// Behind an item.
    After,
    /// Where an item has to follow.
    Item,
}

/// Steps of a state between two brackets, its edges included.
pub(crate) const STEPS_PER_STATE: u64 = 16;

/// The machine of the texts between two brackets.
pub(crate) struct Builder {
    pub(crate) machine: Machine,
    known: HashMap<(Stage, u32, FormulaId), u32>,
    order: Vec<(Stage, u32, FormulaId)>,
    end: Option<u32>,
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
            end: None,
            open,
            close,
            layout,
            depth,
        }
    }

    /// The state of a stage, a position and what is left to hold.
    pub(crate) fn state(&mut self, stage: Stage, at: u32, formula: FormulaId) -> u32 {
        let Self { machine, known, order, .. } = self;
        *known.entry((stage, at, formula)).or_insert_with(|| {
            let state = machine.add_state(false);
            // The end has a state, but is no stage.
            order.resize(state as usize, (Stage::Start, u32::MAX, NEVER));
            order.push((stage, at, formula));
            state
        })
    }

    /// The next state whose edges are to be added.
    pub(crate) fn open(&mut self, done: &mut usize) -> Option<(Stage, u32, FormulaId)> {
        loop {
            let next = *self.order.get(*done)?;
            *done += 1;
            if next.2 != NEVER {
                return Some(next);
            }
        }
    }

    /// The edges from behind a bracket or an item: to the next item, and to the end.
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
            Stage::Start => (layout.first(depth), layout.empty()),
            Stage::After => (layout.between(depth), layout.last(depth)),
            Stage::Item => return,
        };
        if can_go_on {
            let to = self.state(Stage::Item, at, formula);
            self.machine.add_edge(from, between, to);
        }
        if can_end {
            let end = *self.end.get_or_insert_with(|| self.machine.add_state(true));
            self.machine.add_edge(from, Expr::Concat(vec![last, Expr::text(self.close)]), end);
        }
    }

    pub(crate) fn finish(self) -> Expr {
        Expr::Concat(vec![Expr::text(self.open), Expr::Machine(Box::new(self.machine))])
    }
}
