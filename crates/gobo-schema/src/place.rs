use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use gobo_types::{Budget, CompileError};

use crate::json::Json;
use crate::lowering::PHASE;
use crate::node::{FALSE, Members, NodeId, Nodes, Part, TRUE, TextId};

/// The number of a place.
pub(crate) type PlaceId = u32;

/// Steps of a subschema, or a name, that is put into a table.
const STEPS_PER_SUBSCHEMA: u64 = 4;

/// Bytes of a place, its names and subschemas apart.
const PLACE_BYTES: u64 = 256;

/// Where a value stands, as all subschemas that have a say about it, whether they have to hold or not. The texts of the value
/// are decided over one policy for all of them: one order of names.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// In the order in which they appear.
    pub(crate) nodes: Vec<NodeId>,
    /// The names of members that some subschema names, in the order of the policy.
    pub(crate) names: Vec<String>,
    /// `[names]` by name.
    pub(crate) numbers: HashMap<String, usize>,
    /// `properties` and what belongs to it, of each subschema that has it.
    members: Vec<Rc<Members>>,
    /// The members of listed objects.
    listed: HashMap<String, Vec<NodeId>>,
    /// The schemas of members that no other keyword has evaluated.
    unevaluated: Vec<NodeId>,
    /// The schemas of the items, by position: those of the last one go on.
    items: Vec<Vec<NodeId>>,
    /// Whether some subschema says `properties`, and whether one says `additionalProperties`.
    pub(crate) says_properties: bool,
    pub(crate) says_additional: bool,
}

impl Place {
    /// The patterns that tell the names of other members apart.
    pub(crate) fn patterns(&self) -> Vec<TextId> {
        let mut patterns: Vec<TextId> = self
            .members
            .iter()
            .flat_map(|members| members.patterns.iter().map(|pattern| pattern.0))
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    /// The subschemas that have a say about the value of a member. For a name that no subschema names, `name` is `None`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of_member(
        &self,
        name: Option<&str>,
        matches: impl Fn(TextId) -> bool,
        budget: &Budget,
    ) -> Result<Vec<NodeId>, CompileError> {
        let length = name.map_or(0, str::len) as u64;
        let mut nodes = Vec::new();
        budget.charge_steps(
            PHASE,
            (self.members.len() + self.unevaluated.len()) as u64 * STEPS_PER_SUBSCHEMA,
        )?;
        for members in &self.members {
            budget.charge_steps(PHASE, members.patterns.len() as u64 * (1 + length))?;
            match name {
                Some(name) => nodes.extend(members.schemas_of(name, &matches)),
                None => {
                    let before = nodes.len();
                    nodes.extend(members.patterns.iter().filter(|of| matches(of.0)).map(|of| of.1));
                    if nodes.len() == before {
                        nodes.push(members.additional);
                    }
                }
            }
        }
        let listed = name.and_then(|name| self.listed.get(name)).into_iter().flatten();
        nodes.extend(listed.chain(&self.unevaluated));
        budget.charge_steps(PHASE, nodes.len() as u64 * STEPS_PER_SUBSCHEMA)?;
        Ok(distinct(nodes))
    }

    /// The subschemas that have a say about an item.
    pub(crate) fn of_item(&self, at: usize) -> Vec<NodeId> {
        self.items.get(at).or(self.items.last()).cloned().unwrap_or_default()
    }

    /// The first position whose subschemas are those of all later ones.
    pub(crate) fn last_item(&self) -> usize {
        self.items.len().saturating_sub(1)
    }
}

/// Each once, without constants.
fn distinct(nodes: Vec<NodeId>) -> Vec<NodeId> {
    let mut known: HashSet<NodeId> = [TRUE, FALSE].into_iter().collect();
    nodes.into_iter().filter(|&node| known.insert(node)).collect()
}

/// The places of a schema.
#[derive(Debug, Default)]
pub(crate) struct Places {
    places: Vec<Rc<Place>>,
    known: HashMap<Vec<NodeId>, PlaceId>,
}

impl Places {
    pub(crate) fn get(&self, place: PlaceId) -> Rc<Place> {
        self.places[place as usize].clone()
    }

    /// The place of these subschemas.
    ///
    /// # Errors
    /// A refusal of what one of them says.
    pub(crate) fn of(&mut self, nodes: &mut Nodes<'_>, of: Vec<NodeId>) -> Result<PlaceId, CompileError> {
        nodes.charge(1 + of.len() as u64)?;
        if let Some(&known) = self.known.get(&of) {
            return Ok(known);
        }
        nodes.charge_bytes(PLACE_BYTES)?;
        let mut survey = Survey {
            nodes,
            seen: HashSet::default(),
            depth: 0,
            place: Place::default(),
            only_required: Vec::new(),
            rows: Vec::new(),
        };
        for &node in &of {
            survey.visit(node)?;
        }
        let Survey { mut place, only_required, rows, .. } = survey;
        place.names.extend(only_required);
        nodes.charge(place.names.len() as u64 * STEPS_PER_SUBSCHEMA)?;
        let mut numbers = HashMap::default();
        place.names.retain(|name| {
            let number = numbers.len();
            let is_new = !numbers.contains_key(name);
            if is_new {
                numbers.insert(name.clone(), number);
            }
            is_new
        });
        place.numbers = numbers;
        let length = rows.iter().map(|row| row.prefix.len() + 1).max().unwrap_or(0);
        nodes.charge((length * (2 + rows.len())) as u64 * STEPS_PER_SUBSCHEMA)?;
        place.items = (0..length).map(|at| distinct(rows.iter().map(|row| row.of(at)).collect())).collect();
        place.nodes.clone_from(&of);
        let id = u32::try_from(self.places.len()).expect("the budget keeps places below 2^32");
        self.places.push(Rc::new(place));
        self.known.insert(of, id);
        Ok(id)
    }
}

/// What one keyword says about items.
struct Row {
    prefix: Vec<NodeId>,
    rest: NodeId,
}

impl Row {
    fn of(&self, at: usize) -> NodeId {
        self.prefix.get(at).copied().unwrap_or(self.rest)
    }
}

/// Looks at every subschema for the same value.
struct Survey<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    seen: HashSet<NodeId>,
    /// Subschemas that are being looked at.
    depth: usize,
    place: Place,
    only_required: Vec<String>,
    rows: Vec<Row>,
}

impl Survey<'_, '_> {
    fn visit(&mut self, node: NodeId) -> Result<(), CompileError> {
        if node == TRUE || node == FALSE || !self.seen.insert(node) {
            return Ok(());
        }
        let parts = self.nodes.parts(node)?;
        self.nodes.charge(1 + parts.len() as u64)?;
        self.nodes.check_chain(node, self.depth)?;
        self.depth += 1;
        for part in parts.iter() {
            match part {
                Part::Members(members) => {
                    self.nodes.charge(members.properties.len() as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.place.names.extend(members.properties.iter().map(|property| property.0.clone()));
                    self.place.says_properties |= !members.properties.is_empty();
                    self.place.says_additional |= members.says_additional;
                    self.place.members.push(members.clone());
                }
                Part::Required(names) => {
                    self.nodes.charge(names.len() as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.only_required.extend(names.iter().cloned());
                }
                Part::Dependent { name, required, schema } => {
                    self.nodes.charge((1 + required.len()) as u64 * STEPS_PER_SUBSCHEMA)?;
                    self.only_required.push(name.clone());
                    self.only_required.extend(required.iter().cloned());
                    self.visit(*schema)?;
                }
                Part::Values(values) => {
                    self.nodes.charge(values.list().len() as u64)?;
                    for (at, value) in values.list().iter().enumerate() {
                        self.listed(node, at, value)?;
                    }
                }
                Part::Items { prefix, rest, .. } => {
                    self.nodes.charge(prefix.len() as u64)?;
                    self.rows.push(Row { prefix: prefix.to_vec(), rest: *rest });
                }
                Part::Contains { item, .. } => {
                    self.rows.push(Row { prefix: Vec::new(), rest: *item });
                }
                Part::UnevaluatedMembers(schema) => self.place.unevaluated.push(*schema),
                Part::UnevaluatedItems(schema) => {
                    self.rows.push(Row { prefix: Vec::new(), rest: *schema });
                }
                Part::AllOf(of) | Part::AnyOf(of) | Part::OneOf(of) => {
                    for &node in of.iter() {
                        self.visit(node)?;
                    }
                }
                Part::Not(of) => self.visit(*of)?,
                Part::If { condition, then, otherwise } => {
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

    /// A value of `enum` or `const` is the schema of itself.
    fn listed(&mut self, node: NodeId, at: usize, value: &Json) -> Result<(), CompileError> {
        match value {
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    let schema = self.nodes.constant(node, at, name, value)?;
                    self.place.names.push(name.clone());
                    self.place.listed.entry(name.clone()).or_default().push(schema);
                }
            }
            Json::Array(items) => {
                let schema = |(position, item): (usize, &Json)| {
                    self.nodes.constant(node, at, &position.to_string(), item)
                };
                let prefix = items.iter().enumerate().map(schema).collect::<Result<_, _>>()?;
                self.rows.push(Row { prefix, rest: FALSE });
            }
            _ => {}
        }
        Ok(())
    }
}
