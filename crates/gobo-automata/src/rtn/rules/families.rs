//! Families of rules: those that are one rule by where its texts end ([`Grammar::families`](crate::Grammar::families)).
//!
//! Every rule is of one family, most of a family of their own. While rules are transformed each is an automaton by itself, and no step is another
//! one for a family, except that rules of one family are inlined together or not at all, and that equal families become one as
//! a whole: else a caller would have a part of a family in one place and the rest in another. In the end `fold.rs` makes one rule with
//! exits of a family.

use gobo_types::{DenseId as _, Table, dense_id};

use crate::ids::RuleId;

dense_id! {
    /// A family of rules.
    pub(super) struct FamilyId;
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Families {
    /// `[families]`: the rules, ascending.
    members: Table<FamilyId, Vec<RuleId>>,
    /// `[rules]`.
    of: Table<RuleId, FamilyId>,
}

impl Families {
    /// Of so many rules, those of a grammar first.
    pub(super) fn new(rules: usize, given: &[Vec<RuleId>]) -> Self {
        let mut families = Self { members: Table::new(), of: Table::new() };
        (0..rules).for_each(|_| families.push());
        given.iter().for_each(|members| families.join(members));
        families
    }

    /// One more rule, by itself.
    pub(super) fn push(&mut self) {
        let rule = RuleId::new(self.of.len());
        self.of.push(FamilyId::new(rule.index()));
        self.members.push(vec![rule]);
    }

    /// Makes one family of rules that are by themselves so far.
    pub(super) fn join(&mut self, members: &[RuleId]) {
        let mut members = members.to_vec();
        members.sort_unstable();
        let Some(&first) = members.first() else { return };
        let family = self.of[first];
        members.iter().for_each(|&rule| {
            self.members[self.of[rule]].clear();
            self.of[rule] = family;
        });
        self.members[family] = members;
    }

    /// The family of a rule.
    pub(super) fn of(&self, rule: RuleId) -> FamilyId {
        self.of[rule]
    }

    /// The rules of a family, ascending.
    pub(super) fn members(&self, family: FamilyId) -> &[RuleId] {
        &self.members[family]
    }

    /// All families with at least one rule.
    pub(super) fn all(&self) -> impl Iterator<Item = (FamilyId, &[RuleId])> {
        self.members.enumerate().filter(|(_, of)| !of.is_empty()).map(|(family, of)| (family, of.as_slice()))
    }

    /// The rules of each family of several.
    pub(super) fn several(&self) -> Vec<Vec<RuleId>> {
        self.members.iter().filter(|members| members.len() > 1).cloned().collect()
    }

    /// Number of families, those without rules among them.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}
