//! The language of a Boolean formula over tests that are regular languages: a product construction on the fly.
//!
//! A state of the product is a state of each automaton; it accepts if the formula holds of the automata that accept. Of a
//! state, only the automata matter whose acceptance is not yet settled and on which the value of the formula still depends:
//! the others are dropped from the state, which keeps the product small.

use std::cell::RefCell;
use std::hash::Hash;

use foldhash::{HashMap, HashSet};
use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use crate::formula::formulas::{FormulaId, Formulas, NEVER};
use crate::formula::scalars::Scalar;

/// The distinct tests of a formula.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn kinds<K: Clone + Eq + Hash>(
    formulas: &Formulas<'_, Scalar<K>>,
    formula: FormulaId,
) -> Result<Vec<K>, CompileError> {
    let mut known = HashSet::default();
    let kinds = formulas.atoms(formula)?.into_iter().map(|atom| atom.kind);
    Ok(kinds.filter(|kind| known.insert(kind.clone())).collect())
}

/// The language of a formula. `languages` are those of `kinds`, its tests; with `has_universe`, after a first one that the
/// result is intersected with.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn of_formula<K: Clone + Eq + Hash>(
    formulas: &mut Formulas<'_, Scalar<K>>,
    formula: FormulaId,
    kinds: &[K],
    languages: &[Language],
    has_universe: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let first = usize::from(has_universe);
    let parts: Vec<&Language> = languages.iter().collect();
    let indices: HashMap<&K, usize> = kinds.iter().zip(first..).collect();
    let at = |atom: &Scalar<K>| indices.get(&atom.kind).copied();
    let formulas = RefCell::new(formulas);
    let accepts = |is_in: &[bool]| {
        let holds = |atom: &Scalar<K>| at(atom).is_some_and(|at| is_in[at] == atom.holds);
        Ok((!has_universe || is_in[0]) && formulas.borrow().holds(formula, &holds)?)
    };
    let matters = |decided: &[Option<bool>]| {
        let mut formulas = formulas.borrow_mut();
        let mut matters = vec![false; decided.len()];
        if has_universe && decided[0] == Some(false) {
            return Ok(matters);
        }
        let rest = formulas.substitute(formula, &mut |atom| {
            let is_in = at(atom).and_then(|at| decided[at])?;
            Some(is_in == atom.holds)
        })?;
        matters[..first].fill(rest != NEVER);
        for at in formulas.atoms(rest)?.iter().filter_map(at) {
            matters[at] = true;
        }
        Ok(matters)
    };
    Language::combine_open(&parts, accepts, matters, budget)
}
