//! The rules of numbers and strings: one for each formula.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Language, RuleId};
use gobo_types::{CompileError, NumberForm, Spelling};

use crate::formula::expansion::Literal;
use crate::formula::formulas::{ALWAYS, FormulaId, NEVER};
use crate::lower::facts::Facts;
use crate::lower::rules::Rules;
use crate::read::node::TextId;
use crate::scalar::counted::counted_strings;
use crate::scalar::numbers::numbers;
use crate::scalar::strings::{string_language, strings};

/// The rules of formulas of numbers and strings.
pub(crate) struct ScalarRules {
    numbers: HashMap<FormulaId, RuleId>,
    strings: HashMap<FormulaId, RuleId>,
    bare_strings: HashMap<FormulaId, RuleId>,
    /// Whether the numbers of some formula had no text of the form that was asked for.
    pub(crate) has_other_numbers: bool,
}

impl ScalarRules {
    pub(crate) fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            strings: HashMap::new(),
            bare_strings: HashMap::new(),
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
        let (nodes, formulas) = (&facts.nodes, &mut facts.strings.formulas);
        let mut add = |body, lengths| rules.add_counted("characters".to_owned(), body, lengths);
        let expr = match counted_strings(formulas, formula, nodes, spelling, &mut add)? {
            Some(counted) => counted,
            None => {
                let text = |text: TextId| nodes.text(text).clone();
                strings(formulas, formula, &text, spelling, nodes.budget())?
            }
        };
        let rule = rules.add("string".to_owned(), expr);
        self.strings.insert(formula, rule);
        Ok(Some(rule))
    }

    /// The rule of the strings that satisfy all of `literals` and are among `written`, as their characters; `None` if there are none at a
    /// glance. Beside it, whether these are all of `written`.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn bare_string(
        &mut self,
        facts: &mut Facts<'_>,
        rules: &mut Rules,
        literals: &[Literal],
        written: &Language,
    ) -> Result<Option<(RuleId, bool)>, CompileError> {
        let formula = facts.strings.all(&mut facts.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        let is_free = formula == ALWAYS;
        if let Some(&known) = self.bare_strings.get(&formula) {
            return Ok(Some((known, is_free)));
        }
        let (nodes, formulas) = (&facts.nodes, &mut facts.strings.formulas);
        let budget = nodes.budget();
        let as_characters =
            |language: &Language| language.to_expr(|chars| Expr::Chars(chars.clone()), budget);
        let expr = if is_free {
            as_characters(written)?
        } else {
            let text = |text: TextId| nodes.text(text).clone();
            let strings = string_language(formulas, formula, &text, budget)?;
            as_characters(&strings.intersection(written, budget)?)?
        };
        let rule = rules.add("string".to_owned(), expr);
        self.bare_strings.insert(formula, rule);
        Ok(Some((rule, is_free)))
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
