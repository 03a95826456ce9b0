//! The rules of numbers and strings: one for each formula.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Language, RuleId};
use gobo_types::{CompileError, Notation, NumberForm, Spelling};

use crate::formula::expansion::Literal;
use crate::formula::formulas::{ALWAYS, FormulaId, NEVER};
use crate::formula::scalars::{Scalar, StringKind};
use crate::lower::facts::Facts;
use crate::lower::rules::Rules;
use crate::read::node::TextId;
use crate::scalar::counted::counted_strings;
use crate::scalar::numbers::numbers;
use crate::scalar::strings::{string_language, strings};
use crate::scalar::yaml::yaml_strings;
use crate::text::yaml;

/// The rules of formulas of numbers and strings.
pub(crate) struct ScalarRules {
    notation: Notation,
    numbers: HashMap<FormulaId, RuleId>,
    strings: HashMap<FormulaId, RuleId>,
    bare_strings: HashMap<FormulaId, RuleId>,
    /// The strings without excluded phrases, if there are any.
    without: Option<TextId>,
    /// Whether the numbers of some formula had no text of the form that was asked for.
    pub(crate) has_other_numbers: bool,
}

impl ScalarRules {
    pub(crate) fn new(notation: Notation, without: Option<TextId>) -> Self {
        Self {
            notation,
            numbers: HashMap::new(),
            strings: HashMap::new(),
            bare_strings: HashMap::new(),
            without,
            has_other_numbers: false,
        }
    }

    /// The strings without excluded phrases, if there are any.
    pub(crate) fn written(&self, facts: &Facts<'_>) -> Option<Rc<Language>> {
        self.without.map(|text| facts.nodes.text(text).clone())
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
        let expr = match self.notation {
            Notation::Json => expr,
            Notation::Yaml => yaml::numbers(&expr, facts.nodes.budget())?,
        };
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
        let (formula, is_free) = self.strings_of(facts, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.strings.get(&formula) {
            return Ok(Some(known));
        }
        let (nodes, formulas) = (&facts.nodes, &mut facts.strings.formulas);
        let mut add = |body, lengths| rules.add_counted("characters".to_owned(), body, lengths);
        let spelling = if is_free { Spelling::Any } else { spelling };
        let counted = match self.notation {
            Notation::Json => counted_strings(formulas, formula, nodes, spelling, &mut add)?,
            Notation::Yaml => Some(yaml_strings(formulas, formula, nodes, &mut add)?),
        };
        let expr = match counted {
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

    /// The rule of the strings that satisfy all of `literals`, as their characters; `None` if there are none at a glance. Beside it, whether
    /// nothing is asked of them.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn bare_string(
        &mut self,
        facts: &mut Facts<'_>,
        rules: &mut Rules,
        literals: &[Literal],
    ) -> Result<Option<(RuleId, bool)>, CompileError> {
        let (formula, is_free) = self.strings_of(facts, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.bare_strings.get(&formula) {
            return Ok(Some((known, is_free)));
        }
        let (nodes, formulas) = (&facts.nodes, &mut facts.strings.formulas);
        let text = |text: TextId| nodes.text(text).clone();
        let strings = string_language(formulas, formula, &text, nodes.budget())?;
        let expr = strings.to_expr(|chars| Expr::Chars(chars.clone()), nodes.budget())?;
        let rule = rules.add("string".to_owned(), expr);
        self.bare_strings.insert(formula, rule);
        Ok(Some((rule, is_free)))
    }

    /// What is asked of strings, and whether `literals` ask nothing.
    fn strings_of(
        &self,
        facts: &mut Facts<'_>,
        literals: &[Literal],
    ) -> Result<(FormulaId, bool), CompileError> {
        let asked = facts.strings.all(&mut facts.nodes, literals)?;
        let Some(without) = self.without else { return Ok((asked, asked == ALWAYS)) };
        let formulas = &mut facts.strings.formulas;
        let without = formulas.atom(Scalar { kind: StringKind::Text(without), holds: true })?;
        Ok((formulas.and([asked, without])?, asked == ALWAYS))
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
