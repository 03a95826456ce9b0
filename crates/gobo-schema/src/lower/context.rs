//! The context of lowering: the tables that the rules of every type share.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _};
use gobo_automata::{Expr, Language, RuleId, without_phrases};
use gobo_types::{Budget, CompileError, Notation, RefusalKind, SchemaOptions};

use crate::advice::UNIQUE_ITEMS;
use crate::formula::expansion::{Literal, opposite};
use crate::lower::facts::Facts;
use crate::lower::parameters::{Marks, Parameters};
use crate::lower::policy::Policy;
use crate::lower::rules::{Form, RuleKey, Rules};
use crate::lower::scalar_rules::ScalarRules;
use crate::lower::schema_set::{SchemaSet, SchemaSetId, SchemaSets};
use crate::phase::LOWERING;
use crate::read::node::NodeId;
use crate::read::nodes::Nodes;
use crate::read::value::{Json, Object};
use crate::scalar::yaml::yaml_names;
use crate::text::numbers::number_steps;
use crate::text::values::Values;
use crate::text::yaml::{Part, before_item, before_value, name_text, value_text};
use gobo_grammar::json::strings::string_steps;

/// Steps of a rule that is looked up or added.
const STEPS_PER_RULE: u64 = 8;
/// Steps of a value that is written as an expression, its characters apart.
const STEPS_PER_VALUE: u64 = 16;

/// Why a name cannot be written as YAML.
const LONG_NAME: &str =
    "the name of a property has 1,024 characters or more as YAML, within which readers look for its end";

/// Where the texts of a schema stand.
pub(crate) enum Place {
    /// Alone.
    Whole,
    /// Alone, with the lengths of strings as states.
    ByStates,
    /// Within those of a grammar.
    Within,
    /// In a call of a tool, without some phrases in strings and names; as parameters where there are marks of a style, and then without its closing
    /// text in them either, since a reader looks for that.
    Call { excludes: Vec<String>, marks: Option<Box<Marks>> },
}

/// The tables of lowering that arrays and objects share.
pub(crate) struct Context<'a> {
    pub(crate) policy: Policy<'a>,
    pub(crate) budget: &'a Budget,
    pub(crate) facts: Facts<'a>,
    pub(crate) sets: SchemaSets,
    pub(crate) rules: Rules,
    pub(crate) scalars: ScalarRules,
    parameters: Option<Parameters>,
    /// Names as YAML, by what they are.
    yaml_names: HashMap<Language, RuleId>,
}

impl<'a> Context<'a> {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(
        mut nodes: Nodes<'a>,
        options: &'a SchemaOptions,
        place: Place,
    ) -> Result<Self, CompileError> {
        let mut rules = Rules::new();
        let budget = nodes.budget();
        let add = |name: &str, expr| rules.add_called(name, expr);
        let is_within = matches!(place, Place::Within);
        let mut policy = Policy::new((options, is_within), nodes.draft(), add);
        let (mut parameters, mut without) = (None, None);
        if let Place::Call { mut excludes, marks } = place {
            excludes.extend(marks.iter().map(|marks| marks.style.closing().to_owned()));
            if !excludes.is_empty() {
                let language = |budget: &Budget| {
                    let texts = Expr::Machine(Box::new(without_phrases(&excludes, budget)?));
                    Language::expr(&texts, budget).map(Some)
                };
                without = nodes.intern_text("excludes", "", language)?;
            }
            if let Some(marks) = marks {
                let layout = policy.layout();
                policy.values.layout = layout.from_depth(1);
                parameters = Some(Parameters::new(*marks, layout.blanks()));
            }
            policy.excludes = excludes;
        }
        Ok(Self {
            policy,
            budget,
            facts: Facts::new(nodes),
            sets: SchemaSets::default(),
            rules,
            scalars: ScalarRules::new(options.notation, without),
            parameters,
            yaml_names: HashMap::new(),
        })
    }

    /// How parameters are written.
    ///
    /// # Panics
    /// Where the schema is none of parameters; only rules of those ask for them.
    pub(crate) fn parameters(&self) -> &Parameters {
        self.parameters.as_ref().expect("the schema is one of parameters")
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
        (form, depth): (Form, u32),
    ) -> Result<Option<RuleId>, CompileError> {
        self.budget.charge_steps(LOWERING, STEPS_PER_RULE + 4 * literals.len() as u64)?;
        let mut literals = literals.to_vec();
        literals.retain(|&(node, holds)| node.constant() != Some(holds));
        literals.sort_unstable();
        literals.dedup();
        let is_impossible = |literal: &Literal| {
            literal.0.constant().is_some() || literals.binary_search(&opposite(*literal)).is_ok()
        };
        if literals.iter().any(is_impossible) || !self.facts.types_of(&literals)?.has(form.types()) {
            return Ok(None);
        }
        // The rule of all values does not depend on the schema set.
        let set = if literals.is_empty() { self.set_of(Vec::new())? } else { set };
        // What is written in a line has no lines in it.
        let is_counted = self.policy.max_depth().is_some() && form != Form::Yaml(Part::Line);
        let depth = if is_counted { depth } else { 0 };
        let key = RuleKey { set, literals, depth, form };
        if let Some(known) = self.rules.get(&key) {
            return Ok(Some(known));
        }
        let pointer = key.literals.first().map_or("", |&(node, _)| &self.facts.nodes.location(node).pointer);
        self.budget.charge_bytes(LOWERING, 256 + key.literals.len() as u64 * 16 + pointer.len() as u64)?;
        self.budget.charge_steps(LOWERING, STEPS_PER_RULE + pointer.len() as u64 / 4)?;
        let name = if key.literals.is_empty() { "any value".to_owned() } else { format!("#{pointer}") };
        Ok(Some(self.rules.schedule(key, name)))
    }

    /// What stands behind the name of a property; `None` if there is nothing at a glance.
    ///
    /// # Errors
    /// As those of [`Self::rule`].
    pub(crate) fn value(
        &mut self,
        set: SchemaSetId,
        literals: &[Literal],
        (form, depth): (Form, u32),
    ) -> Result<Option<Expr>, CompileError> {
        match form {
            Form::Members => return self.parameter(set, literals, depth),
            Form::Yaml(_) => {
                return self.in_parts(set, literals, depth, |part| Some(before_value(part, depth)));
            }
            _ => {}
        }
        let rule = self.rule(set, literals, (Form::Json, depth))?;
        let colon = self.policy.layout().colon();
        Ok(rule.map(|rule| Expr::Concat(vec![colon, Expr::Call(rule)])))
    }

    /// An item of an array; `None` if there is none at a glance.
    ///
    /// # Errors
    /// As those of [`Self::rule`].
    pub(crate) fn item(
        &mut self,
        set: SchemaSetId,
        literals: &[Literal],
        (form, depth): (Form, u32),
    ) -> Result<Option<Expr>, CompileError> {
        if form == Form::Items {
            let value = self.parameter(set, literals, depth)?;
            return Ok(value.map(|value| self.parameters().item(value)));
        }
        if let Form::Yaml(_) = form {
            let item = self.in_parts(set, literals, depth, |_| None)?;
            return Ok(item.map(|item| Expr::Concat(vec![before_item(), item])));
        }
        Ok(self.rule(set, literals, (Form::Json, depth))?.map(Expr::Call))
    }

    /// The ways to write a value as YAML, each behind what `before` puts there; `None` if there is none at a glance.
    ///
    /// # Errors
    /// As those of [`Self::rule`].
    pub(crate) fn in_parts(
        &mut self,
        set: SchemaSetId,
        literals: &[Literal],
        depth: u32,
        before: impl Fn(Part) -> Option<Expr>,
    ) -> Result<Option<Expr>, CompileError> {
        let mut ways = Vec::with_capacity(2);
        for part in [Part::Line, Part::Block] {
            if let Some(rule) = self.rule(set, literals, (Form::Yaml(part), depth))? {
                ways.push(Expr::Concat(before(part).into_iter().chain([Expr::Call(rule)]).collect()));
            }
        }
        Ok(if ways.is_empty() { None } else { Some(Expr::Alternate(ways)) })
    }

    /// The ways to write a value as a parameter.
    fn parameter(
        &mut self,
        set: SchemaSetId,
        literals: &[Literal],
        depth: u32,
    ) -> Result<Option<Expr>, CompileError> {
        let mut ways = Vec::new();
        for (way, form) in self.parameters().ways() {
            if let Some(rule) = self.rule(set, literals, (form, depth))? {
                ways.push(self.parameters().value(way, Expr::Call(rule)));
            }
        }
        Ok(if ways.is_empty() { None } else { Some(Expr::Alternate(ways)) })
    }

    /// The beginning of a parameter with a name.
    ///
    /// # Errors
    /// A refusal of a name that cannot be written.
    pub(crate) fn parameter_name(&self, set: &SchemaSet, name: &str) -> Result<Expr, CompileError> {
        self.parameters().name(name).ok_or_else(|| {
            let reason =
                format!("no parameter is named {name:?}: a reader would not find the end of the name");
            self.refuse_at(set, RefusalKind::Unsupported, reason)
        })
    }

    /// A name that the schema lists, as YAML.
    ///
    /// # Errors
    /// A refusal of a name that cannot be written.
    pub(crate) fn yaml_name(&self, set: &SchemaSet, name: &str) -> Result<Expr, CompileError> {
        let text = name_text(name).map(Expr::text);
        text.ok_or_else(|| self.refuse_at(set, RefusalKind::Unsupported, LONG_NAME))
    }

    /// A call of the rule of some names that the schema does not list, as YAML.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn yaml_names(&mut self, names: Language) -> Result<Expr, CompileError> {
        if let Some(&known) = self.yaml_names.get(&names) {
            return Ok(Expr::Call(known));
        }
        let rules = &mut self.rules;
        let mut add = |body, lengths| rules.add_counted("characters".to_owned(), body, lengths);
        let texts = yaml_names(&names, self.budget, &mut add)?;
        let rule = self.rules.add("name".to_owned(), texts);
        self.yaml_names.insert(names, rule);
        Ok(Expr::Call(rule))
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
        match self.policy.options.notation {
            Notation::Json => Ok(written.text(&ordered, depth)),
            Notation::Yaml => {
                let text = value_text(written, &ordered, depth, self.budget)?;
                text.ok_or_else(|| self.refuse_at(&self.sets.get(set), RefusalKind::Unsupported, LONG_NAME))
            }
        }
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
