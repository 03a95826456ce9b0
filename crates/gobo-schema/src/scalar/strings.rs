//! The strings that satisfy a formula, as values and as texts.
//!
//! Unconstrained strings, ranges of lengths and listed strings are written directly; any other formula as the language of
//! its values, each character of which is then spelled under the policy.

use std::rc::Rc;

use gobo_automata::{CharSet, Expr, Language};
use gobo_types::{Budget, CompileError, Spelling};

use crate::formula::formulas::{ALWAYS, Formula, FormulaId, Formulas, NEVER};
use crate::formula::scalars::{Scalar, StringKind};
use crate::phase::LOWERING;
use crate::read::node::TextId;
use crate::scalar::combine::{kinds, of_formula};
use crate::scalar::lengths::lengths;
use gobo_grammar::json::strings::{any_char, char_in, quoted, string_steps, string_text};

/// The strings that satisfy a formula, as values.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn string_language(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let kinds = kinds(formulas, formula)?;
    let mut languages = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        languages.push(match kind {
            StringKind::Length { min, max } => {
                let any = Expr::Chars(CharSet::new([('\0', char::MAX)]));
                Language::expr(&any.repeat(count(*min), max.map(count)), budget)?
            }
            StringKind::Text(id) => (*text(*id)).clone(),
            StringKind::OneOf(items) => Language::choice(items, budget)?,
        });
    }
    if let Formula::Atom(Scalar { holds: true, .. }) = formulas.get(formula) {
        return Ok(languages.swap_remove(0));
    }
    of_formula(formulas, formula, &kinds, &languages, false, budget)
}

/// Lengths above the largest count exceed every budget, as it does.
pub(crate) fn count(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The texts of the strings that satisfy a formula.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn strings(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    spelling: Spelling,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    if formula == ALWAYS {
        return Ok(quoted(any_char(Spelling::Any).repeat(0, None)));
    }
    if let Some((min, max)) = lengths(formulas, formula)? {
        return Ok(quoted(any_char(spelling).repeat(count(min), max.map(count))));
    }
    if let Formula::Atom(Scalar { kind: StringKind::OneOf(items), holds: true }) = formulas.get(formula) {
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter() {
            budget.charge_steps(LOWERING, string_steps(item, spelling))?;
            texts.push(string_text(item, spelling));
        }
        return Ok(Expr::Alternate(texts));
    }
    let language = string_language(formulas, formula, text, budget)?;
    language.check_states(budget)?;
    spelled(&language, spelling, budget)
}

/// The texts of the strings of a language.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn spelled(
    language: &Language,
    spelling: Spelling,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    Ok(quoted(language.to_expr(|chars| char_in(chars, spelling), budget)?))
}

/// Whether no string satisfies a formula, which tests no lengths.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn is_without_strings(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    budget: &Budget,
) -> Result<bool, CompileError> {
    // Listed strings are tested one by one, without an automaton.
    let atoms = formulas.atoms(formula)?;
    let texts = atoms.iter().filter(|atom| matches!(atom.kind, StringKind::Text(_))).count();
    let listed = atoms.iter().filter_map(|atom| match &atom.kind {
        StringKind::OneOf(items) => Some(items),
        _ => None,
    });
    for item in listed.flat_map(|items| items.iter()) {
        let is_in = |atom: &Scalar<StringKind>| match &atom.kind {
            StringKind::Length { .. } => true,
            StringKind::Text(id) => text(*id).accepts(item),
            StringKind::OneOf(items) => items.has(item),
        };
        budget.charge_steps(LOWERING, (atoms.len() + texts * item.len()) as u64)?;
        if formulas.holds(formula, &|atom| is_in(atom) == atom.holds)? {
            return Ok(false);
        }
    }
    // All other strings are on no list.
    let others = formulas
        .substitute(formula, &mut |atom| matches!(atom.kind, StringKind::OneOf(_)).then_some(!atom.holds))?;
    match others {
        NEVER => Ok(true),
        ALWAYS => Ok(false),
        _ => Ok(string_language(formulas, formula, text, budget)?.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use gobo_types::DenseId as _;

    use super::*;

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    /// A conjunction of disjunctions of tests of strings.
    fn all_of_any(
        formulas: &mut Formulas<'_, Scalar<StringKind>>,
        groups: &[Vec<(StringKind, bool)>],
    ) -> FormulaId {
        let groups: Vec<FormulaId> = groups
            .iter()
            .map(|group| {
                let atoms: Vec<FormulaId> = group
                    .iter()
                    .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }).unwrap())
                    .collect();
                formulas.or(atoms).unwrap()
            })
            .collect();
        formulas.and(groups).unwrap()
    }

    fn groups_of(
        kind: impl Strategy<Value = StringKind>,
    ) -> impl Strategy<Value = Vec<Vec<(StringKind, bool)>>> {
        prop::collection::vec(prop::collection::vec((kind, any::<bool>()), 1..3), 1..4)
    }

    proptest! {
        /// The oracle: one length after the other.
        #[test]
        fn one_range_of_lengths_is_found_wherever_there_is_one(
            groups in groups_of((0_u64..9, prop::option::of(0_u64..9)).prop_map(|(min, max)| StringKind::Length { min, max })),
        ) {
            let budget = budget();
        let mut formulas = Formulas::new(&budget);
            let formula = all_of_any(&mut formulas, &groups);
            let holds = |length: u64| groups.iter().all(|group| group.iter().any(|(kind, holds)| {
                let StringKind::Length { min, max } = kind else { unreachable!() };
                (*min <= length && max.is_none_or(|max| length <= max)) == *holds
            }));
            // No bound is greater than nine.
            let allowed: Vec<u64> = (0..12).filter(|&length| holds(length)).collect();
            let is_one_range = !allowed.is_empty() && allowed.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            let expected = is_one_range.then(|| {
                let last = allowed[allowed.len() - 1];
                (allowed[0], (last < 11).then_some(last))
            });
            prop_assert_eq!(lengths(&formulas, formula).unwrap(), expected);
        }

        /// The oracle: the automaton of all strings that satisfy the formula.
        #[test]
        fn formulas_without_a_string_are_found(
            groups in groups_of(prop_oneof![
                3 => prop::collection::vec("[ab]{0,2}", 0..4).prop_map(|items| StringKind::OneOf(items.into_iter().collect())),
                1 => (0_usize..3).prop_map(|at| StringKind::Text(TextId::new(at))),
            ]),
        ) {
            let texts: Vec<Rc<Language>> = ["a", "[ab]*", "b+"].iter().map(|pattern| {
                let parts = match *pattern {
                    "a" => Expr::text("a"),
                    "b+" => Expr::text("b").repeat(1, None),
                    _ => Expr::chars([('a', 'b')]).repeat(0, None),
                };
                Rc::new(Language::expr(&parts, &budget()).unwrap())
            }).collect();
            let text = |id: TextId| texts[id.index()].clone();
            let budget = budget();
        let mut formulas = Formulas::new(&budget);
            let formula = all_of_any(&mut formulas, &groups);
            prop_assume!(formula != ALWAYS && formula != NEVER);
            let all = string_language(&mut formulas, formula, &text, &budget).unwrap();
            prop_assert_eq!(is_without_strings(&mut formulas, formula, &text, &budget).unwrap(), all.is_empty());
        }
    }
}
