//! Runs the worklist: from the whole schema to the rules of every literal that is reached.

use gobo_automata::{Expr, RuleId};
use gobo_types::{Budget, CompileError, Notation, RefusalKind, SchemaOptions};

use crate::lower::arrays::ArrayLowering;
use crate::lower::context::{Context, Place};
use crate::lower::object::ObjectLowering;
use crate::lower::rules::{Form, RuleKey, nothing};
use crate::read::location::Location;
use crate::read::node::{NodeId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::Json;
use crate::text::yaml::Part;

/// Lowering of a schema.
pub(crate) struct Lowering<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) objects: ObjectLowering<'a>,
    pub(crate) arrays: ArrayLowering<'a>,
}

/// The subschema at a JSON pointer with all its rules, and the rule of whole texts.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub(crate) fn lowered<'a>(
    schema: &str,
    pointer: &str,
    options: &'a SchemaOptions,
    budget: &'a Budget,
) -> Result<(Lowering<'a>, RuleId), CompileError> {
    lowered_with(schema, pointer, (options, Place::Whole), budget)
}

/// [`lowered`], where the texts stand in a place.
///
/// # Errors
/// As [`lowered`].
pub(crate) fn lowered_with<'a>(
    schema: &str,
    pointer: &str,
    (options, place): (&'a SchemaOptions, Place),
    budget: &'a Budget,
) -> Result<(Lowering<'a>, RuleId), CompileError> {
    let mut nodes = Nodes::read(schema, options, budget)?;
    nodes.counts_lengths = !matches!(place, Place::ByStates);
    let root = nodes.node(Location { document: 0, pointer: pointer.to_owned() })?;
    let is_parameters = matches!(place, Place::Call { marks: Some(_), .. });
    let form = match options.notation {
        _ if is_parameters => Form::Members,
        Notation::Json => Form::Json,
        Notation::Yaml => Form::Yaml(Part::Line),
    };
    let mut lowering = Lowering {
        context: Context::new(nodes, options, place)?,
        objects: ObjectLowering::new(budget),
        arrays: ArrayLowering::new(budget),
    };
    let start = lowering.whole(root, form)?;
    while let Some(task) = lowering.context.rules.next_task() {
        let expr = lowering.lower(&task.key)?;
        lowering.context.rules.define(task.rule, expr);
    }
    Ok((lowering, start))
}

impl Lowering<'_> {
    /// The rule of whole texts.
    fn whole(&mut self, root: NodeId, form: Form) -> Result<RuleId, CompileError> {
        let context = &mut self.context;
        let start = context.rules.add("text".to_owned(), nothing());
        let nodes = if root.constant().is_some() { Vec::new() } else { vec![root] };
        let set = context.set_of(nodes)?;
        if let Form::Yaml(_) = form {
            if let Some(value) = context.in_parts(set, &[(root, true)], 0, |_| None)? {
                context.rules.define(start, value);
            }
        } else if let Some(value) = context.rule(set, &[(root, true)], (form, 0))? {
            let layout = context.policy.layout();
            let text = if context.policy.is_embedded || form != Form::Json {
                Expr::Call(value)
            } else {
                Expr::Concat(vec![layout.before(), Expr::Call(value), layout.after()])
            };
            context.rules.define(start, text);
        } else if form == Form::Members {
            let reason = "parameters are the members of an object, and the schema allows no object";
            return Err(CompileError::refuse(RefusalKind::Unsatisfiable, "", reason));
        }
        Ok(start)
    }

    /// The texts of a rule.
    fn lower(&mut self, key: &RuleKey) -> Result<Expr, CompileError> {
        let Self { context, objects, arrays } = self;
        let RuleKey { ref literals, depth, form, .. } = *key;
        let parts = match form {
            Form::Json | Form::Yaml(_) => return self.values(key, form.types(), form),
            Form::Bare(types) => return self.bare(key, types),
            Form::Members => objects.lower(context, &context.sets.get(key.set), literals, (form, depth))?,
            Form::Items => arrays.lower(context, &context.sets.get(key.set), literals, (form, depth))?,
        };
        Ok(parts.unwrap_or_else(nothing))
    }

    /// Values of some types, strings as their characters. Where nothing is asked of strings, the texts of all other values are texts of strings
    /// too.
    fn bare(&mut self, key: &RuleKey, types: Types) -> Result<Expr, CompileError> {
        let Context { facts, rules, scalars, .. } = &mut self.context;
        let strings =
            if types.has(Types::STRING) { scalars.bare_string(facts, rules, &key.literals)? } else { None };
        if let Some((all, true)) = strings {
            return Ok(Expr::Call(all));
        }
        let others = types.but(Types::STRING);
        let others = if others == Types(0) { nothing() } else { self.values(key, others, Form::Json)? };
        Ok(self.context.parameters().bare(strings.map(|(rule, _)| Expr::Call(rule)), others))
    }

    /// Values of some types as JSON or as YAML.
    fn values(&mut self, key: &RuleKey, of_types: Types, form: Form) -> Result<Expr, CompileError> {
        let Self { context, objects, arrays } = self;
        let RuleKey { set, ref literals, depth, .. } = *key;
        if let Some(mut values) = context.facts.few_values(literals)? {
            let is_there = |value: &Json| match form {
                Form::Yaml(part) => Part::of(value) == part,
                _ => of_types.has(Types::of(value)),
            };
            values.retain(|value| is_there(value) && context.policy.allows(value));
            // In any order, objects need the states of objects.
            let is_scalar = |value: &Json| !matches!(value, Json::Array(_) | Json::Object(_));
            if context.policy.is_ordered() || values.iter().all(is_scalar) {
                let mut texts = Vec::with_capacity(values.len());
                let written = context.policy.values.beside(&values);
                for value in &values {
                    texts.push(context.text_of(written, set, value, depth)?);
                }
                return Ok(Expr::Alternate(texts));
            }
        }
        let types = context.facts.types_of(literals)?.and(of_types);
        let mut parts = Vec::new();
        for value in [Json::Null, Json::Bool(true), Json::Bool(false)] {
            if types.has(Types::of(&value)) && context.facts.all_hold(literals, &value)? {
                parts.push(context.policy.values.text(&value, depth));
            }
        }
        let Context { facts, rules, scalars, policy, .. } = &mut *context;
        if types.has(Types::NUMBER) {
            parts.extend(scalars.number(facts, rules, literals, policy.options.numbers)?.map(Expr::Call));
        }
        if types.has(Types::STRING) {
            parts.extend(scalars.string(facts, rules, literals, policy.spelling())?.map(Expr::Call));
        }
        let set = context.sets.get(set);
        if types.has(Types::ARRAY) {
            parts.extend(arrays.lower(context, &set, literals, (form, depth))?);
        }
        if types.has(Types::OBJECT) {
            parts.extend(objects.lower(context, &set, literals, (form, depth))?);
        }
        Ok(Expr::Alternate(parts))
    }
}
