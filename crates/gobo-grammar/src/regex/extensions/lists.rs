//! Lists of items with delimiters between.

use gobo_automata::{Expr, Machine, MachineState};
use gobo_types::{Budget, CompileError};

use super::super::syntax::Node;
use super::{PHASE, node};

/// How many items a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// One item or more, as often as told, with delimiters between. A list without items is the empty text.
pub(crate) fn list(item: &Node, delimiter: &Node, count: Count) -> Node {
    let more = Node::Concat(vec![delimiter.clone(), item.clone()]);
    let more = more.repeat(count.min.saturating_sub(1), count.max.map(|max| max.saturating_sub(1)));
    let some = Node::Concat(vec![item.clone(), more]);
    match count {
        Count { max: Some(0), .. } => Node::empty(),
        Count { min: 0, .. } => some.repeat(0, Some(1)),
        Count { .. } => some,
    }
}

/// One or more of the items, each at most once, in their order, with delimiters between. Linear; but if something looks around or names are
/// kept, the square of the number of items.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn subsequence(
    items: &[Node],
    delimiter: &Node,
    keeps_names: bool,
    budget: &Budget,
) -> Result<Node, CompileError> {
    let more = |item: &Node| Node::Concat(vec![delimiter.clone(), item.clone()]);
    if keeps_names || items.iter().chain([delimiter]).any(Node::looks_around) {
        let mut ways = Vec::new();
        for (at, first) in items.iter().enumerate() {
            budget.charge_steps(PHASE, (items.len() - at) as u64)?;
            budget.charge_bytes(PHASE, (items.len() - at) as u64 * 256)?;
            let rest = items[at + 1..].iter().map(|item| more(item).repeat(0, Some(1)));
            ways.push(Node::Concat([first.clone()].into_iter().chain(rest).collect()));
        }
        return Ok(Node::Alternate(ways));
    }
    // Two states before each item: with none so far, and with some.
    let mut machine = Machine::default();
    let mut none: MachineState = machine.add_state(false);
    let mut some = machine.add_state(false);
    machine.start = none;
    for (at, item) in items.iter().enumerate() {
        let (next_none, next_some) = (machine.add_state(false), machine.add_state(at + 1 == items.len()));
        machine.add_edge(none, item.to_expr(budget)?, next_some);
        machine.add_edge(none, Expr::text(""), next_none);
        machine.add_edge(some, more(item).to_expr(budget)?, next_some);
        machine.add_edge(some, Expr::text(""), next_some);
        (none, some) = (next_none, next_some);
    }
    node(&Expr::Machine(Box::new(machine)), budget)
}
