//! The rules of numbers and strings: one for each formula.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, RuleId};
use gobo_types::{CompileError, NumberForm, Spelling};

use crate::formula::expansion::Literal;
use crate::formula::formulas::{FormulaId, NEVER};
use crate::lower::facts::Facts;
use crate::lower::long_strings::LongStrings;
use crate::lower::rules::Rules;
use crate::phase::LOWERING;
use crate::read::node::TextId;
use crate::scalar::lengths::lengths;
use crate::scalar::numbers::numbers;
use crate::scalar::strings::strings;
use gobo_grammar::json::strings::any_char;

/// Steps of a block of a long string.
const STEPS_PER_BLOCK: u64 = 16;

/// The rules of formulas of numbers and strings.
pub(crate) struct ScalarRules {
    numbers: HashMap<FormulaId, RuleId>,
    strings: HashMap<FormulaId, RuleId>,
    long: LongStrings,
    /// Whether the numbers of some formula had no text of the form that was asked for.
    pub(crate) has_other_numbers: bool,
}

impl ScalarRules {
    pub(crate) fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            strings: HashMap::new(),
            long: LongStrings::new(),
            has_other_numbers: false,
        }
    }

    /// The rule of the numbers that satisfy all of `literals`; `None` if there are none at a glance.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn number(
        &mut self,
        facts: &mut Facts<'_>,
        rules: &mut Rules,
        literals: &[Literal],
        form: NumberForm,
    ) -> Result<Option<RuleId>, CompileError> {
        let formula = facts.numbers.all(&mut facts.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.numbers.get(&formula) {
            return Ok(Some(known));
        }
        let (expr, found) = numbers(&mut facts.numbers.formulas, formula, form, facts.nodes.budget())?;
        self.has_other_numbers |= found != form;
        let rule = rules.add("number".to_owned(), expr);
        self.numbers.insert(formula, rule);
        Ok(Some(rule))
    }

    /// The rule of the strings that satisfy all of `literals`; `None` if there are none at a glance.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn string(
        &mut self,
        facts: &mut Facts<'_>,
        rules: &mut Rules,
        literals: &[Literal],
        spelling: Spelling,
    ) -> Result<Option<RuleId>, CompileError> {
        let formula = facts.strings.all(&mut facts.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.strings.get(&formula) {
            return Ok(Some(known));
        }
        let budget = facts.nodes.budget();
        let long =
            lengths(&facts.strings.formulas, formula)?.filter(|&(min, max)| LongStrings::counts(min, max));
        let expr = if let Some((min, max)) = long {
            budget.charge_steps(LOWERING, LongStrings::blocks(min, max) * STEPS_PER_BLOCK)?;
            self.long.text(rules, &any_char(spelling), min, max)
        } else {
            let nodes = &facts.nodes;
            let text = |text: TextId| nodes.text(text).clone();
            strings(&mut facts.strings.formulas, formula, &text, spelling, budget)?
        };
        let rule = rules.add("string".to_owned(), expr);
        self.strings.insert(formula, rule);
        Ok(Some(rule))
    }

    /// A call of the rule of all strings.
    pub(crate) fn any_string(
        &mut self,
        facts: &mut Facts<'_>,
        rules: &mut Rules,
        spelling: Spelling,
    ) -> Expr {
        let rule = self.string(facts, rules, &[], spelling);
        let rule = rule.ok().flatten().unwrap_or_else(|| unreachable!("all strings are few states"));
        Expr::Call(rule)
    }
}
