use std::rc::Rc;

use gobo_automata::Expr;
use gobo_types::{CompileError, PropertyOrder, RefusalKind};

use crate::brackets::{Builder, STEPS_PER_STATE, Stage};
use crate::expand::Literal;
use crate::formula::{ALWAYS, Formula, FormulaId, Formulas, NEVER};
use crate::items::ItemAtom;
use crate::json::Json;
use crate::lowering::{Lowering, PHASE};
use crate::place::Place;

/// Most values that items may have under `uniqueItems`: each doubles the states.
pub(crate) const MAX_UNIQUE: usize = 12;
impl Lowering<'_> {
    pub(crate) fn array(
        &mut self,
        place: &Rc<Place>,
        formula: FormulaId,
        depth: u32,
    ) -> Result<Expr, CompileError> {
        let mut builder = Builder::new("[", "]", self.values.layout, depth);
        let is_leaf = self.max_depth() == Some(depth);
        let mut formulas = std::mem::replace(&mut self.arrays.formulas, Formulas::new(self.budget));
        let result = self.add_states(&mut builder, &mut formulas, place, (formula, is_leaf), depth);
        self.arrays.formulas = formulas;
        result?;
        Ok(builder.finish())
    }

    fn add_states(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<'_, ItemAtom>,
        place: &Rc<Place>,
        (formula, is_leaf): (FormulaId, bool),
        depth: u32,
    ) -> Result<(), CompileError> {
        let formula = without_unique(formulas, formula)?;
        let of_atoms = formulas.atoms(formula)?.iter().map(ItemAtom::last_item).max().unwrap_or(0);
        let last = u32::try_from(of_atoms.max(place.last_item() as u64)).unwrap_or(u32::MAX);
        let start = builder.state(Stage::Start, 0, formula);
        debug_assert_eq!(start, 0, "texts begin at the first state");
        let mut done = 0;
        while let Some((stage, at, formula)) = builder.open(&mut done) {
            self.budget.charge_steps(PHASE, STEPS_PER_STATE)?;
            let can_end = stage != Stage::Item && formulas.holds(formula, &ItemAtom::holds_at_end)?;
            builder.add_ends(stage, at, formula, can_end, !is_leaf);
            if stage == Stage::Item {
                self.add_items(builder, formulas, place, (at, last, formula), depth)?;
            }
        }
        Ok(())
    }

    /// The edges that read the item at a position, of which that of `last` stands for all that follow.
    fn add_items(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<'_, ItemAtom>,
        place: &Rc<Place>,
        (at, last, formula): (u32, u32, FormulaId),
        depth: u32,
    ) -> Result<(), CompileError> {
        let child = self.places.of(&mut self.nodes, place.of_item(at as usize))?;
        let behind = at.saturating_add(1).min(last);
        let asked = |atom: &ItemAtom| atom.asked(u64::from(at));
        let after = |atom: &ItemAtom, holds| atom.after(u64::from(at), holds);
        let ways = self.outcomes(formulas, formula, &asked, &after)?;
        for (literals, rest) in ways {
            let is_unique = |atom: &ItemAtom| matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_));
            if formulas.atoms(rest)?.iter().any(is_unique) {
                self.add_unique_items(
                    builder,
                    formulas,
                    (at, formula, behind),
                    (&literals, rest),
                    place,
                    depth,
                )?;
            } else if let Some(rule) = self.rule(child, &literals, depth + 1)? {
                let from = builder.state(Stage::Item, at, formula);
                let to = builder.state(Stage::After, behind, rest);
                builder.machine.add_edge(from, Expr::Call(rule), to);
            }
            self.budget.check_states(PHASE, builder.machine.len())?;
        }
        Ok(())
    }

    /// An edge for each value that the item may have: which came before decides which may follow.
    fn add_unique_items(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<'_, ItemAtom>,
        (at, formula, behind): (u32, FormulaId, u32),
        (literals, rest): (&[Literal], FormulaId),
        place: &Rc<Place>,
        depth: u32,
    ) -> Result<(), CompileError> {
        let is_declared = self.options.order == PropertyOrder::Declared;
        // In any order, equal objects have several texts.
        let is_written_once =
            |value: &Json| is_declared || !matches!(value, Json::Array(_) | Json::Object(_));
        let values = self
            .few_values(literals)?
            .filter(|values| values.len() <= MAX_UNIQUE && values.iter().all(is_written_once));
        let Some(values) = values else {
            if !self.options.allow_widening {
                let reason = format!("uniqueItems of items with more than {MAX_UNIQUE} values");
                return Err(self.refuse_at(place, RefusalKind::Unsupported, reason));
            }
            self.widened_unique = true;
            let formula_without = formulas.substitute(formula, &mut |atom| {
                matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_)).then_some(true)
            })?;
            let from = builder.state(Stage::Item, at, formula);
            let to = builder.state(Stage::Item, at, formula_without);
            builder.machine.add_edge(from, Expr::text(""), to);
            return Ok(());
        };
        let child = self.places.of(&mut self.nodes, place.of_item(at as usize))?;
        for value in values {
            self.budget.charge_steps(PHASE, 1 + 4 * value.steps())?;
            let number = self.unique.len();
            let number = *self.unique.entry(value.clone()).or_insert(number);
            let number = u32::try_from(number).expect("the budget keeps values below 2^32");
            let rest = formulas.rewrite(rest, &mut |formulas, atom| match atom {
                ItemAtom::Unique(used) | ItemAtom::Repeated(used) => {
                    let is_unique = matches!(atom, ItemAtom::Unique(_));
                    Ok(Some(match used.binary_search(&number) {
                        Ok(_) => {
                            if is_unique {
                                NEVER
                            } else {
                                ALWAYS
                            }
                        }
                        Err(place) => {
                            let mut used = used.to_vec();
                            used.insert(place, number);
                            formulas.atom(if is_unique {
                                ItemAtom::Unique(used.into())
                            } else {
                                ItemAtom::Repeated(used.into())
                            })?
                        }
                    }))
                }
                _ => Ok(None),
            })?;
            if rest == NEVER {
                continue;
            }
            let from = builder.state(Stage::Item, at, formula);
            let to = builder.state(Stage::After, behind, rest);
            let text = self.text_of(child, &value, depth + 1)?;
            builder.machine.add_edge(from, text, to);
            self.budget.check_states(PHASE, builder.machine.len())?;
        }
        Ok(())
    }
}

/// The same formula, for an array that has one item at most.
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
