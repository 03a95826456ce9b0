//! What formulas say about lengths: it is decided without automata.

use gobo_types::CompileError;

use crate::formula::formulas::{FormulaId, Formulas, NEVER};
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

/// The ranges of lengths that satisfy a formula, ascending, with what it says about the strings of such a length beside it: neighbours
/// that say the same are one.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn ranges(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
) -> Result<Vec<(u64, Option<u64>, FormulaId)>, CompileError> {
    let mut bounds = vec![0];
    for atom in formulas.atoms(formula)? {
        if let StringKind::Length { min, max } = atom.kind {
            bounds.push(min);
            bounds.extend(max.and_then(|max| max.checked_add(1)));
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    let mut ranges: Vec<(u64, Option<u64>, FormulaId)> = Vec::new();
    for (at, &length) in bounds.iter().enumerate() {
        // Between two bounds, no test of lengths changes its answer.
        let rest = formulas.substitute(formula, &mut |atom| match atom.kind {
            StringKind::Length { min, max } => {
                Some((min <= length && max.is_none_or(|max| length <= max)) == atom.holds)
            }
            _ => None,
        })?;
        if rest == NEVER {
            continue;
        }
        let last = bounds.get(at + 1).map(|next| next - 1);
        match ranges.last_mut() {
            Some((_, end, same)) if *same == rest && *end == Some(length.wrapping_sub(1)) => *end = last,
            _ => ranges.push((length, last, rest)),
        }
    }
    Ok(ranges)
}
