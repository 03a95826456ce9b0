//! Builds the network of a grammar by the passes of [`super::rules`].

use gobo_types::{Budget, CompileError, TextStart};

use super::grammar::Grammar;
use super::network::{Folds, Network};
use super::rules::Rules;

impl Network {
    /// The network of a grammar: no rule is left-recursive or has the empty text, rules that do not need the stack are
    /// inlined, and each rule is deterministic with calls as symbols. Families become rules with exits if `folds` says so; `None` if they
    /// then have more states than it allows.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], naming the rule.
    pub(crate) fn of(
        grammar: &Grammar,
        folds: Folds,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Option<Self>, CompileError> {
        let held = |network: &Option<Self>| network.as_ref().map_or(0, Self::bytes);
        budget.holding(|| Self::build(grammar, folds, text_start, budget), held)
    }

    fn build(
        grammar: &Grammar,
        folds: Folds,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Option<Self>, CompileError> {
        let families = match folds {
            Folds::Nothing => &[],
            Folds::Families { .. } => grammar.families.as_slice(),
        };
        let rules = || Rules::of(grammar, families, text_start, budget);
        let mut rules = budget.holding(rules, |rules: &Rules| rules.bytes())?;
        rules.drop_unproductive(budget)?;
        let nullable = rules.nullable(budget)?;
        rules.remove_nullable(&nullable, budget)?;
        let top = rules.add_top(grammar.start, nullable[grammar.start], budget)?;
        rules.break_left_recursion(budget)?;
        rules.inline(top, budget)?;
        rules.merge_equal(budget)?;
        let start = match (text_start, rules.space) {
            (TextStart::StripOneSpace, Some(space)) => rules.before_strip_of_one_space(top, space, budget)?,
            _ => top,
        };
        rules.assemble(start, folds, budget)
    }
}
