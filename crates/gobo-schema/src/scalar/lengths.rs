//! Formulas of lengths alone: they are decided without automata.

use gobo_types::CompileError;

use crate::formula::formulas::{FormulaId, Formulas};
use crate::formula::scalars::{Scalar, StringKind};

/// The least and greatest length that satisfy a formula, if it tests lengths alone and holds for one range of them.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn lengths(
    formulas: &Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
) -> Result<Option<(u64, Option<u64>)>, CompileError> {
    let mut bounds = vec![0];
    for atom in formulas.atoms(formula)? {
        let StringKind::Length { min, max } = atom.kind else { return Ok(None) };
        bounds.push(min);
        bounds.extend(max.and_then(|max| max.checked_add(1)));
    }
    bounds.sort_unstable();
    bounds.dedup();
    // Between two bounds, no test changes its answer.
    let mut range: Option<(u64, Option<u64>)> = None;
    let mut is_open = false;
    for &length in &bounds {
        let holds = formulas.holds(formula, &|atom| match atom.kind {
            StringKind::Length { min, max } => {
                (min <= length && max.is_none_or(|max| length <= max)) == atom.holds
            }
            _ => unreachable!("only lengths are asked for"),
        })?;
        match (&mut range, holds) {
            (None, true) => range = Some((length, None)),
            (Some(range), false) if is_open => range.1 = Some(length - 1),
            // A second range.
            (Some(_), true) if !is_open => return Ok(None),
            _ => {}
        }
        is_open = holds;
    }
    Ok(range)
}
