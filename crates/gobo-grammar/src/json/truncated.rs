//! JSON values whose nesting has a bound, as one expression without calls (Koo, Liu & He 2024, *Automata-based constraints for language
//! model decoding*, section 5.1): the automaton needs no stack.
//!
//! What closes around a value is known from the way to it, so each way, a word of objects and arrays, has states of its own: with at most n
//! objects and m arrays there are C(n + m + 2, n + 1) - 1 of them.

use gobo_automata::{Expr, Machine, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, JsonNesting, NumberForm, Whitespace};

use super::any_value::number_of;
use super::layout::Layout;
use super::strings::string;

const PHASE: &str = "writing out nested values";

/// Bytes of a value and its containers.
const VALUE_BYTES: u64 = 2 << 10;

/// The JSON texts whose values have at most so many objects and arrays around them.
///
/// # Errors
/// [`CompileError::OverBudget`]: the ways inwards are too many.
pub fn truncated(
    whitespace: Whitespace,
    numbers: NumberForm,
    nesting: JsonNesting,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    let mut rules = Vec::new();
    let layout = Layout::new(whitespace, |_, expr| {
        rules.push(expr);
        RuleId::new(rules.len() - 1)
    });
    let literals = ["true", "false", "null"].map(Expr::text);
    let scalar = [string(), number_of(numbers)].into_iter().chain(literals).collect();
    let scalar = Expr::Alternate(scalar).shared();
    let within = Truncated { layout, rules, scalar, string: string().shared(), budget };
    let value = within.value(nesting, 0)?;
    Ok(Expr::Concat(vec![within.plain(layout.before()), value, within.plain(layout.after())]))
}

struct Truncated<'a> {
    layout: Layout,
    /// Those of the layout.
    rules: Vec<Expr>,
    scalar: Expr,
    string: Expr,
    budget: &'a Budget,
}

impl Truncated<'_> {
    /// A value in which so many objects and arrays may nest, `depth` levels deep.
    fn value(&self, nesting: JsonNesting, depth: u32) -> Result<Expr, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, VALUE_BYTES)?;
        let JsonNesting { objects, arrays } = nesting;
        let inner = |nesting| self.value(nesting, depth + 1);
        let member = match objects.checked_sub(1) {
            None => None,
            Some(objects) => {
                let value = inner(JsonNesting { objects, ..nesting })?;
                Some(Expr::Concat(vec![self.string.clone(), self.plain(self.layout.colon()), value]))
            }
        };
        let item =
            arrays.checked_sub(1).map(|arrays| inner(JsonNesting { arrays, ..nesting })).transpose()?;
        let (object, array) =
            (self.container(("{", "}"), member, depth), self.container(("[", "]"), item, depth));
        Ok(Expr::Alternate(vec![self.scalar.clone(), object, array]))
    }

    /// A container of such elements; an empty one without any.
    fn container(&self, (open, close): (&str, &str), element: Option<Expr>, depth: u32) -> Expr {
        let layout = self.layout;
        let mut machine = Machine::default();
        let [start, opened, before, after] = [(); 4].map(|()| machine.add_state(false));
        let end = machine.add_state(true);
        machine.start = start;
        machine.add_edge(start, self.plain(layout.open(open)), opened);
        machine.add_edge(opened, Expr::text(close), end);
        if let Some(element) = element {
            machine.add_edge(opened, self.plain(layout.first(depth)), before);
            machine.add_edge(before, element, after);
            machine.add_edge(after, self.plain(layout.between(depth)), before);
            machine.add_edge(
                after,
                Expr::Concat(vec![self.plain(layout.last(depth)), Expr::text(close)]),
                end,
            );
        }
        Expr::Machine(Box::new(machine))
    }

    /// An expression of the layout with its rules in the place of their calls.
    fn plain(&self, expr: Expr) -> Expr {
        let all = |parts: Vec<Expr>| parts.into_iter().map(|part| self.plain(part)).collect();
        match expr {
            Expr::Call(rule) => self.plain(self.rules[rule.index()].clone()),
            Expr::Concat(parts) => Expr::Concat(all(parts)),
            Expr::Alternate(parts) => Expr::Alternate(all(parts)),
            Expr::Repeat { expr, min, max } => self.plain(*expr).repeat(min, max),
            other @ (Expr::Text(_) | Expr::Chars(_) | Expr::Machine(_) | Expr::Shared(_)) => other,
        }
    }
}
