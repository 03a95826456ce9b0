//! Runs the worklist: from the whole schema to the rules of every literal that is reached.

use gobo_automata::{Expr, RuleId};
use gobo_types::{Budget, CompileError, SchemaOptions};

use crate::lower::arrays::ArrayLowering;
use crate::lower::context::Context;
use crate::lower::object::ObjectLowering;
use crate::lower::rules::{RuleKey, nothing};
use crate::read::location::Location;
use crate::read::node::{NodeId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::Json;

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
    lowered_with(schema, pointer, (options, false), budget)
}

/// [`lowered`], where the texts may stand within others.
///
/// # Errors
/// As [`lowered`].
pub(crate) fn lowered_with<'a>(
    schema: &str,
    pointer: &str,
    (options, is_embedded): (&'a SchemaOptions, bool),
    budget: &'a Budget,
) -> Result<(Lowering<'a>, RuleId), CompileError> {
    let mut nodes = Nodes::read(schema, options, budget)?;
    let root = nodes.node(Location { document: 0, pointer: pointer.to_owned() })?;
    let mut lowering = Lowering {
        context: Context::new(nodes, options, is_embedded),
        objects: ObjectLowering::new(budget),
        arrays: ArrayLowering::new(budget),
    };
    let start = lowering.whole(root)?;
    while let Some(task) = lowering.context.rules.next_task() {
        let expr = lowering.lower(&task.key)?;
        lowering.context.rules.define(task.rule, expr);
    }
    Ok((lowering, start))
}

impl Lowering<'_> {
    /// The rule of whole texts.
    fn whole(&mut self, root: NodeId) -> Result<RuleId, CompileError> {
        let context = &mut self.context;
        let start = context.rules.add("text".to_owned(), nothing());
        let nodes = if root.constant().is_some() { Vec::new() } else { vec![root] };
        let set = context.set_of(nodes)?;
        if let Some(value) = context.rule(set, &[(root, true)], 0)? {
            let layout = context.policy.layout();
            let text = if context.policy.is_embedded {
                Expr::Call(value)
            } else {
                Expr::Concat(vec![layout.before(), Expr::Call(value), layout.after()])
            };
            context.rules.define(start, text);
        }
        Ok(start)
    }

    /// The texts of a rule.
    fn lower(&mut self, key: &RuleKey) -> Result<Expr, CompileError> {
        let Self { context, objects, arrays } = self;
        let RuleKey { set, ref literals, depth } = *key;
        if let Some(values) = context.facts.few_values(literals)? {
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
        let types = context.facts.types_of(literals)?;
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
            parts.extend(arrays.lower(context, &set, literals, depth)?);
        }
        if types.has(Types::OBJECT) {
            parts.extend(objects.lower(context, &set, literals, depth)?);
        }
        Ok(Expr::Alternate(parts))
    }
}
