use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};

/// The number of a formula.
pub(crate) type FormulaId = u32;

/// The formula that never holds.
pub(crate) const NEVER: FormulaId = 0;
/// The formula that always holds.
pub(crate) const ALWAYS: FormulaId = 1;

/// What formulas are about.
pub(crate) trait Atom: Clone + Eq + Hash {
    /// Another atom that holds exactly where this one does not.
    fn dual(&self) -> Self;
}

/// A connective, its operands ascending and distinct.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Formula<A> {
    Never,
    Always,
    Atom(A),
    And(Box<[FormulaId]>),
    Or(Box<[FormulaId]>),
}

/// Boolean formulas over atoms, without negation: what is negated is the dual of an atom. So a formula never ceases to hold
/// when more of its atoms do. Equal formulas have one number.
#[derive(Debug)]
pub(crate) struct Formulas<A> {
    formulas: Vec<Formula<A>>,
    known: HashMap<Formula<A>, FormulaId>,
}

impl<A: Atom> Formulas<A> {
    pub(crate) fn new() -> Self {
        let mut formulas = Self { formulas: Vec::new(), known: HashMap::new() };
        formulas.intern(Formula::Never);
        formulas.intern(Formula::Always);
        formulas
    }

    pub(crate) fn get(&self, formula: FormulaId) -> &Formula<A> {
        &self.formulas[formula as usize]
    }

    /// Number of formulas so far.
    pub(crate) fn len(&self) -> usize {
        self.formulas.len()
    }

    fn intern(&mut self, formula: Formula<A>) -> FormulaId {
        *self.known.entry(formula).or_insert_with_key(|formula| {
            self.formulas.push(formula.clone());
            u32::try_from(self.formulas.len() - 1).expect("the budget keeps formulas below 2^32")
        })
    }

    pub(crate) fn atom(&mut self, atom: A) -> FormulaId {
        self.intern(Formula::Atom(atom))
    }

    pub(crate) fn constant(holds: bool) -> FormulaId {
        if holds { ALWAYS } else { NEVER }
    }

    pub(crate) fn and(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.connect(operands, true)
    }

    pub(crate) fn or(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.connect(operands, false)
    }

    fn connect(&mut self, operands: impl IntoIterator<Item = FormulaId>, is_and: bool) -> FormulaId {
        let (neutral, absorbing) = if is_and { (ALWAYS, NEVER) } else { (NEVER, ALWAYS) };
        let mut flat: Vec<FormulaId> = Vec::new();
        for operand in operands {
            match self.get(operand) {
                _ if operand == absorbing => return absorbing,
                _ if operand == neutral => {}
                Formula::And(inner) if is_and => flat.extend(inner),
                Formula::Or(inner) if !is_and => flat.extend(inner),
                _ => flat.push(operand),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.len() > 1 {
            // What an atom beside it decides is decided inside the other operands too.
            let atoms: Vec<A> = flat
                .iter()
                .filter_map(|&operand| match self.get(operand) {
                    Formula::Atom(atom) => Some(atom.clone()),
                    _ => None,
                })
                .collect();
            if !atoms.is_empty() {
                let known: foldhash::HashSet<A> = atoms.iter().cloned().collect();
                if atoms.iter().any(|atom| known.contains(&atom.dual())) {
                    return absorbing;
                }
                if atoms.len() < flat.len() {
                    let simpler: Vec<FormulaId> = flat
                        .iter()
                        .map(|&operand| match self.get(operand) {
                            Formula::Atom(_) => operand,
                            _ => self.substitute(operand, &mut |atom| {
                                if known.contains(atom) {
                                    Some(is_and)
                                } else {
                                    known.contains(&atom.dual()).then_some(!is_and)
                                }
                            }),
                        })
                        .collect();
                    if simpler != flat {
                        return self.connect(simpler, is_and);
                    }
                }
                // Absorption: of `a ∨ (a ∧ b)` only `a` is left by the substitution above.
            }
        }
        match flat.len() {
            0 => neutral,
            1 => flat[0],
            _ if is_and => self.intern(Formula::And(flat.into())),
            _ => self.intern(Formula::Or(flat.into())),
        }
    }

    /// The formula with some atoms decided.
    pub(crate) fn substitute(
        &mut self,
        formula: FormulaId,
        decide: &mut impl FnMut(&A) -> Option<bool>,
    ) -> FormulaId {
        self.rewrite(formula, &mut |_, atom| decide(atom).map(Self::constant))
    }

    /// The formula with some atoms replaced by formulas.
    pub(crate) fn rewrite(
        &mut self,
        formula: FormulaId,
        replace: &mut impl FnMut(&mut Self, &A) -> Option<FormulaId>,
    ) -> FormulaId {
        let mut memo = HashMap::new();
        self.rewrite_with(formula, replace, &mut memo)
    }

    fn rewrite_with(
        &mut self,
        formula: FormulaId,
        replace: &mut impl FnMut(&mut Self, &A) -> Option<FormulaId>,
        memo: &mut HashMap<FormulaId, FormulaId>,
    ) -> FormulaId {
        if let Some(&known) = memo.get(&formula) {
            return known;
        }
        let out = match self.get(formula).clone() {
            Formula::Never | Formula::Always => formula,
            Formula::Atom(atom) => replace(self, &atom).unwrap_or(formula),
            Formula::And(operands) | Formula::Or(operands) => {
                let is_and = matches!(self.get(formula), Formula::And(_));
                let new: Vec<FormulaId> =
                    operands.iter().map(|&operand| self.rewrite_with(operand, replace, memo)).collect();
                if *new == *operands { formula } else { self.connect(new, is_and) }
            }
        };
        memo.insert(formula, out);
        out
    }

    /// Whether the formula holds.
    pub(crate) fn holds(&self, formula: FormulaId, holds: &impl Fn(&A) -> bool) -> bool {
        match self.get(formula) {
            Formula::Never => false,
            Formula::Always => true,
            Formula::Atom(atom) => holds(atom),
            Formula::And(operands) => operands.iter().all(|&operand| self.holds(operand, holds)),
            Formula::Or(operands) => operands.iter().any(|&operand| self.holds(operand, holds)),
        }
    }

    /// The atoms that all have to hold.
    pub(crate) fn conjuncts(&self, formula: FormulaId) -> Vec<&A> {
        let atom = |formula: FormulaId| match self.get(formula) {
            Formula::Atom(atom) => Some(atom),
            _ => None,
        };
        match self.get(formula) {
            Formula::And(parts) => parts.iter().filter_map(|&part| atom(part)).collect(),
            _ => atom(formula).into_iter().collect(),
        }
    }

    /// The distinct atoms of a formula, in the order in which they stand.
    pub(crate) fn atoms(&self, formula: FormulaId) -> Vec<A> {
        let mut atoms = Vec::new();
        let mut seen = foldhash::HashSet::default();
        let mut open = vec![formula];
        while let Some(formula) = open.pop() {
            if !seen.insert(formula) {
                continue;
            }
            match self.get(formula) {
                Formula::Never | Formula::Always => {}
                Formula::Atom(atom) => atoms.push(atom.clone()),
                Formula::And(operands) | Formula::Or(operands) => open.extend(operands.iter().rev()),
            }
        }
        atoms
    }
}

#[cfg(test)]
mod tests {
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

    fn build(formulas: &mut Formulas<Bit>, tree: &Tree) -> FormulaId {
        match tree {
            Tree::Bit(bit) => formulas.atom(*bit),
            Tree::And(parts) | Tree::Or(parts) => {
                let parts: Vec<FormulaId> = parts.iter().map(|part| build(formulas, part)).collect();
                if matches!(tree, Tree::And(_)) { formulas.and(parts) } else { formulas.or(parts) }
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
            let mut formulas = Formulas::new();
            let formula = build(&mut formulas, &tree);
            for bits in 0..16 {
                let is_set = |bit: &Bit| (bits >> bit.0 & 1 == 1) == bit.1;
                prop_assert_eq!(formulas.holds(formula, &is_set), holds(&tree, bits));
                let rest = formulas.substitute(formula, &mut |bit| (bit.0 == decided).then(|| is_set(bit)));
                prop_assert!(formulas.atoms(rest).iter().all(|bit| bit.0 != decided));
                prop_assert_eq!(formulas.holds(rest, &is_set), holds(&tree, bits));
            }
        }
    }

    #[test]
    fn contradictions_are_seen() {
        let mut formulas = Formulas::new();
        let [a, not_a, b] = [(0, true), (0, false), (1, true)].map(|bit| formulas.atom(bit));
        assert_eq!(formulas.and([a, not_a]), NEVER);
        assert_eq!(formulas.or([b, a, not_a]), ALWAYS);
        let inner = formulas.or([not_a, b]);
        let both = formulas.and([a, b]);
        assert_eq!(formulas.and([a, inner]), both);
        assert_eq!(formulas.or([a, both]), a);
    }
}
