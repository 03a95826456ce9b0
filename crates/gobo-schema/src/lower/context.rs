//! The context of lowering: the tables that the rules of every type share.

use std::rc::Rc;

use gobo_automata::{Expr, RuleId};
use gobo_types::{Budget, CompileError, RefusalKind, SchemaOptions};

use crate::advice::UNIQUE_ITEMS;
use crate::formula::expansion::{Literal, opposite};
use crate::lower::facts::Facts;
use crate::lower::policy::Policy;
use crate::lower::rules::{RuleKey, Rules};
use crate::lower::scalar_rules::ScalarRules;
use crate::lower::schema_set::{SchemaSet, SchemaSetId, SchemaSets};
use crate::phase::LOWERING;
use crate::read::node::{NodeId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, Object};
use crate::text::numbers::number_steps;
use crate::text::values::Values;
use gobo_grammar::json::strings::string_steps;

/// Steps of a rule that is looked up or added.
const STEPS_PER_RULE: u64 = 8;
/// Steps of a value that is written as an expression, its characters apart.
const STEPS_PER_VALUE: u64 = 16;

/// The tables of lowering that arrays and objects share.
pub(crate) struct Context<'a> {
    pub(crate) policy: Policy<'a>,
    pub(crate) budget: &'a Budget,
    pub(crate) facts: Facts<'a>,
    pub(crate) sets: SchemaSets,
    pub(crate) rules: Rules,
    pub(crate) scalars: ScalarRules,
}

impl<'a> Context<'a> {
    pub(crate) fn new(nodes: Nodes<'a>, options: &'a SchemaOptions, is_embedded: bool) -> Self {
        let mut rules = Rules::new();
        let add = |name: &str, expr| rules.add_called(name, expr);
        Self {
            policy: Policy::new((options, is_embedded), nodes.draft(), add),
            budget: nodes.budget(),
            facts: Facts::new(nodes),
            sets: SchemaSets::default(),
            rules,
            scalars: ScalarRules::new(),
        }
    }

    /// The schema set of these subschemas.
    ///
    /// # Errors
    /// A refusal of a keyword of one of them; [`CompileError::OverBudget`].
    pub(crate) fn set_of(&mut self, nodes: Vec<NodeId>) -> Result<SchemaSetId, CompileError> {
        self.sets.of(&mut self.facts.nodes, nodes)
    }

    /// The schema set of the value of a property with a name that the schema set of the object names.
    ///
    /// # Errors
    /// As those of [`Self::set_of`].
    pub(crate) fn set_of_property(
        &mut self,
        set: &SchemaSet,
        name: &str,
    ) -> Result<SchemaSetId, CompileError> {
        let nodes = &self.facts.nodes;
        let of_value = set.of_property(Some(name), |text| nodes.text(text).accepts(name), self.budget)?;
        self.set_of(of_value)
    }

    /// The rule of the values that satisfy all of `literals`; `None` if there are none at a glance.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn rule(
        &mut self,
        set: SchemaSetId,
        literals: &[Literal],
        depth: u32,
    ) -> Result<Option<RuleId>, CompileError> {
        self.budget.charge_steps(LOWERING, STEPS_PER_RULE + 4 * literals.len() as u64)?;
        let mut literals = literals.to_vec();
        literals.retain(|&(node, holds)| node.constant() != Some(holds));
        literals.sort_unstable();
        literals.dedup();
        let is_impossible = |literal: &Literal| {
            literal.0.constant().is_some() || literals.binary_search(&opposite(*literal)).is_ok()
        };
        if literals.iter().any(is_impossible) || self.facts.types_of(&literals)? == Types(0) {
            return Ok(None);
        }
        // The rule of all values does not depend on the schema set.
        let set = if literals.is_empty() { self.set_of(Vec::new())? } else { set };
        let depth = if self.policy.max_depth().is_some() { depth } else { 0 };
        let key = RuleKey { set, literals, depth };
        if let Some(known) = self.rules.get(&key) {
            return Ok(Some(known));
        }
        let pointer = key.literals.first().map_or("", |&(node, _)| &self.facts.nodes.location(node).pointer);
        self.budget.charge_bytes(LOWERING, 256 + key.literals.len() as u64 * 16 + pointer.len() as u64)?;
        self.budget.charge_steps(LOWERING, STEPS_PER_RULE + pointer.len() as u64 / 4)?;
        let name = if key.literals.is_empty() { "any value".to_owned() } else { format!("#{pointer}") };
        Ok(Some(self.rules.schedule(key, name)))
    }

    /// A call of the rule of all strings.
    pub(crate) fn any_string(&mut self) -> Expr {
        self.scalars.any_string(&mut self.facts, &mut self.rules, self.policy.spelling())
    }

    /// The texts of a known value, its properties in the order of the policy. `written` says how the values of its place are
    /// written.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn text_of(
        &mut self,
        written: Values,
        set: SchemaSetId,
        value: &Json,
        depth: u32,
    ) -> Result<Expr, CompileError> {
        let ordered = self.ordered(set, value)?;
        self.charge_text(&ordered)?;
        Ok(written.text(&ordered, depth))
    }

    /// Charges the steps of writing a value.
    fn charge_text(&self, value: &Json) -> Result<(), CompileError> {
        let charge = |steps: u64| self.budget.charge_steps(LOWERING, steps);
        charge(STEPS_PER_VALUE)?;
        match value {
            Json::Null | Json::Bool(_) => Ok(()),
            Json::Number(number) => charge(number_steps(number)),
            Json::String(text) => charge(string_steps(text, self.policy.spelling())),
            Json::Array(items) => items.iter().try_for_each(|item| self.charge_text(item)),
            Json::Object(properties) => properties.iter().try_for_each(|(name, value)| {
                charge(string_steps(name, self.policy.spelling()))?;
                self.charge_text(value)
            }),
        }
    }

    /// A known value with the properties of its objects in the order of their schema sets.
    fn ordered(&mut self, set: SchemaSetId, value: &Json) -> Result<Json, CompileError> {
        let set = self.sets.get(set);
        Ok(match value {
            Json::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    let of_item = self.set_of(set.of_item(at))?;
                    out.push(self.ordered(of_item, item)?);
                }
                Json::Array(out.into())
            }
            Json::Object(properties) => {
                let mut out = Vec::with_capacity(properties.len());
                for (name, value) in properties.iter() {
                    let of_value = self.set_of_property(&set, name)?;
                    out.push((name.clone(), self.ordered(of_value, value)?));
                }
                // The schema set names every property of a listed object.
                out.sort_by_cached_key(|property| set.index.get(&property.0));
                let object =
                    Object::new(out).unwrap_or_else(|_| unreachable!("its names are those of an object"));
                Json::Object(Rc::new(object))
            }
            scalar => scalar.clone(),
        })
    }

    /// A refusal that names the first subschema of a schema set.
    pub(crate) fn refuse_at(
        &self,
        set: &SchemaSet,
        kind: RefusalKind,
        reason: impl Into<String>,
    ) -> CompileError {
        let place = set.nodes.first().map(|&node| self.facts.nodes.place(node));
        CompileError::refuse(kind, place.unwrap_or_default(), reason)
    }

    /// The refusal of `uniqueItems` in a schema set.
    pub(crate) fn refuse_unique(&self, set: &SchemaSet, reason: impl Into<String>) -> CompileError {
        let error = match set.unique.first() {
            Some(&node) => self.facts.nodes.unsupported(node, "uniqueItems", &reason.into()),
            None => self.refuse_at(set, RefusalKind::Unsupported, reason),
        };
        error.advising(UNIQUE_ITEMS)
    }
}
