//! What is seen at once of subschemas: the types and the few values that they leave, and which exclude each other.

use std::rc::Rc;

use gobo_automata::Language;
use gobo_types::CompileError;

use crate::evaluate::evaluate;
use crate::expand::{Literal, opposite};
use crate::formula::{ALWAYS, NEVER};
use crate::json::Json;
use crate::lowering::{Lowering, PHASE};
use crate::node::{FALSE, NodeId, Part, TRUE, TextId, Types};
use crate::scalars::{StringKind, is_without_strings, numbers};

/// Steps of a subschema whose types are looked up.
const STEPS_PER_SUBSCHEMA: u64 = 8;

impl Lowering<'_> {
    pub(crate) fn all_hold(&mut self, literals: &[Literal], value: &Json) -> Result<bool, CompileError> {
        for &(node, holds) in literals {
            if evaluate(&mut self.nodes, node, value)? != holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values that satisfy all of `literals`, if one of them lists all that it lets through.
    pub(crate) fn few_values(&mut self, literals: &[Literal]) -> Result<Option<Vec<Json>>, CompileError> {
        for &(node, holds) in literals {
            if !holds {
                continue;
            }
            let Some(values) = self.values_of(node)? else { continue };
            let mut few = Vec::new();
            for value in values.iter() {
                self.budget.charge_steps(PHASE, 1 + literals.len() as u64)?;
                if self.all_hold(literals, value)? {
                    few.push(value.clone());
                }
            }
            return Ok(Some(few));
        }
        Ok(None)
    }

    /// All values that may satisfy a subschema, where they are listed.
    pub(crate) fn values_of(&mut self, node: NodeId) -> Result<Option<Rc<[Json]>>, CompileError> {
        if node == FALSE {
            return Ok(Some(Rc::new([])));
        }
        if let Some(known) = self.finite.get(&node) {
            return Ok(known.clone());
        }
        // What refers to itself lists nothing.
        self.finite.insert(node, None);
        let parts = self.nodes.parts(node)?;
        let mut found: Option<Rc<[Json]>> = None;
        for part in parts.iter() {
            self.budget.charge_steps(PHASE, 1)?;
            let here = match part {
                Part::Values(values) => Some(Rc::clone(values.list())),
                Part::Types { types, .. } if types.and(Types::NULL.or(Types::BOOL)) == *types => {
                    let all = [Json::Null, Json::Bool(true), Json::Bool(false)];
                    Some(all.into_iter().filter(|value| types.has(Types::of(value))).collect())
                }
                Part::AllOf(of) => {
                    let mut least: Option<Rc<[Json]>> = None;
                    for &node in of.iter() {
                        let values = self.values_of(node)?;
                        least = [least, values].into_iter().flatten().min_by_key(|values| values.len());
                    }
                    least
                }
                Part::AnyOf(of) | Part::OneOf(of) => {
                    let mut all = Some(Vec::new());
                    for &node in of.iter() {
                        match (self.values_of(node)?, &mut all) {
                            (Some(values), Some(all)) => {
                                let steps: u64 = values.iter().map(Json::steps).sum();
                                self.budget.charge_steps(PHASE, 4 + 4 * steps)?;
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

    /// The types that values may have which satisfy all of `literals`; those that they cannot have may be among them.
    pub(crate) fn types_of(&mut self, literals: &[Literal]) -> Result<Types, CompileError> {
        literals.iter().try_fold(Types::ALL, |types, &literal| Ok(types.and(self.types(literal)?)))
    }

    pub(crate) fn types(&mut self, literal: Literal) -> Result<Types, CompileError> {
        let (node, holds) = literal;
        if node == TRUE || node == FALSE {
            return Ok(if (node == TRUE) == holds { Types::ALL } else { Types(0) });
        }
        if let Some(&known) = self.types.get(&literal) {
            return Ok(known);
        }
        self.budget.charge_steps(PHASE, STEPS_PER_SUBSCHEMA)?;
        self.types.insert(literal, Types::ALL);
        let parts = self.nodes.parts(node)?;
        let mut of_parts = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            of_parts.push(self.types_of_part(part, holds)?);
        }
        let types = Self::connect(&of_parts, holds);
        self.types.insert(literal, types);
        Ok(types)
    }

    pub(crate) fn connect(types: &[Types], is_and: bool) -> Types {
        if is_and {
            types.iter().fold(Types::ALL, |all, types| all.and(*types))
        } else {
            types.iter().fold(Types(0), |all, types| all.or(*types))
        }
    }

    pub(crate) fn types_of_part(&mut self, part: &Part, holds: bool) -> Result<Types, CompileError> {
        Ok(match part {
            Part::Types { types, .. } => {
                let whole = types.and(Types::ALL);
                if holds {
                    if types.has(Types::INTEGER) { whole.or(Types::NUMBER) } else { whole }
                } else {
                    Types(Types::ALL.0 & !whole.0)
                }
            }
            Part::Values(values) if holds => {
                self.budget.charge_steps(PHASE, values.list().len() as u64)?;
                values.list().iter().fold(Types(0), |types, value| types.or(Types::of(value)))
            }
            Part::AllOf(of) | Part::AnyOf(of) => {
                self.budget.charge_steps(PHASE, 4 * of.len() as u64)?;
                let mut types = Vec::with_capacity(of.len());
                for &node in of.iter() {
                    types.push(self.types((node, holds))?);
                }
                Self::connect(&types, matches!(part, Part::AllOf(_)) == holds)
            }
            Part::OneOf(of) if holds => {
                self.budget.charge_steps(PHASE, 4 * of.len() as u64)?;
                let mut types = Types(0);
                for &node in of.iter() {
                    types = types.or(self.types((node, true))?);
                }
                types
            }
            Part::Not(of) => self.types((*of, !holds))?,
            // What a keyword of one type refuses is of that type.
            Part::Bound { .. } | Part::MultipleOf(_) if !holds => Types::NUMBER,
            Part::Length { .. } | Part::Text(_) if !holds => Types::STRING,
            Part::Members(_) | Part::Required(_) | Part::Names(_) | Part::MemberCount { .. } if !holds => {
                Types::OBJECT
            }
            Part::Items { .. } | Part::ItemCount { .. } if !holds => Types::ARRAY,
            _ => Types::ALL,
        })
    }

    /// Whether a value that satisfies all of `asserted` satisfies `literal`, where that is seen at once.
    pub(crate) fn implies(
        &mut self,
        asserted: &[Literal],
        literal: Literal,
    ) -> Result<Option<bool>, CompileError> {
        if literal.0 == TRUE || literal.0 == FALSE {
            return Ok(Some((literal.0 == TRUE) == literal.1));
        }
        // Looked through for the literal and its opposite, for types, and for lists.
        self.budget.charge_steps(PHASE, STEPS_PER_SUBSCHEMA + 4 * asserted.len() as u64)?;
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

    /// Whether it is seen that no value satisfies all of `literals`, which are those of numbers or strings: `types` are all that
    /// some of them allow. Lengths are not looked at.
    pub(crate) fn is_without_scalars(
        &mut self,
        literals: &[Literal],
        types: Types,
    ) -> Result<bool, CompileError> {
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
            let is_empty = is_without_strings(&mut self.strings.formulas, formula, &text, self.budget)?;
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
            let texts = numbers(&mut self.numbers.formulas, formula, self.budget)?;
            let is_empty = Language::expr(&texts, self.budget)?.is_empty();
            self.empty_numbers.insert(formula, is_empty);
            return Ok(is_empty);
        }
        Ok(false)
    }
}
