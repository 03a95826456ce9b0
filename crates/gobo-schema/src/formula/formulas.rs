//! The formula table: positive Boolean formulas over atoms, interned and simplified.
//!
//! There is no negation: the negation of an atom is its dual, so formulas are in negation normal form and monotone: a
//! formula that holds still holds when more of its atoms do. Operands are flattened, sorted and distinct, so formulas that
//! are equal up to associativity, commutativity and idempotence are one. Complementary atoms and absorption are found where
//! an atom stands beside other operands: its truth value is substituted in those. Nothing more is decided: two formulas may
//! mean the same and be distinct.
//!
//! Cost: every operation charges a step for each operand that it looks at, because formulas grow with the schema and are
//! rewritten in every state of an object or array. Rewriting memoises shared subformulas.

use std::cell::{Cell, RefCell};
use std::hash::Hash;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, dense_id};

use crate::phase::LOWERING;

dense_id! {
    /// Identifies a formula of one [`Formulas`].
    pub(crate) struct FormulaId;
}

/// The formula that never holds.
pub(crate) const NEVER: FormulaId = FormulaId(0);
/// The formula that always holds.
pub(crate) const ALWAYS: FormulaId = FormulaId(1);

/// An indivisible demand.
pub(crate) trait Atom: Clone + Eq + Hash {
    /// The negation: it holds exactly where this atom does not.
    fn dual(&self) -> Self;
}

/// A connective, its operands ascending and distinct.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Formula<A> {
    Never,
    Always,
    Atom(A),
    And(Rc<[FormulaId]>),
    Or(Rc<[FormulaId]>),
}

/// Steps of interning an atom, which is hashed several times.
const STEPS_PER_ATOM: usize = 16;

/// Steps of a batch, which are charged together.
const STEPS_AT_ONCE: u64 = 1024;

/// The formula table over one kind of atoms.
#[derive(Debug)]
pub(crate) struct Formulas<'a, A> {
    budget: &'a Budget,
    /// Steps that are not yet charged.
    steps: Cell<u64>,
    all: Vec<Formula<A>>,
    known: HashMap<Formula<A>, FormulaId>,
    /// `[all]`: for an atom, the formula of its dual, if there is one.
    duals: Vec<Option<FormulaId>>,
    /// Atoms whose dual has no formula yet, by that dual.
    without_dual: HashMap<A, Vec<FormulaId>>,
    /// Marks of the walks over formulas.
    seen: RefCell<Seen>,
}

/// The visited marks of a walk, cleared in constant time.
#[derive(Debug, Default)]
struct Seen {
    /// `[formulas]`: the last walk that visited the formula.
    by: Vec<u32>,
    walk: u32,
}

impl Seen {
    /// Begins a walk over a table of `formulas` formulas.
    fn begin(&mut self, formulas: usize) {
        self.by.resize(formulas, 0);
        self.walk = self.walk.checked_add(1).unwrap_or_else(|| {
            self.by.fill(0);
            1
        });
    }

    /// Marks a formula; whether this walk had not visited it.
    fn is_new(&mut self, formula: FormulaId) -> bool {
        std::mem::replace(&mut self.by[formula.index()], self.walk) != self.walk
    }
}

impl<'a, A: Atom> Formulas<'a, A> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self {
            budget,
            steps: Cell::new(0),
            // NEVER and ALWAYS.
            all: vec![Formula::Never, Formula::Always],
            known: HashMap::new(),
            duals: vec![None, None],
            without_dual: HashMap::new(),
            seen: RefCell::default(),
        }
    }

    pub(crate) fn get(&self, formula: FormulaId) -> &Formula<A> {
        &self.all[formula.index()]
    }

    /// Number of formulas so far.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Counts steps, and charges them in batches.
    fn charge(&self, steps: usize) -> Result<(), CompileError> {
        let all = self.steps.get() + steps as u64;
        if all < STEPS_AT_ONCE {
            self.steps.set(all);
            return Ok(());
        }
        self.steps.set(0);
        self.budget.charge_steps(LOWERING, all)
    }

    fn intern(&mut self, formula: Formula<A>, bytes: usize) -> Result<FormulaId, CompileError> {
        if let Some(&known) = self.known.get(&formula) {
            return Ok(known);
        }
        self.budget.charge_bytes(LOWERING, 128 + bytes as u64)?;
        let id = FormulaId::new(self.all.len());
        self.all.push(formula.clone());
        self.duals.push(None);
        self.known.insert(formula, id);
        Ok(id)
    }

    pub(crate) fn atom(&mut self, atom: A) -> Result<FormulaId, CompileError> {
        self.charge(2)?;
        let formula = Formula::Atom(atom);
        if let Some(&known) = self.known.get(&formula) {
            return Ok(known);
        }
        self.charge(STEPS_PER_ATOM)?;
        let Formula::Atom(atom) = &formula else { unreachable!("it was made of an atom") };
        let dual = atom.dual();
        let is_dual_of = self.without_dual.remove(atom);
        let id = self.intern(formula, 128)?;
        for other in is_dual_of.into_iter().flatten() {
            self.duals[other.index()] = Some(id);
        }
        match self.known.get(&Formula::Atom(dual.clone())) {
            Some(&known) => self.duals[id.index()] = Some(known),
            None => self.without_dual.entry(dual).or_default().push(id),
        }
        Ok(id)
    }

    pub(crate) fn constant(holds: bool) -> FormulaId {
        if holds { ALWAYS } else { NEVER }
    }

    /// # Errors
    /// [`CompileError::OverBudget`], as of all operations.
    pub(crate) fn and(
        &mut self,
        operands: impl IntoIterator<Item = FormulaId>,
    ) -> Result<FormulaId, CompileError> {
        self.connect(operands.into_iter().collect(), true)
    }

    pub(crate) fn or(
        &mut self,
        operands: impl IntoIterator<Item = FormulaId>,
    ) -> Result<FormulaId, CompileError> {
        self.connect(operands.into_iter().collect(), false)
    }

    fn connect(&mut self, mut operands: Vec<FormulaId>, is_and: bool) -> Result<FormulaId, CompileError> {
        let (neutral, absorbing) = if is_and { (ALWAYS, NEVER) } else { (NEVER, ALWAYS) };
        loop {
            self.charge(1 + operands.len())?;
            let mut flat: Vec<FormulaId> = Vec::with_capacity(operands.len());
            for &operand in &operands {
                match self.get(operand) {
                    _ if operand == absorbing => return Ok(absorbing),
                    _ if operand == neutral => {}
                    Formula::And(inner) if is_and => flat.extend(inner.iter()),
                    Formula::Or(inner) if !is_and => flat.extend(inner.iter()),
                    _ => flat.push(operand),
                }
            }
            self.charge(flat.len())?;
            flat.sort_unstable();
            flat.dedup();
            // An operand that is an atom decides that atom inside the other operands.
            let is_atom = |formula: FormulaId| matches!(self.get(formula), Formula::Atom(_));
            let atoms = flat.iter().filter(|&&operand| is_atom(operand)).count();
            if atoms > 0 && flat.len() > 1 {
                let dual_is_known = |atom: FormulaId| {
                    self.duals[atom.index()].is_some_and(|dual| flat.binary_search(&dual).is_ok())
                };
                if flat.iter().any(|&operand| is_atom(operand) && dual_is_known(operand)) {
                    return Ok(absorbing);
                }
                if atoms < flat.len() {
                    // This includes absorption: `a ∨ (a ∧ b)` becomes `a`.
                    let simpler = self.simplify(&flat, is_and)?;
                    if simpler != flat {
                        operands = simpler;
                        continue;
                    }
                }
            }
            return match flat.len() {
                0 => Ok(neutral),
                1 => Ok(flat[0]),
                operands if is_and => self.intern(Formula::And(flat.into()), operands * 4),
                operands => self.intern(Formula::Or(flat.into()), operands * 4),
            };
        }
    }

    /// The operands, which are ascending and distinct, with the atoms among them decided inside the others.
    fn simplify(&mut self, flat: &[FormulaId], is_and: bool) -> Result<Vec<FormulaId>, CompileError> {
        let mut memo = HashMap::new();
        let mut decide = |formulas: &mut Self, atom: FormulaId| {
            let dual = formulas.duals[atom.index()];
            Ok(if flat.binary_search(&atom).is_ok() {
                Some(Self::constant(is_and))
            } else {
                let is_known = dual.is_some_and(|dual| flat.binary_search(&dual).is_ok());
                is_known.then(|| Self::constant(!is_and))
            })
        };
        let mut simpler = Vec::with_capacity(flat.len());
        for &operand in flat {
            simpler.push(match self.get(operand) {
                Formula::Atom(_) => operand,
                _ => self.rewrite_with(operand, &mut decide, &mut memo)?,
            });
        }
        Ok(simpler)
    }

    /// The formula with some atoms decided.
    pub(crate) fn substitute(
        &mut self,
        formula: FormulaId,
        decide: &mut impl FnMut(&A) -> Option<bool>,
    ) -> Result<FormulaId, CompileError> {
        self.rewrite(formula, &mut |_, atom| Ok(decide(atom).map(Self::constant)))
    }

    /// The formula with some atoms replaced by formulas. A replacement depends on the atom alone.
    pub(crate) fn rewrite(
        &mut self,
        formula: FormulaId,
        replace: &mut impl FnMut(&mut Self, &A) -> Result<Option<FormulaId>, CompileError>,
    ) -> Result<FormulaId, CompileError> {
        let mut replace = |formulas: &mut Self, atom: FormulaId| match formulas.get(atom).clone() {
            Formula::Atom(atom) => replace(formulas, &atom),
            _ => unreachable!("only atoms are replaced"),
        };
        self.rewrite_with(formula, &mut replace, &mut HashMap::new())
    }

    fn rewrite_with(
        &mut self,
        formula: FormulaId,
        replace: &mut impl FnMut(&mut Self, FormulaId) -> Result<Option<FormulaId>, CompileError>,
        memo: &mut HashMap<FormulaId, FormulaId>,
    ) -> Result<FormulaId, CompileError> {
        let operands = match self.get(formula) {
            Formula::Never | Formula::Always => return Ok(formula),
            Formula::Atom(_) => return Ok(replace(self, formula)?.unwrap_or(formula)),
            Formula::And(operands) | Formula::Or(operands) => Rc::clone(operands),
        };
        if let Some(&known) = memo.get(&formula) {
            return Ok(known);
        }
        self.charge(2 + 2 * operands.len())?;
        let mut new = Vec::with_capacity(operands.len());
        for &operand in operands.iter() {
            new.push(self.rewrite_with(operand, replace, memo)?);
        }
        let is_and = matches!(self.get(formula), Formula::And(_));
        let out = if *new == *operands { formula } else { self.connect(new, is_and)? };
        memo.insert(formula, out);
        Ok(out)
    }

    /// The value of the formula under an assignment of its atoms.
    pub(crate) fn holds(
        &self,
        formula: FormulaId,
        holds: &impl Fn(&A) -> bool,
    ) -> Result<bool, CompileError> {
        self.charge(1)?;
        let operands = match self.get(formula) {
            Formula::Never => return Ok(false),
            Formula::Always => return Ok(true),
            Formula::Atom(atom) => return Ok(holds(atom)),
            Formula::And(operands) | Formula::Or(operands) => operands,
        };
        let is_and = matches!(self.get(formula), Formula::And(_));
        for &operand in operands.iter() {
            if self.holds(operand, holds)? != is_and {
                return Ok(!is_and);
            }
        }
        Ok(is_and)
    }

    /// The atoms that are operands of the outermost conjunction.
    pub(crate) fn conjuncts(&self, formula: FormulaId) -> Result<Vec<&A>, CompileError> {
        let atom = |formula: FormulaId| match self.get(formula) {
            Formula::Atom(atom) => Some(atom),
            _ => None,
        };
        Ok(match self.get(formula) {
            Formula::And(parts) => {
                self.charge(parts.len())?;
                parts.iter().filter_map(|&part| atom(part)).collect()
            }
            _ => atom(formula).into_iter().collect(),
        })
    }

    /// The distinct atoms of a formula, in depth-first order.
    pub(crate) fn atoms(&self, formula: FormulaId) -> Result<Vec<A>, CompileError> {
        let mut atoms = Vec::new();
        let mut seen = self.seen.borrow_mut();
        seen.begin(self.all.len());
        let mut open = vec![formula];
        while let Some(formula) = open.pop() {
            if !seen.is_new(formula) {
                continue;
            }
            match self.get(formula) {
                Formula::Never | Formula::Always => {}
                Formula::Atom(atom) => atoms.push(atom.clone()),
                Formula::And(operands) | Formula::Or(operands) => {
                    self.charge(1 + operands.len())?;
                    open.extend(operands.iter().rev());
                }
            }
        }
        Ok(atoms)
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use super::*;

    /// An atom that holds if a bit is set, or is not.
    type Bit = (u8, bool);

    impl Atom for Bit {
        fn dual(&self) -> Self {
            (self.0, !self.1)
        }
    }

    #[derive(Debug, Clone)]
    enum Tree {
        Bit(Bit),
        And(Vec<Tree>),
        Or(Vec<Tree>),
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let leaf = (0_u8..4, any::<bool>()).prop_map(Tree::Bit);
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::And),
                prop::collection::vec(inner, 0..4).prop_map(Tree::Or),
            ]
        })
    }

    fn build(formulas: &mut Formulas<'_, Bit>, tree: &Tree) -> FormulaId {
        match tree {
            Tree::Bit(bit) => formulas.atom(*bit).unwrap(),
            Tree::And(parts) | Tree::Or(parts) => {
                let parts: Vec<FormulaId> = parts.iter().map(|part| build(formulas, part)).collect();
                if matches!(tree, Tree::And(_)) {
                    formulas.and(parts).unwrap()
                } else {
                    formulas.or(parts).unwrap()
                }
            }
        }
    }

    fn holds(tree: &Tree, bits: u8) -> bool {
        match tree {
            Tree::Bit((bit, is_set)) => (bits >> bit & 1 == 1) == *is_set,
            Tree::And(parts) => parts.iter().all(|part| holds(part, bits)),
            Tree::Or(parts) => parts.iter().any(|part| holds(part, bits)),
        }
    }

    proptest! {
        #[test]
        fn simplification_keeps_the_meaning(tree in tree(), decided in 0_u8..4) {
            let budget = Budget::default();
            let mut formulas = Formulas::new(&budget);
            let formula = build(&mut formulas, &tree);
            for bits in 0..16 {
                let is_set = |bit: &Bit| (bits >> bit.0 & 1 == 1) == bit.1;
                prop_assert_eq!(formulas.holds(formula, &is_set).unwrap(), holds(&tree, bits));
                let rest = formulas.substitute(formula, &mut |bit| (bit.0 == decided).then(|| is_set(bit))).unwrap();
                prop_assert!(formulas.atoms(rest).unwrap().iter().all(|bit| bit.0 != decided));
                prop_assert_eq!(formulas.holds(rest, &is_set).unwrap(), holds(&tree, bits));
            }
        }
    }

    #[test]
    fn contradictions_are_seen() {
        let budget = Budget::default();
        let mut formulas = Formulas::new(&budget);
        let [a, not_a, b] = [(0, true), (0, false), (1, true)].map(|bit| formulas.atom(bit).unwrap());
        assert_eq!(formulas.and([a, not_a]).unwrap(), NEVER);
        assert_eq!(formulas.or([b, a, not_a]).unwrap(), ALWAYS);
        let inner = formulas.or([not_a, b]).unwrap();
        let both = formulas.and([a, b]).unwrap();
        assert_eq!(formulas.and([a, inner]).unwrap(), both);
        assert_eq!(formulas.or([a, both]).unwrap(), a);
    }

    /// Whether a number of bits is odd has a few formulas for each bit, and as many ways through them as there are numbers.
    #[test]
    fn a_formula_of_many_ways_ends_over_budget() {
        let budget = Budget::new(CompileLimits { max_steps: 1_000_000, ..CompileLimits::default() });
        let mut formulas = Formulas::new(&budget);
        let [mut odd, mut even] = [true, false].map(|is_set| formulas.atom((0, is_set)).unwrap());
        for bit in 1..50 {
            let [yes, no] = [true, false].map(|is_set| formulas.atom((bit, is_set)).unwrap());
            let mut either = |one: FormulaId, other: FormulaId| {
                let ways = [formulas.and([one, yes]).unwrap(), formulas.and([other, no]).unwrap()];
                formulas.or(ways).unwrap()
            };
            (odd, even) = (either(even, odd), either(odd, even));
        }
        assert!(budget.steps() < 500_000, "{}", budget.steps());
        assert_ne!(odd, even);
        // Only the first bit decides, and it is asked last.
        let result = formulas.holds(odd, &|bit| bit.0 != 0);
        assert!(matches!(result, Err(CompileError::OverBudget(_))), "{result:?}");
    }
}
