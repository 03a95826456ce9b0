//! Outcomes: the derivative of a formula by an element whose value is not known.
//!
//! The atoms of the formula ask literals of the value of the next element. An outcome decides them: it is a conjunction of
//! literals, for which the element has a rule, and the derivative of the formula under these answers. Outcomes are found by
//! case distinction on one literal after the other, as in a Davis–Putnam–Logemann–Loveland search: answers that the facts
//! imply are not branched on, atoms that an answer settles are substituted at once, and a branch ends when the formula is
//! false.
//!
//! Invariant: a value allows the rest of a text by the formula exactly if it satisfies the literals of some outcome whose
//! derivative allows the rest. Formulas are monotone, so outcomes may overlap, and a negative answer needs no assertion.
//!
//! Cost: up to 2^n outcomes of n literals; each branch charges the atoms that it looks at.

use foldhash::HashMap;
use gobo_types::CompileError;

use crate::formula::derivative::Next;
use crate::formula::expansion::{Literal, opposite};
use crate::formula::formulas::{ALWAYS, Atom, Formula, FormulaId, Formulas, NEVER};
use crate::lower::facts::Facts;
use crate::phase::LOWERING;
use crate::read::node::Types;

/// Steps of an atom that is asked for its literal, those of the operations on formulas apart.
const STEPS_PER_ATOM: usize = 2;
/// Maximum number of literals that are decided jointly for the operands of a disjunction. With more, operands are decided one
/// by one: joint decisions may take every subset of the literals.
const MAX_JOINT: usize = 8;

/// An outcome of an element: the literals that its value satisfies, and the derivative of the formula.
pub(crate) type Outcome = (Vec<Literal>, FormulaId);

/// A partial outcome: the formula, the literals decided, and those of them that were not implied by others.
type Open = (FormulaId, Vec<(Literal, bool)>, Vec<Literal>);

/// The outcomes of the next element. `asked` is the literal that an atom asks of its value, `after` the derivative of the atom
/// for each answer, or without one.
///
/// # Errors
/// A refusal that names a keyword; [`CompileError::OverBudget`].
pub(crate) fn outcomes<A: Atom>(
    facts: &mut Facts<'_>,
    formulas: &mut Formulas<'_, A>,
    formula: FormulaId,
    asked: &impl Fn(&A) -> Option<Literal>,
    after: &impl Fn(&A, Option<bool>) -> Next<A>,
) -> Result<Vec<Outcome>, CompileError> {
    let mut found: Vec<Outcome> = Vec::new();
    let mut open: Vec<Open> = vec![(formula, Vec::new(), Vec::new())];
    while let Some((formula, decided, asserted)) = open.pop() {
        if formula == NEVER {
            continue;
        }
        let atoms = formulas.atoms(formula)?;
        let steps = STEPS_PER_ATOM * (4 + atoms.len() + 4 * decided.len());
        facts.nodes.budget().charge_steps(LOWERING, steps as u64)?;
        let answers: HashMap<Literal, bool> = decided.iter().copied().collect();
        let known = |literal: Literal| answers.get(&literal).copied();
        let mut undecided: Vec<Literal> =
            atoms.iter().filter_map(asked).filter(|literal| known(*literal).is_none()).collect();
        undecided.dedup();
        if let Formula::Or(operands) = formulas.get(formula)
            && undecided.len() > MAX_JOINT
        {
            // A disjunction allows what one operand allows: each operand has outcomes of its own.
            let copied = operands.len() * (1 + decided.len() + asserted.len());
            facts.nodes.budget().charge_steps(LOWERING, copied as u64)?;
            open.extend(operands.iter().map(|&operand| (operand, decided.clone(), asserted.clone())));
            continue;
        }
        let next = undecided.first().copied();
        let Some(literal) = next else {
            let rest = formulas.rewrite(formula, &mut |formulas, atom| {
                Ok(Some(match after(atom, asked(atom).and_then(known)) {
                    Next::Never => NEVER,
                    Next::Always => ALWAYS,
                    // Most atoms are their own derivative.
                    Next::Atom(next) if next == *atom => return Ok(None),
                    Next::Atom(next) => formulas.atom(next)?,
                }))
            })?;
            if rest != NEVER {
                found.push((asserted, rest));
            }
            continue;
        };
        let implied = facts.implies(&asserted, literal)?;
        // Asserting the negation of a literal that fails makes outcomes exclusive. It is asserted if it is asked for as well,
        // or if it is simple, because it is of numbers and strings alone.
        let is_exact = undecided.contains(&opposite(literal))
            || facts.types_of(&[(literal.0, true)])?.and(Types::ARRAY.or(Types::OBJECT)) == Types(0);
        // The positive answer is taken from the stack first.
        for holds in [false, true] {
            if implied == Some(!holds) {
                continue;
            }
            let mut decided = decided.clone();
            decided.push((literal, holds));
            let mut asserted = asserted.clone();
            if holds && implied.is_none() {
                asserted.push(literal);
            }
            if !holds && implied.is_none() && is_exact {
                asserted.push(opposite(literal));
            }
            let rest = formulas.substitute(formula, &mut |atom| {
                if asked(atom) != Some(literal) {
                    return None;
                }
                match after(atom, Some(holds)) {
                    Next::Never => Some(false),
                    Next::Always => Some(true),
                    Next::Atom(_) => None,
                }
            })?;
            open.push((rest, decided, asserted));
        }
    }
    for (asserted, _) in &mut found {
        asserted.sort_unstable();
    }
    found.sort_unstable();
    // Outcomes with the same literals are one: either derivative may hold.
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(found.len());
    for (asserted, rest) in found {
        match outcomes.last_mut() {
            Some(before) if before.0 == asserted => before.1 = formulas.or([before.1, rest])?,
            _ => outcomes.push((asserted, rest)),
        }
    }
    without_idle(facts, formulas, outcomes)
}

/// Drops redundant outcomes: those that assert more than others whose derivatives cover theirs.
fn without_idle<A: Atom>(
    facts: &mut Facts<'_>,
    formulas: &mut Formulas<'_, A>,
    mut outcomes: Vec<Outcome>,
) -> Result<Vec<Outcome>, CompileError> {
    let mut kept: Vec<bool> = vec![true; outcomes.len()];
    for at in 0..outcomes.len() {
        let (asserted, rest) = &outcomes[at];
        let mut weaker: Vec<FormulaId> = Vec::new();
        let mut steps = 0;
        for (other, outcome) in outcomes.iter().enumerate().filter(|&(other, _)| other != at && kept[other]) {
            if outcome.0.len() < asserted.len() || outcome.0.len() == asserted.len() && other < at {
                steps += 1 + outcome.0.len();
                weaker.extend(is_within(&outcome.0, asserted).then_some(outcome.1));
            }
        }
        facts.nodes.budget().charge_steps(LOWERING, (outcomes.len() + steps) as u64)?;
        if weaker.is_empty() {
            continue;
        }
        let with = formulas.or(weaker.iter().copied().chain([*rest]))?;
        kept[at] = with != formulas.or(weaker)?;
    }
    let mut kept = kept.into_iter();
    outcomes.retain(|_| kept.next() == Some(true));
    Ok(outcomes)
}

/// Whether the literals of `less` are among those of `more`; both are ascending.
fn is_within(less: &[Literal], more: &[Literal]) -> bool {
    let mut more = more.iter();
    less.iter().all(|literal| more.any(|other| other == literal))
}
