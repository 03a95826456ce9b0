//! Builds the network of a grammar by the passes of [`super::rules`].

use gobo_types::{Budget, CompileError, TextStart};

use super::grammar::Grammar;
use super::network::Network;
use super::rules::Rules;

impl Network {
    /// The network of a grammar: no rule is left-recursive or has the empty text, rules that do not need the stack are
    /// inlined, and each rule is deterministic with calls as symbols.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], naming the rule.
    pub(crate) fn of(
        grammar: &Grammar,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        budget.holding(|| Self::build(grammar, text_start, budget), Self::bytes)
    }

    fn build(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let mut rules =
            budget.holding(|| Rules::of(grammar, text_start, budget), |rules: &Rules| rules.bytes())?;
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
        rules.assemble(start, budget)
    }
}
