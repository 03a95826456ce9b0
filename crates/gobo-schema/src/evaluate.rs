//! Evaluates a subschema on a known value, keyword by keyword.
//!
//! It serves the values that a schema lists and the names of properties: no automaton is built. Results are memoised by
//! subschema and address of the value, so the cost is that of each keyword for each value once. A subschema that reaches
//! itself for the same value is refused.

use foldhash::{HashMap, HashSet};
use gobo_types::CompileError;

use crate::read::keywords::keywords_of;
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, Types};
use crate::read::nodes::Nodes;
use crate::read::value::Json;

/// Whether a value satisfies a subschema.
///
/// # Errors
/// A refusal of a keyword of the subschema, or [`CompileError::OverBudget`].
pub(crate) fn evaluate(nodes: &mut Nodes<'_>, node: NodeId, value: &Json) -> Result<bool, CompileError> {
    Evaluation { nodes, open: Vec::new(), known: HashMap::default() }.holds(node, value)
}

/// Steps of evaluating a subschema, its keywords apart.
const STEPS_PER_SUBSCHEMA: u64 = 8;

struct Evaluation<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    /// The subschemas under evaluation, each with the address of its value.
    open: Vec<(NodeId, *const Json)>,
    /// The results so far.
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
        let keywords = keywords_of(self.nodes, node)?;
        let mut holds = true;
        for keyword in keywords.iter() {
            if !self.keyword(keyword, value)? {
                holds = false;
                break;
            }
        }
        self.open.pop();
        self.known.insert(this, holds);
        Ok(holds)
    }

    /// Whether values strictly inside satisfy their subschemas. A step into a value ends every cycle.
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

    fn keyword(&mut self, keyword: &Keyword, value: &Json) -> Result<bool, CompileError> {
        self.nodes.charge(steps_of(keyword, value))?;
        let within = |count: usize, min: u64, max: Option<u64>| {
            let count = count as u64;
            count >= min && max.is_none_or(|max| count <= max)
        };
        Ok(match keyword {
            Keyword::Types { types, plain_integers: _ } => {
                types.has(Types::of(value))
                    || types.has(Types::INTEGER)
                        && matches!(value, Json::Number(number) if number.is_integer())
            }
            Keyword::Values(values) => values.has(value),
            Keyword::AllOf(nodes) => self.count(nodes, value)? == nodes.len(),
            Keyword::AnyOf(nodes) => self.count(nodes, value)? > 0,
            Keyword::OneOf(nodes) => self.count(nodes, value)? == 1,
            Keyword::Not(node) => !self.holds(*node, value)?,
            Keyword::If { condition, then, otherwise } => {
                let branch = if self.holds(*condition, value)? { then } else { otherwise };
                self.holds(*branch, value)?
            }
            _ => match value {
                Json::Null | Json::Bool(_) => true,
                Json::Number(number) => match keyword {
                    Keyword::Bound { limit, is_lower, is_exclusive } => {
                        let order = if *is_lower { number.cmp(limit) } else { limit.cmp(number) };
                        order.is_gt() || order.is_eq() && !is_exclusive
                    }
                    Keyword::MultipleOf(modulus) => number.is_multiple_of(modulus),
                    _ => true,
                },
                Json::String(text) => match keyword {
                    Keyword::Length { min, max } => within(text.chars().count(), *min, *max),
                    Keyword::Text(id) => self.nodes.text(*id).accepts(text),
                    _ => true,
                },
                Json::Array(items) => match keyword {
                    Keyword::Items { prefix, rest, .. } => {
                        let schema = |at: usize| prefix.get(at).copied().unwrap_or(*rest);
                        self.all(items.iter().enumerate().map(|(at, item)| (schema(at), item)))?
                    }
                    Keyword::ItemCount { min, max } => within(items.len(), *min, *max),
                    Keyword::Contains { item, min, max, .. } => {
                        let mut count = 0;
                        for value in items.iter() {
                            count += usize::from(self.inside(*item, value)?);
                        }
                        within(count, *min, *max)
                    }
                    Keyword::Unique => {
                        let mut known = HashSet::default();
                        items.iter().all(|item| known.insert(item))
                    }
                    Keyword::UnevaluatedItems(schema) => {
                        return Err(self.nodes.cannot_evaluate(*schema, "unevaluatedItems"));
                    }
                    _ => true,
                },
                Json::Object(properties) => match keyword {
                    Keyword::Properties(of) => {
                        let mut pairs = Vec::new();
                        for (name, value) in properties.iter() {
                            let patterns = of.patterns.len() * (1 + name.len());
                            self.nodes.charge((4 + patterns) as u64)?;
                            let schemas = of.schemas_of(name, |text| self.nodes.text(text).accepts(name));
                            pairs.extend(schemas.into_iter().map(|schema| (schema, value)));
                        }
                        self.all(pairs.into_iter())?
                    }
                    Keyword::Required(names) => names.iter().all(|name| value.get(name).is_some()),
                    Keyword::PropertyNames(node) => {
                        for (name, _) in properties.iter() {
                            // Results are keyed by address, and the value of a name is temporary: so it has an evaluation of its own.
                            if !evaluate(self.nodes, *node, &Json::String(name.clone()))? {
                                return Ok(false);
                            }
                        }
                        true
                    }
                    Keyword::PropertyCount { min, max } => within(properties.len(), *min, *max),
                    Keyword::Dependent { name, required, schema } => {
                        value.get(name).is_none()
                            || required.iter().all(|name| value.get(name).is_some())
                                && self.holds(*schema, value)?
                    }
                    Keyword::UnevaluatedProperties(schema) => {
                        return Err(self.nodes.cannot_evaluate(*schema, "unevaluatedProperties"));
                    }
                    _ => true,
                },
            },
        })
    }
}

/// Steps of a keyword for a value, its subschemas apart.
fn steps_of(keyword: &Keyword, value: &Json) -> u64 {
    1 + match (keyword, value) {
        (Keyword::Values(_) | Keyword::Unique, value) => value.steps(),
        (Keyword::Length { .. } | Keyword::Text(_), Json::String(text)) => text.len() as u64,
        (Keyword::MultipleOf(_), Json::Number(number)) => number.exponent.unsigned_abs(),
        (Keyword::Required(names), Json::Object(_)) => 4 * names.len() as u64,
        (Keyword::Dependent { required, .. }, Json::Object(_)) => 4 * required.len() as u64,
        _ => 0,
    }
}
