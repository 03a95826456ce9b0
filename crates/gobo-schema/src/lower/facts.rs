//! Facts about literals, found without automata of arrays and objects: an incomplete decision procedure.
//!
//! Implication between literals is asked in every state of an array or object, so it is approximated by facts that are
//! cheap: the types that literals allow, lists of values that `enum`, `const` and the like allow, and the emptiness of the
//! automata of numbers and strings. Every answer given is right; where nothing is seen, the answer is `None` and lowering
//! goes on with both outcomes.
//!
//! All results are memoised, by subschema, literal or formula. A subschema in a cycle counts as allowing every type and
//! listing no values.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::Language;
use gobo_types::{CompileError, NumberForm};

use crate::evaluate::evaluate;
use crate::formula::expansion::{Expansion, Literal, opposite};
use crate::formula::formulas::{ALWAYS, FormulaId, NEVER};
use crate::formula::scalars::{Numbers, StringKind, Strings};
use crate::phase::LOWERING;
use crate::read::keywords::keywords_of;
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, TextId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::Json;
use crate::scalar::numbers::numbers;
use crate::scalar::strings::{is_without_strings, string_language};

/// Steps of a subschema whose types are looked up.
const STEPS_PER_SUBSCHEMA: u64 = 8;

/// Deductions from literals, memoised.
pub(crate) struct Facts<'a> {
    pub(crate) nodes: Nodes<'a>,
    pub(crate) numbers: Expansion<'a, Numbers>,
    pub(crate) strings: Expansion<'a, Strings>,
    /// Whether no number, or no string, satisfies a formula.
    empty_numbers: HashMap<FormulaId, bool>,
    empty_strings: HashMap<FormulaId, bool>,
    /// The values that a subschema lists, if it lists all that it allows.
    finite: HashMap<NodeId, Option<Rc<[Json]>>>,
    types: HashMap<Literal, Types>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(nodes: Nodes<'a>) -> Self {
        let budget = nodes.budget();
        Self {
            nodes,
            numbers: Expansion::new(budget),
            strings: Expansion::new(budget),
            empty_numbers: HashMap::new(),
            empty_strings: HashMap::new(),
            finite: HashMap::new(),
            types: HashMap::new(),
        }
    }

    /// Whether a value satisfies all of `literals`.
    pub(crate) fn all_hold(&mut self, literals: &[Literal], value: &Json) -> Result<bool, CompileError> {
        for &(node, holds) in literals {
            if evaluate(&mut self.nodes, node, value)? != holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values that satisfy all of `literals`, if one of these lists the values that it allows.
    pub(crate) fn few_values(&mut self, literals: &[Literal]) -> Result<Option<Vec<Json>>, CompileError> {
        for &(node, holds) in literals {
            if !holds {
                continue;
            }
            let Some(values) = self.values_of(node)? else { continue };
            let mut few = Vec::new();
            for value in values.iter() {
                self.nodes.budget().charge_steps(LOWERING, 1 + literals.len() as u64)?;
                if self.all_hold(literals, value)? {
                    few.push(value.clone());
                }
            }
            return Ok(Some(few));
        }
        Ok(None)
    }

    /// The values that may satisfy a subschema, if it lists them.
    fn values_of(&mut self, node: NodeId) -> Result<Option<Rc<[Json]>>, CompileError> {
        if node == FALSE {
            return Ok(Some(Rc::new([])));
        }
        if let Some(known) = self.finite.get(&node) {
            return Ok(known.clone());
        }
        // A subschema that refers to itself lists nothing.
        self.finite.insert(node, None);
        let keywords = keywords_of(&mut self.nodes, node)?;
        let mut found: Option<Rc<[Json]>> = None;
        for keyword in keywords.iter() {
            self.nodes.budget().charge_steps(LOWERING, 1)?;
            let here = match keyword {
                Keyword::Values(values) => Some(Rc::clone(values.list())),
                Keyword::Types { types, .. } if types.and(Types::NULL.or(Types::BOOL)) == *types => {
                    let all = [Json::Null, Json::Bool(true), Json::Bool(false)];
                    Some(all.into_iter().filter(|value| types.has(Types::of(value))).collect())
                }
                Keyword::AllOf(of) => {
                    let mut least: Option<Rc<[Json]>> = None;
                    for &node in of.iter() {
                        let values = self.values_of(node)?;
                        least = [least, values].into_iter().flatten().min_by_key(|values| values.len());
                    }
                    least
                }
                Keyword::AnyOf(of) | Keyword::OneOf(of) => {
                    let mut all = Some(Vec::new());
                    for &node in of.iter() {
                        match (self.values_of(node)?, &mut all) {
                            (Some(values), Some(all)) => {
                                let steps: u64 = values.iter().map(Json::steps).sum();
                                self.nodes.budget().charge_steps(LOWERING, 4 + 4 * steps)?;
                                all.extend(values.iter().cloned());
                            }
                            _ => all = None,
                        }
                    }
                    all.map(|mut all: Vec<Json>| {
                        let mut known = foldhash::HashSet::default();
                        all.retain(|value| known.insert(value.clone()));
                        all.into()
                    })
                }
                _ => None,
            };
            found = [found, here].into_iter().flatten().min_by_key(|values| values.len());
        }
        self.finite.insert(node, found.clone());
        Ok(found)
    }

    /// A superset of the types of the values that satisfy all of `literals`.
    pub(crate) fn types_of(&mut self, literals: &[Literal]) -> Result<Types, CompileError> {
        literals.iter().try_fold(Types::ALL, |types, &literal| Ok(types.and(self.types(literal)?)))
    }

    /// A superset of the types of the values that satisfy a literal.
    fn types(&mut self, literal: Literal) -> Result<Types, CompileError> {
        let (node, holds) = literal;
        if node == TRUE || node == FALSE {
            return Ok(if (node == TRUE) == holds { Types::ALL } else { Types(0) });
        }
        if let Some(&known) = self.types.get(&literal) {
            return Ok(known);
        }
        self.nodes.budget().charge_steps(LOWERING, STEPS_PER_SUBSCHEMA)?;
        self.types.insert(literal, Types::ALL);
        let keywords = keywords_of(&mut self.nodes, node)?;
        let mut of_keywords = Vec::with_capacity(keywords.len());
        for keyword in keywords.iter() {
            of_keywords.push(self.types_of_keyword(keyword, holds)?);
        }
        let types = Self::connect(&of_keywords, holds);
        self.types.insert(literal, types);
        Ok(types)
    }

    fn connect(types: &[Types], is_and: bool) -> Types {
        if is_and {
            types.iter().fold(Types::ALL, |all, types| all.and(*types))
        } else {
            types.iter().fold(Types(0), |all, types| all.or(*types))
        }
    }

    /// A superset of the types of the values that satisfy a keyword, or its negation.
    fn types_of_keyword(&mut self, keyword: &Keyword, holds: bool) -> Result<Types, CompileError> {
        Ok(match keyword {
            Keyword::Types { types, .. } => {
                let whole = types.and(Types::ALL);
                if holds {
                    if types.has(Types::INTEGER) { whole.or(Types::NUMBER) } else { whole }
                } else {
                    Types::ALL.but(whole)
                }
            }
            Keyword::Values(values) if holds => {
                self.nodes.budget().charge_steps(LOWERING, values.list().len() as u64)?;
                values.list().iter().fold(Types(0), |types, value| types.or(Types::of(value)))
            }
            Keyword::AllOf(of) | Keyword::AnyOf(of) => {
                self.nodes.budget().charge_steps(LOWERING, 4 * of.len() as u64)?;
                let mut types = Vec::with_capacity(of.len());
                for &node in of.iter() {
                    types.push(self.types((node, holds))?);
                }
                Self::connect(&types, matches!(keyword, Keyword::AllOf(_)) == holds)
            }
            Keyword::OneOf(of) if holds => {
                self.nodes.budget().charge_steps(LOWERING, 4 * of.len() as u64)?;
                let mut types = Types(0);
                for &node in of.iter() {
                    types = types.or(self.types((node, true))?);
                }
                types
            }
            Keyword::Not(of) => self.types((*of, !holds))?,
            // A keyword for one type refuses values of that type alone.
            Keyword::Bound { .. } | Keyword::MultipleOf(_) if !holds => Types::NUMBER,
            Keyword::Length { .. } | Keyword::Text(_) if !holds => Types::STRING,
            Keyword::Properties(_)
            | Keyword::Required(_)
            | Keyword::PropertyNames(_)
            | Keyword::PropertyCount { .. }
                if !holds =>
            {
                Types::OBJECT
            }
            Keyword::Items { .. } | Keyword::ItemCount { .. } if !holds => Types::ARRAY,
            _ => Types::ALL,
        })
    }

    /// Whether all values that satisfy `asserted` satisfy `literal` (`Some(true)`), or none does (`Some(false)`), as far as is seen.
    pub(crate) fn implies(
        &mut self,
        asserted: &[Literal],
        literal: Literal,
    ) -> Result<Option<bool>, CompileError> {
        if literal.0 == TRUE || literal.0 == FALSE {
            return Ok(Some((literal.0 == TRUE) == literal.1));
        }
        // `asserted` is searched for the literal and its negation, for types and for lists.
        self.nodes.budget().charge_steps(LOWERING, STEPS_PER_SUBSCHEMA + 4 * asserted.len() as u64)?;
        if asserted.contains(&literal) {
            return Ok(Some(true));
        }
        if asserted.contains(&opposite(literal)) {
            return Ok(Some(false));
        }
        let types = self.types_of(asserted)?;
        if types.and(self.types(literal)?) == Types(0) {
            return Ok(Some(false));
        }
        if types.and(self.types(opposite(literal))?) == Types(0) {
            return Ok(Some(true));
        }
        for (literal, answer) in [(literal, false), (opposite(literal), true)] {
            let mut both = asserted.to_vec();
            both.push(literal);
            let types = types.and(self.types(literal)?);
            if self.is_without_scalars(&both, types)? {
                return Ok(Some(answer));
            }
        }
        if let Some(values) = self.few_values(asserted)? {
            let mut holds = 0;
            for value in &values {
                holds += usize::from(self.all_hold(&[literal], value)?);
            }
            if holds == 0 {
                return Ok(Some(false));
            }
            if holds == values.len() {
                return Ok(Some(true));
            }
        } else if literal.1 && self.values_of(literal.0)?.is_some() {
            let mut both = asserted.to_vec();
            both.push(literal);
            if self.few_values(&both)?.is_some_and(|values| values.is_empty()) {
                return Ok(Some(false));
            }
        }
        Ok(None)
    }

    /// Whether it is seen that no number, or no string, satisfies all of `literals`. `types` is a superset of the types that they
    /// allow. Lengths are ignored.
    fn is_without_scalars(&mut self, literals: &[Literal], types: Types) -> Result<bool, CompileError> {
        let is_scalar = |allowed: Types| types.and(allowed) == types;
        if is_scalar(Types::STRING) {
            let formula = self.strings.all(&mut self.nodes, literals)?;
            let formula = self.strings.formulas.substitute(formula, &mut |atom| {
                matches!(atom.kind, StringKind::Length { .. }).then_some(true)
            })?;
            if formula == NEVER || formula == ALWAYS {
                return Ok(formula == NEVER);
            }
            if let Some(&known) = self.empty_strings.get(&formula) {
                return Ok(known);
            }
            let nodes = &self.nodes;
            let text = |text: TextId| nodes.text(text).clone();
            let is_empty =
                is_without_strings(&mut self.strings.formulas, formula, &text, self.nodes.budget())?;
            self.empty_strings.insert(formula, is_empty);
            return Ok(is_empty);
        }
        if is_scalar(Types::NUMBER) {
            let formula = self.numbers.all(&mut self.nodes, literals)?;
            if formula == NEVER || formula == ALWAYS {
                return Ok(formula == NEVER);
            }
            if let Some(&known) = self.empty_numbers.get(&formula) {
                return Ok(known);
            }
            // Every number has a text of JSON.
            let texts =
                numbers(&mut self.numbers.formulas, formula, NumberForm::Json, self.nodes.budget())?.0;
            let is_empty = Language::expr(&texts, self.nodes.budget())?.is_empty();
            self.empty_numbers.insert(formula, is_empty);
            return Ok(is_empty);
        }
        Ok(false)
    }

    /// The strings that satisfy a subschema.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn strings_of(&mut self, node: NodeId) -> Result<Language, CompileError> {
        let formula = self.strings.all(&mut self.nodes, &[(node, true)])?;
        match formula {
            NEVER => Ok(Language::none()),
            ALWAYS => Language::none().complement(self.nodes.budget()),
            _ => {
                let nodes = &self.nodes;
                let text = |text: TextId| nodes.text(text).clone();
                string_language(&mut self.strings.formulas, formula, &text, nodes.budget())
            }
        }
    }
}
