use foldhash::HashMap;
use gobo_types::CompileError;

use crate::json::Json;
use crate::node::{FALSE, NodeId, Nodes, Part, TRUE, Types};

/// Whether a value satisfies a subschema. For the few values that a schema lists: nothing is compiled.
///
/// # Errors
/// A refusal of what the subschema says, or [`CompileError::OverBudget`].
pub(crate) fn evaluate(nodes: &mut Nodes<'_>, node: NodeId, value: &Json) -> Result<bool, CompileError> {
    Evaluation { nodes, open: Vec::new(), known: HashMap::default() }.holds(node, value)
}

struct Evaluation<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    /// What is being decided: the subschema and the address of the value.
    open: Vec<(NodeId, *const Json)>,
    /// What was decided: subschemas may be shared many times over.
    known: HashMap<(NodeId, *const Json), bool>,
}

impl Evaluation<'_, '_> {
    fn holds(&mut self, node: NodeId, value: &Json) -> Result<bool, CompileError> {
        if node == TRUE || node == FALSE {
            return Ok(node == TRUE);
        }
        let this = (node, std::ptr::from_ref(value));
        if let Some(&known) = self.known.get(&this) {
            return Ok(known);
        }
        if self.open.contains(&this) {
            return Err(self.nodes.circular(node));
        }
        self.nodes.charge(1)?;
        self.nodes.check_chain(node, self.open.len())?;
        self.open.push(this);
        let parts = self.nodes.parts(node)?;
        let mut holds = true;
        for part in parts.iter() {
            if !self.part(part, value)? {
                holds = false;
                break;
            }
        }
        self.open.pop();
        self.known.insert(this, holds);
        Ok(holds)
    }

    fn all(&mut self, pairs: impl Iterator<Item = (NodeId, Json)>) -> Result<bool, CompileError> {
        for (node, value) in pairs {
            // The copy has an address of its own, but lies strictly inside: no cycle passes through it.
            if !evaluate(self.nodes, node, &value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn count(&mut self, nodes: &[NodeId], value: &Json) -> Result<usize, CompileError> {
        let mut count = 0;
        for &node in nodes {
            count += usize::from(self.holds(node, value)?);
        }
        Ok(count)
    }

    fn part(&mut self, part: &Part, value: &Json) -> Result<bool, CompileError> {
        let within = |count: usize, min: u64, max: Option<u64>| {
            let count = count as u64;
            count >= min && max.is_none_or(|max| count <= max)
        };
        Ok(match part {
            Part::Types { types, plain_integers: _ } => {
                types.has(Types::of(value))
                    || types.has(Types::INTEGER)
                        && matches!(value, Json::Number(number) if number.is_integer())
            }
            Part::Values(values) => values.has(value),
            Part::AllOf(nodes) => self.count(nodes, value)? == nodes.len(),
            Part::AnyOf(nodes) => self.count(nodes, value)? > 0,
            Part::OneOf(nodes) => self.count(nodes, value)? == 1,
            Part::Not(node) => !self.holds(*node, value)?,
            Part::If { condition, then, otherwise } => {
                let branch = if self.holds(*condition, value)? { then } else { otherwise };
                self.holds(*branch, value)?
            }
            _ => match value {
                Json::Null | Json::Bool(_) => true,
                Json::Number(number) => match part {
                    Part::Bound { limit, is_lower, is_exclusive } => {
                        let order = if *is_lower { number.cmp(limit) } else { limit.cmp(number) };
                        order.is_gt() || order.is_eq() && !is_exclusive
                    }
                    Part::MultipleOf(modulus) => number.is_multiple_of(modulus),
                    _ => true,
                },
                Json::String(text) => match part {
                    Part::Length { min, max } => within(text.chars().count(), *min, *max),
                    Part::Text(id) => self.nodes.text(*id).accepts(text),
                    _ => true,
                },
                Json::Array(items) => match part {
                    Part::Items { prefix, rest, .. } => {
                        let schema = |at: usize| prefix.get(at).copied().unwrap_or(*rest);
                        self.all((0..).zip(items).map(|(at, item)| (schema(at), item.clone())))?
                    }
                    Part::ItemCount { min, max } => within(items.len(), *min, *max),
                    Part::Contains { item, min, max, .. } => {
                        let mut count = 0;
                        for value in items {
                            count += usize::from(evaluate(self.nodes, *item, value)?);
                        }
                        within(count, *min, *max)
                    }
                    Part::Unique => (0..items.len()).all(|at| !items[..at].contains(&items[at])),
                    Part::UnevaluatedItems(schema) => {
                        return Err(self.nodes.cannot_evaluate(*schema, "unevaluatedItems"));
                    }
                    _ => true,
                },
                Json::Object(members) => match part {
                    Part::Members(of) => {
                        let mut pairs = Vec::new();
                        for (name, value) in members {
                            let schemas = of.schemas_of(name, |text| self.nodes.text(text).accepts(name));
                            pairs.extend(schemas.into_iter().map(|schema| (schema, value.clone())));
                        }
                        self.all(pairs.into_iter())?
                    }
                    Part::Required(names) => names.iter().all(|name| value.get(name).is_some()),
                    Part::Names(node) => {
                        let names = members.iter().map(|member| (*node, Json::String(member.0.clone())));
                        self.all(names)?
                    }
                    Part::MemberCount { min, max } => within(members.len(), *min, *max),
                    Part::Dependent { name, required, schema } => {
                        value.get(name).is_none()
                            || required.iter().all(|name| value.get(name).is_some())
                                && self.holds(*schema, value)?
                    }
                    Part::UnevaluatedMembers(schema) => {
                        return Err(self.nodes.cannot_evaluate(*schema, "unevaluatedProperties"));
                    }
                    _ => true,
                },
            },
        })
    }
}
