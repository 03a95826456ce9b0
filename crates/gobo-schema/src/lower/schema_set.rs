//! Schema sets: the subschemas that apply to one value.
//!
//! The order of property names in a text is fixed before it is known which subschemas hold, so it is that of all subschemas
//! that apply, in the order of the schema: named properties first, then names that are only required. The same set tells
//! which subschemas apply to each element. Sets are interned: elements of equal sets share their rules.
//!
//! Cost of a new set: linear in the keywords of its subschemas.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use gobo_types::{Budget, CompileError, DenseId as _, dense_id};

use crate::phase::LOWERING;
use crate::read::keywords::keywords_of;
use crate::read::node::{FALSE, Keyword, NodeId, Properties, TRUE, TextId};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, ValueSet};

dense_id! {
    /// Identifies a schema set.
    pub(crate) struct SchemaSetId;
}

/// Steps of a subschema or a name that is put into a table.
const STEPS_PER_SUBSCHEMA: u64 = 4;

/// Bytes of a schema set, its names and subschemas apart.
const SET_BYTES: u64 = 256;

/// The subschemas that apply to a value at one location of the instance, whether they hold or not, and what they say together
/// of its properties and items.
#[derive(Debug, Default)]
pub(crate) struct SchemaSet {
    /// The subschemas, in the order of the schema.
    pub(crate) nodes: Vec<NodeId>,
    /// The property names that some subschema names, in the order of the policy.
    pub(crate) names: Vec<String>,
    /// Indices into `names`, by name.
    pub(crate) index: HashMap<String, usize>,
    /// `properties`, `patternProperties` and `additionalProperties` of each subschema that has them.
    properties: Vec<Rc<Properties>>,
    /// The values of the properties of listed objects.
    listed: HashMap<String, Vec<NodeId>>,
    /// The subschemas of `unevaluatedProperties`.
    unevaluated: Vec<NodeId>,
    /// The subschemas of items by position; the last entry is for all later positions.
    items: Vec<Vec<NodeId>>,
    /// Whether some subschema has `properties`, and whether one has `additionalProperties`.
    pub(crate) says_properties: bool,
    pub(crate) says_additional: bool,
    /// The subschemas with `uniqueItems`.
    pub(crate) unique: Vec<NodeId>,
}

impl SchemaSet {
    /// The patterns of `patternProperties`.
    pub(crate) fn patterns(&self) -> Vec<TextId> {
        let mut patterns: Vec<TextId> = self
            .properties
            .iter()
            .flat_map(|properties| properties.patterns.iter().map(|pattern| pattern.0))
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    /// The subschemas that apply to the value of a property. For a name that no subschema names, `name` is `None`, and `matches`
    /// tells which patterns it matches.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of_property(
        &self,
        name: Option<&str>,
        matches: impl Fn(TextId) -> bool,
        budget: &Budget,
    ) -> Result<Vec<NodeId>, CompileError> {
        let length = name.map_or(0, str::len) as u64;
        let mut nodes = Vec::new();
        budget.charge_steps(
            LOWERING,
            (self.properties.len() + self.unevaluated.len()) as u64 * STEPS_PER_SUBSCHEMA,
        )?;
        for properties in &self.properties {
            budget.charge_steps(LOWERING, properties.patterns.len() as u64 * (1 + length))?;
            match name {
                Some(name) => nodes.extend(properties.schemas_of(name, &matches)),
                None => {
                    let before = nodes.len();
                    nodes.extend(properties.patterns.iter().filter(|of| matches(of.0)).map(|of| of.1));
                    if nodes.len() == before {
                        nodes.push(properties.additional);
                    }
                }
            }
        }
        let listed = name.and_then(|name| self.listed.get(name)).into_iter().flatten();
        nodes.extend(listed.chain(&self.unevaluated));
        budget.charge_steps(LOWERING, nodes.len() as u64 * STEPS_PER_SUBSCHEMA)?;
        Ok(distinct(nodes))
    }

    /// The subschemas that apply to an item.
    pub(crate) fn of_item(&self, at: usize) -> Vec<NodeId> {
        self.items.get(at).or(self.items.last()).cloned().unwrap_or_default()
    }

    /// The first position whose subschemas are those of all later positions.
    pub(crate) fn last_item(&self) -> usize {
        self.items.len().saturating_sub(1)
    }
}

/// The distinct nodes but constants, in their order.
fn distinct(nodes: Vec<NodeId>) -> Vec<NodeId> {
    let mut known: HashSet<NodeId> = [TRUE, FALSE].into_iter().collect();
    nodes.into_iter().filter(|&node| known.insert(node)).collect()
}

/// The schema sets, interned.
#[derive(Debug, Default)]
pub(crate) struct SchemaSets {
    sets: Vec<Rc<SchemaSet>>,
    known: HashMap<Vec<NodeId>, SchemaSetId>,
}

impl SchemaSets {
    pub(crate) fn get(&self, set: SchemaSetId) -> Rc<SchemaSet> {
        self.sets[set.index()].clone()
    }

    /// The schema set of these subschemas.
    ///
    /// # Errors
    /// A refusal of a keyword of one of them; [`CompileError::OverBudget`].
    pub(crate) fn of(&mut self, nodes: &mut Nodes<'_>, of: Vec<NodeId>) -> Result<SchemaSetId, CompileError> {
        nodes.charge(1 + of.len() as u64)?;
        if let Some(&known) = self.known.get(&of) {
            return Ok(known);
        }
        nodes.charge_bytes(SET_BYTES)?;
        let mut survey = Survey {
            nodes,
            seen: HashSet::default(),
            depth: 0,
            set: SchemaSet::default(),
            only_required: Vec::new(),
            rows: Vec::new(),
        };
        for &node in &of {
            survey.visit(node)?;
        }
        let Survey { mut set, only_required, rows, .. } = survey;
        set.names.extend(only_required);
        nodes.charge(set.names.len() as u64 * STEPS_PER_SUBSCHEMA)?;
        let mut index = HashMap::default();
        set.names.retain(|name| {
            let number = index.len();
            let is_new = !index.contains_key(name);
            if is_new {
                index.insert(name.clone(), number);
            }
            is_new
        });
        set.index = index;
        let length = rows.iter().map(|row| row.prefix.len() + 1).max().unwrap_or(0);
        nodes.charge((length * (2 + rows.len())) as u64 * STEPS_PER_SUBSCHEMA)?;
        set.items = (0..length).map(|at| distinct(rows.iter().map(|row| row.of(at)).collect())).collect();
        set.nodes.clone_from(&of);
        let id = SchemaSetId::new(self.sets.len());
        self.sets.push(Rc::new(set));
        self.known.insert(of, id);
        Ok(id)
    }
}

/// The subschemas of items that one keyword names.
struct Row {
    prefix: Vec<NodeId>,
    rest: NodeId,
}

impl Row {
    fn of(&self, at: usize) -> NodeId {
        self.prefix.get(at).copied().unwrap_or(self.rest)
    }
}

/// A walk over the subschemas that apply to the same value, through in-place applicators.
struct Survey<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    seen: HashSet<NodeId>,
    /// Depth of the walk.
    depth: usize,
    set: SchemaSet,
    only_required: Vec<String>,
    rows: Vec<Row>,
}

impl Survey<'_, '_> {
    fn visit(&mut self, node: NodeId) -> Result<(), CompileError> {
        if node == TRUE || node == FALSE || !self.seen.insert(node) {
            return Ok(());
        }
        let keywords = keywords_of(self.nodes, node)?;
        self.nodes.charge(1 + keywords.len() as u64)?;
        self.nodes.check_chain(node, self.depth)?;
        self.depth += 1;
        for keyword in keywords.iter() {
            match keyword {
                Keyword::Properties(properties) => {
                    self.nodes.charge(properties.named.len() as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.set.names.extend(properties.named.iter().map(|property| property.0.clone()));
                    self.set.says_properties |= !properties.named.is_empty();
                    self.set.says_additional |= properties.says_additional;
                    self.set.properties.push(properties.clone());
                }
                Keyword::Required(names) => {
                    self.nodes.charge(names.len() as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.only_required.extend(names.iter().cloned());
                }
                Keyword::Dependent { name, required, schema } => {
                    self.nodes.charge((1 + required.len()) as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.only_required.push(name.clone());
                    self.only_required.extend(required.iter().cloned());
                    self.visit(*schema)?;
                }
                Keyword::Values(values) => {
                    self.nodes.charge(values.list().len() as u64)?;
                    for (at, value) in values.list().iter().enumerate() {
                        self.listed(node, (values, at), value)?;
                    }
                }
                Keyword::Items { prefix, rest, .. } => {
                    self.nodes.charge(prefix.len() as u64)?;
                    self.rows.push(Row { prefix: prefix.to_vec(), rest: *rest });
                }
                Keyword::Contains { item, .. } => {
                    self.rows.push(Row { prefix: Vec::new(), rest: *item });
                }
                Keyword::Unique => self.set.unique.push(node),
                Keyword::UnevaluatedProperties(schema) => self.set.unevaluated.push(*schema),
                Keyword::UnevaluatedItems(schema) => {
                    self.rows.push(Row { prefix: Vec::new(), rest: *schema });
                }
                Keyword::AllOf(of) | Keyword::AnyOf(of) | Keyword::OneOf(of) => {
                    for &node in of.iter() {
                        self.visit(node)?;
                    }
                }
                Keyword::Not(of) => self.visit(*of)?,
                Keyword::If { condition, then, otherwise } => {
                    for node in [condition, then, otherwise] {
                        self.visit(*node)?;
                    }
                }
                _ => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The elements of a value of `enum` or `const`: each is the subschema of itself.
    fn listed(&mut self, node: NodeId, of: (&ValueSet, usize), value: &Json) -> Result<(), CompileError> {
        match value {
            Json::Object(properties) => {
                for (name, value) in properties.iter() {
                    let schema = self.nodes.constant(node, of, name, value)?;
                    self.set.names.push(name.clone());
                    self.set.listed.entry(name.clone()).or_default().push(schema);
                }
            }
            Json::Array(items) => {
                let schema = |(position, item): (usize, &Json)| {
                    self.nodes.constant(node, of, &position.to_string(), item)
                };
                let prefix = items.iter().enumerate().map(schema).collect::<Result<_, _>>()?;
                self.rows.push(Row { prefix, rest: FALSE });
            }
            _ => {}
        }
        Ok(())
    }
}
