use foldhash::{HashMap, HashSet};
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

/// Steps of a subschema that is looked at for a value.
const STEPS_PER_SUBSCHEMA: u64 = 8;

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
        self.nodes.charge(STEPS_PER_SUBSCHEMA + self.open.len() as u64 / 4)?;
        if self.open.contains(&this) {
            return Err(self.nodes.circular(node));
        }
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

    /// Whether values that lie strictly inside satisfy their subschemas: no cycle passes through them.
    fn all<'v>(&mut self, pairs: impl Iterator<Item = (NodeId, &'v Json)>) -> Result<bool, CompileError> {
        for (node, value) in pairs {
            if !self.inside(node, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn inside(&mut self, node: NodeId, value: &Json) -> Result<bool, CompileError> {
        let around = std::mem::take(&mut self.open);
        let holds = self.holds(node, value);
        self.open = around;
        holds
    }

    fn count(&mut self, nodes: &[NodeId], value: &Json) -> Result<usize, CompileError> {
        let mut count = 0;
        for &node in nodes {
            count += usize::from(self.holds(node, value)?);
        }
        Ok(count)
    }

    fn part(&mut self, part: &Part, value: &Json) -> Result<bool, CompileError> {
        self.nodes.charge(steps_of(part, value))?;
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
                        self.all(items.iter().enumerate().map(|(at, item)| (schema(at), item)))?
                    }
                    Part::ItemCount { min, max } => within(items.len(), *min, *max),
                    Part::Contains { item, min, max, .. } => {
                        let mut count = 0;
                        for value in items.iter() {
                            count += usize::from(self.inside(*item, value)?);
                        }
                        within(count, *min, *max)
                    }
                    Part::Unique => {
                        let mut known = HashSet::default();
                        items.iter().all(|item| known.insert(item))
                    }
                    Part::UnevaluatedItems(schema) => {
                        return Err(self.nodes.cannot_evaluate(*schema, "unevaluatedItems"));
                    }
                    _ => true,
                },
                Json::Object(members) => match part {
                    Part::Members(of) => {
                        let mut pairs = Vec::new();
                        for (name, value) in members.iter() {
                            let patterns = of.patterns.len() * (1 + name.len());
                            self.nodes.charge((4 + patterns) as u64)?;
                            let schemas = of.schemas_of(name, |text| self.nodes.text(text).accepts(name));
                            pairs.extend(schemas.into_iter().map(|schema| (schema, value)));
                        }
                        self.all(pairs.into_iter())?
                    }
                    Part::Required(names) => names.iter().all(|name| value.get(name).is_some()),
                    Part::Names(node) => {
                        for (name, _) in members.iter() {
                            // What is known of values goes by their addresses, and a name has its own for a moment.
                            if !evaluate(self.nodes, *node, &Json::String(name.clone()))? {
                                return Ok(false);
                            }
                        }
                        true
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

/// Steps of a keyword for a value, its subschemas apart.
fn steps_of(part: &Part, value: &Json) -> u64 {
    1 + match (part, value) {
        (Part::Values(_) | Part::Unique, value) => value.steps(),
        (Part::Length { .. } | Part::Text(_), Json::String(text)) => text.len() as u64,
        (Part::MultipleOf(_), Json::Number(number)) => number.exponent.unsigned_abs(),
        (Part::Required(names), Json::Object(_)) => 4 * names.len() as u64,
        (Part::Dependent { required, .. }, Json::Object(_)) => 4 * required.len() as u64,
        _ => 0,
    }
}
