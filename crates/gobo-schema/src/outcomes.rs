use foldhash::HashMap;
use gobo_types::CompileError;

use crate::expand::{Literal, opposite};
use crate::formula::{ALWAYS, Atom, Formula, FormulaId, Formulas, NEVER};
use crate::lowering::{Lowering, PHASE};
use crate::node::Types;

/// Steps of an atom of a formula, of which it is asked what it asks, those of the formula's own operations apart.
const STEPS_PER_ATOM: usize = 2;
/// Most literals that are decided together for the operands of a disjunction, so that it is seen at once which of them are left.
const MAX_JOINT: usize = 8;

/// What becomes of an atom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next<A> {
    Never,
    Always,
    Atom(A),
}

/// A way in which a value may come out: what is known to hold of it, and what is left of the formula then.
pub(crate) type Way = (Vec<Literal>, FormulaId);

/// A formula with some literals decided, and those of them that were not implied.
type Open = (FormulaId, Vec<(Literal, bool)>, Vec<Literal>);

impl Lowering<'_> {
    /// The ways in which the next value may come out: what is known to hold of it, and what is left of the formula then.
    /// `asked` is what an atom asks of the value, `after` what becomes of it when that holds, or does not, or was not asked.
    ///
    /// Formulas never cease to hold when more is known to: so a value may come out in several ways, and counts as good if one
    /// of them is.
    pub(crate) fn outcomes<A: Atom>(
        &mut self,
        formulas: &mut Formulas<'_, A>,
        formula: FormulaId,
        asked: &impl Fn(&A) -> Option<Literal>,
        after: &impl Fn(&A, Option<bool>) -> Next<A>,
    ) -> Result<Vec<Way>, CompileError> {
        let mut found: Vec<Way> = Vec::new();
        let mut open: Vec<Open> = vec![(formula, Vec::new(), Vec::new())];
        while let Some((formula, decided, asserted)) = open.pop() {
            if formula == NEVER {
                continue;
            }
            let atoms = formulas.atoms(formula)?;
            let steps = STEPS_PER_ATOM * (4 + atoms.len() + 4 * decided.len());
            self.budget.charge_steps(PHASE, steps as u64)?;
            let answers: HashMap<Literal, bool> = decided.iter().copied().collect();
            let known = |literal: Literal| answers.get(&literal).copied();
            let mut undecided: Vec<Literal> =
                atoms.iter().filter_map(asked).filter(|literal| known(*literal).is_none()).collect();
            undecided.dedup();
            if let Formula::Or(operands) = formulas.get(formula)
                && undecided.len() > MAX_JOINT
            {
                // Deciding all of them together may take every subset; what one operand lets through is let through.
                let copied = operands.len() * (1 + decided.len() + asserted.len());
                self.budget.charge_steps(PHASE, copied as u64)?;
                open.extend(operands.iter().map(|&operand| (operand, decided.clone(), asserted.clone())));
                continue;
            }
            let next = undecided.first().copied();
            let Some(literal) = next else {
                let rest = formulas.rewrite(formula, &mut |formulas, atom| {
                    Ok(Some(match after(atom, asked(atom).and_then(known)) {
                        Next::Never => NEVER,
                        Next::Always => ALWAYS,
                        // Most are left as they are.
                        Next::Atom(next) if next == *atom => return Ok(None),
                        Next::Atom(next) => formulas.atom(next)?,
                    }))
                })?;
                if rest != NEVER {
                    found.push((asserted, rest));
                }
                continue;
            };
            let implied = self.implies(&asserted, literal)?;
            // What does not hold has an opposite that does. To say so makes ways that exclude each other; it is said where the
            // opposite is asked too, or is as simple, being of numbers and strings.
            let is_exact = undecided.contains(&opposite(literal))
                || self.types_of(&[(literal.0, true)])?.and(Types::ARRAY.or(Types::OBJECT)) == Types(0);
            // What has to hold comes off the stack first.
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
        // Ways in which the same is known are one.
        let mut ways: Vec<Way> = Vec::with_capacity(found.len());
        for (asserted, rest) in found {
            match ways.last_mut() {
                Some(before) if before.0 == asserted => before.1 = formulas.or([before.1, rest])?,
                _ => ways.push((asserted, rest)),
            }
        }
        self.without_idle(formulas, ways)
    }

    /// The ways that add something: one that asks for more than others and leads no further than they do together does not.
    fn without_idle<A: Atom>(
        &mut self,
        formulas: &mut Formulas<'_, A>,
        mut ways: Vec<Way>,
    ) -> Result<Vec<Way>, CompileError> {
        let mut kept: Vec<bool> = vec![true; ways.len()];
        for at in 0..ways.len() {
            let (asserted, rest) = &ways[at];
            let mut weaker: Vec<FormulaId> = Vec::new();
            let mut steps = 0;
            for (other, way) in ways.iter().enumerate().filter(|&(other, _)| other != at && kept[other]) {
                if way.0.len() < asserted.len() || way.0.len() == asserted.len() && other < at {
                    steps += 1 + way.0.len();
                    weaker.extend(is_within(&way.0, asserted).then_some(way.1));
                }
            }
            self.budget.charge_steps(PHASE, (ways.len() + steps) as u64)?;
            if weaker.is_empty() {
                continue;
            }
            let with = formulas.or(weaker.iter().copied().chain([*rest]))?;
            kept[at] = with != formulas.or(weaker)?;
        }
        let mut kept = kept.into_iter();
        ways.retain(|_| kept.next() == Some(true));
        Ok(ways)
    }
}

/// Whether all of some literals, ascending, are among others, ascending.
fn is_within(less: &[Literal], more: &[Literal]) -> bool {
    let mut more = more.iter();
    less.iter().all(|literal| more.any(|other| other == literal))
}
