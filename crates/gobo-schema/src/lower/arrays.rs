//! Lowers arrays: an automaton whose states are (position, formula) pairs.
//!
//! The edge of an item calls the rule of the literals of an outcome and leads to the derivative. Positions are kept apart up
//! to the last one that some keyword names; that position stands for all later ones. `uniqueItems` is enforced if items
//! have few values: then an edge is added for each value, and the derivative remembers the values that were used, at most
//! [`MAX_UNIQUE`], so there are up to 2^[`MAX_UNIQUE`] states.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, MachineState};
use gobo_types::{Budget, CompileError};

use crate::formula::expansion::{Expansion, Literal};
use crate::formula::formulas::{ALWAYS, Formula, FormulaId, Formulas, NEVER};
use crate::formula::items::{Arrays, ItemAtom};
use crate::lower::container::{Builder, Frame, STEPS_PER_STATE, Stage};
use crate::lower::context::Context;
use crate::lower::outcomes::outcomes;
use crate::lower::rules::Form;
use crate::lower::schema_set::SchemaSet;
use crate::phase::LOWERING;
use crate::read::node::NodeId;
use crate::read::value::Json;
use crate::text::yaml::{Part, before_item};

/// Maximum number of values of items under `uniqueItems`: each doubles the states.
pub(crate) const MAX_UNIQUE: usize = 12;

/// Lowering of arrays.
pub(crate) struct ArrayLowering<'a> {
    expansion: Expansion<'a, Arrays>,
    /// The indices of the values of items under `uniqueItems`.
    values: HashMap<Json, usize>,
    /// The subschemas whose `uniqueItems` was dropped, as the options allow.
    pub(crate) widened: Vec<NodeId>,
}

impl<'a> ArrayLowering<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self { expansion: Expansion::new(budget), values: HashMap::new(), widened: Vec::new() }
    }

    /// The texts of the arrays that satisfy all of `literals`; `None` if there are none at a glance.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn lower(
        &mut self,
        context: &mut Context<'a>,
        set: &Rc<SchemaSet>,
        literals: &[Literal],
        (form, depth): (Form, u32),
    ) -> Result<Option<Expr>, CompileError> {
        let formula = self.expansion.all(&mut context.facts.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        let frame = match form {
            Form::Yaml(Part::Line) => {
                let is_empty = self.expansion.formulas.holds(formula, &ItemAtom::holds_at_end)?;
                return Ok(is_empty.then(|| Expr::text("[]")));
            }
            Form::Yaml(Part::Block) => Frame::lines(depth),
            Form::Items => context.parameters().items(),
            _ => Frame::json("[", "]", context.policy.layout(), depth),
        };
        let builder = Builder::new(frame);
        let mut array = Array { lowering: self, context, builder, set, form, depth, last: 0 };
        array.add_states(formula)?;
        Ok(Some(array.builder.finish()))
    }
}

/// An array that is being lowered.
struct Array<'l, 'a> {
    lowering: &'l mut ArrayLowering<'a>,
    context: &'l mut Context<'a>,
    builder: Builder,
    set: &'l SchemaSet,
    form: Form,
    depth: u32,
    /// The position that stands for all later ones.
    last: u32,
}

impl<'a> Array<'_, 'a> {
    fn formulas(&mut self) -> &mut Formulas<'a, ItemAtom> {
        &mut self.lowering.expansion.formulas
    }

    fn add_states(&mut self, formula: FormulaId) -> Result<(), CompileError> {
        let formula = without_unique(self.formulas(), formula)?;
        let of_atoms = self.formulas().atoms(formula)?.iter().map(ItemAtom::last_item).max().unwrap_or(0);
        self.last = u32::try_from(of_atoms.max(self.set.last_item() as u64)).unwrap_or(u32::MAX);
        let start = self.builder.state(Stage::Start, 0, formula);
        debug_assert_eq!(start, MachineState::default(), "texts begin at the first state");
        let can_nest = self.context.policy.max_depth() != Some(self.depth);
        while let Some((stage, at, formula)) = self.builder.next_open() {
            self.context.budget.charge_steps(LOWERING, STEPS_PER_STATE)?;
            let can_end =
                stage != Stage::Element && self.formulas().holds(formula, &ItemAtom::holds_at_end)?;
            self.builder.add_ends(stage, at, formula, can_end, can_nest);
            if stage == Stage::Element {
                self.add_items(at, formula)?;
            }
        }
        Ok(())
    }

    /// The edges that read the item at a position.
    fn add_items(&mut self, at: u32, formula: FormulaId) -> Result<(), CompileError> {
        let child = self.context.set_of(self.set.of_item(at as usize))?;
        let next = at.saturating_add(1).min(self.last);
        let asked = |atom: &ItemAtom| atom.asked(u64::from(at));
        let after = |atom: &ItemAtom, holds| atom.after(u64::from(at), holds);
        let formulas = &mut self.lowering.expansion.formulas;
        let found = outcomes(&mut self.context.facts, formulas, formula, &asked, &after)?;
        for (literals, rest) in found {
            let is_unique = |atom: &ItemAtom| matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_));
            if self.formulas().atoms(rest)?.iter().any(is_unique) {
                self.add_unique_items((at, formula), next, (&literals, rest))?;
            } else if let Some(item) = self.context.item(child, &literals, (self.form, self.depth + 1))? {
                let from = self.builder.state(Stage::Element, at, formula);
                let to = self.builder.state(Stage::After, next, rest);
                self.builder.machine.add_edge(from, item, to);
            }
            self.context.budget.check_states(LOWERING, self.builder.machine.len())?;
        }
        Ok(())
    }

    /// An edge for each value that the item may have: the values used decide which may follow.
    fn add_unique_items(
        &mut self,
        (at, formula): (u32, FormulaId),
        next: u32,
        (literals, rest): (&[Literal], FormulaId),
    ) -> Result<(), CompileError> {
        let is_ordered = self.context.policy.is_ordered();
        // In any order, equal objects have several texts; parameters are no known values.
        let has_one_text = |value: &Json| is_ordered || !matches!(value, Json::Array(_) | Json::Object(_));
        let is_json = self.form != Form::Items;
        let values = self
            .context
            .facts
            .few_values(literals)?
            .filter(|values| is_json && values.len() <= MAX_UNIQUE && values.iter().all(has_one_text));
        let Some(mut values) = values else {
            return self.widen_unique(at, formula);
        };
        values.retain(|value| self.context.policy.allows(value));
        let child = self.context.set_of(self.set.of_item(at as usize))?;
        let written = self.context.policy.values.beside(&values);
        for value in values {
            self.context.budget.charge_steps(LOWERING, 1 + 4 * value.steps())?;
            let index = self.lowering.values.len();
            let index = *self.lowering.values.entry(value.clone()).or_insert(index);
            let index = u32::try_from(index).expect("the budget keeps values below 2^32");
            let rest = after_value(self.formulas(), rest, index)?;
            if rest == NEVER {
                continue;
            }
            let from = self.builder.state(Stage::Element, at, formula);
            let to = self.builder.state(Stage::After, next, rest);
            let text = self.context.text_of(written, child, &value, self.depth + 1)?;
            let text = match self.form {
                Form::Yaml(_) => Expr::Concat(vec![before_item(), text]),
                _ => text,
            };
            self.builder.machine.add_edge(from, text, to);
            self.context.budget.check_states(LOWERING, self.builder.machine.len())?;
        }
        Ok(())
    }

    /// Items with too many values to remember: goes on without uniqueness if the options allow it.
    fn widen_unique(&mut self, at: u32, formula: FormulaId) -> Result<(), CompileError> {
        if !self.context.policy.options.allow_widening {
            let reason = format!("uniqueItems of items with more than {MAX_UNIQUE} values");
            return Err(self.context.refuse_unique(self.set, reason));
        }
        self.lowering.widened.extend(&self.set.unique);
        let formula_without = self.formulas().substitute(formula, &mut |atom| {
            matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_)).then_some(true)
        })?;
        let from = self.builder.state(Stage::Element, at, formula);
        let to = self.builder.state(Stage::Element, at, formula_without);
        self.builder.machine.add_edge(from, Expr::text(""), to);
        Ok(())
    }
}

/// The derivative by a value of the atoms of `uniqueItems`: the value has been used, or is used for the first time.
fn after_value(
    formulas: &mut Formulas<'_, ItemAtom>,
    formula: FormulaId,
    value: u32,
) -> Result<FormulaId, CompileError> {
    formulas.rewrite(formula, &mut |formulas, atom| match atom {
        ItemAtom::Unique(used) | ItemAtom::Repeated(used) => {
            let is_unique = matches!(atom, ItemAtom::Unique(_));
            Ok(Some(match used.binary_search(&value) {
                Ok(_) if is_unique => NEVER,
                Ok(_) => ALWAYS,
                Err(index) => {
                    let mut used = used.to_vec();
                    used.insert(index, value);
                    formulas.atom(if is_unique {
                        ItemAtom::Unique(used.into())
                    } else {
                        ItemAtom::Repeated(used.into())
                    })?
                }
            }))
        }
        _ => Ok(None),
    })
}

/// The formula without `uniqueItems`, if the array has one item at most.
fn without_unique(
    formulas: &mut Formulas<'_, ItemAtom>,
    formula: FormulaId,
) -> Result<FormulaId, CompileError> {
    let is_short = |formulas: &Formulas<'_, ItemAtom>, formula: FormulaId| {
        matches!(formulas.get(formula), Formula::Atom(ItemAtom::NoLongerThan(0 | 1)))
    };
    match formulas.get(formula).clone() {
        Formula::And(parts) if parts.iter().any(|&part| is_short(formulas, part)) => {
            formulas.substitute(formula, &mut |atom| matches!(atom, ItemAtom::Unique(_)).then_some(true))
        }
        _ => Ok(formula),
    }
}
