use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::Language;
use gobo_types::{Budget, CompileError, Draft, RefusalKind, Report, ReportEntry, SchemaOptions};

use crate::content::write_schema;
use crate::decimal::{Decimal, Modulus};
use crate::document::{Documents, Location, PHASE, STEPS_PER_KEYWORD, STEPS_PER_SCHEMA, refuse};
use crate::json::{Json, ValueSet};
use crate::keywords::Reader;

/// The number of a subschema.
pub(crate) type NodeId = u32;

/// The schema that every value satisfies.
pub(crate) const TRUE: NodeId = 0;
/// The schema that no value satisfies.
pub(crate) const FALSE: NodeId = 1;

/// Most subschemas in a chain of references for the same value.
pub(crate) const MAX_CHAIN: usize = 256;

/// The number of a set of strings.
pub(crate) type TextId = usize;

/// Types of values, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(pub(crate) u8);

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOL: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4);
    pub(crate) const STRING: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    /// Whole numbers alone: part of no other bit.
    pub(crate) const INTEGER: Self = Self(64);
    pub(crate) const ALL: Self = Self(63);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type of a value.
    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(_) => Self::NUMBER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }
}

/// What one keyword, or several that belong together, demand.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Types {
        types: Types,
        /// Whether whole numbers with a point are none: draft 4.
        plain_integers: bool,
    },
    /// `enum`, `const`.
    Values(Rc<ValueSet>),
    /// A bound of numbers.
    Bound {
        limit: Decimal,
        is_lower: bool,
        is_exclusive: bool,
    },
    MultipleOf(Modulus),
    /// Characters of strings.
    Length {
        min: u64,
        max: Option<u64>,
    },
    /// `pattern`, `format`.
    Text(TextId),
    Members(Rc<Members>),
    Required(Rc<[String]>),
    /// What the name of each member has to be.
    Names(NodeId),
    MemberCount {
        min: u64,
        max: Option<u64>,
    },
    /// If there is a member of that name: these too, and this.
    Dependent {
        name: String,
        required: Rc<[String]>,
        schema: NodeId,
    },
    Items {
        prefix: Rc<[NodeId]>,
        rest: NodeId,
        /// Whether the schema of the items behind the prefix is there.
        says_rest: bool,
    },
    ItemCount {
        min: u64,
        max: Option<u64>,
    },
    Contains {
        item: NodeId,
        min: u64,
        max: Option<u64>,
        /// Whether items that it finds count as evaluated: draft 2020-12.
        evaluates: bool,
    },
    Unique,
    AllOf(Rc<[NodeId]>),
    AnyOf(Rc<[NodeId]>),
    OneOf(Rc<[NodeId]>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    UnevaluatedMembers(NodeId),
    UnevaluatedItems(NodeId),
}

/// `properties`, `patternProperties`, `additionalProperties` of one schema.
#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) properties: Vec<(String, NodeId)>,
    /// `[properties]` by name.
    pub(crate) index: HashMap<String, usize>,
    pub(crate) patterns: Vec<(TextId, NodeId)>,
    pub(crate) additional: NodeId,
    /// Whether `additionalProperties` is there.
    pub(crate) says_additional: bool,
}

impl Members {
    /// The schema of a name in `properties`.
    pub(crate) fn property(&self, name: &str) -> Option<NodeId> {
        self.index.get(name).map(|&at| self.properties[at].1)
    }

    /// The schemas of a name; `matches` says which patterns it has.
    pub(crate) fn schemas_of(&self, name: &str, matches: impl Fn(TextId) -> bool) -> Vec<NodeId> {
        let patterns = self.patterns.iter().filter(|(text, _)| matches(*text)).map(|(_, schema)| *schema);
        let mut schemas: Vec<NodeId> = self.property(name).into_iter().chain(patterns).collect();
        if schemas.is_empty() {
            schemas.push(self.additional);
        }
        schemas
    }
}

/// A subschema.
#[derive(Debug)]
struct Node {
    location: Location,
    parts: Option<Rc<[Part]>>,
}

/// The subschemas of a schema, read as they are needed.
#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    pub(crate) documents: Rc<Documents>,
    pub(crate) options: &'a SchemaOptions,
    budget: &'a Budget,
    all: Vec<Node>,
    known: HashMap<Location, NodeId>,
    /// By resource and text, of small ones.
    known_contents: HashMap<(usize, String), NodeId>,
    /// Where a subschema says the same as another.
    copies: Vec<(Location, NodeId)>,
    texts: Vec<Rc<Language>>,
    /// By keyword and text.
    known_texts: HashMap<(&'static str, String), TextId>,
    /// What the keywords that were read come to.
    pub(crate) report: Report,
}

impl<'a> Nodes<'a> {
    /// # Errors
    /// A refusal of what is no JSON.
    pub(crate) fn read(
        schema: &str,
        options: &'a SchemaOptions,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let documents = Rc::new(Documents::read(schema, options, budget)?);
        let constant =
            || Node { location: Location { document: 0, pointer: String::new() }, parts: Some(Rc::new([])) };
        Ok(Self {
            documents,
            options,
            budget,
            all: vec![constant(), constant()],
            known: HashMap::new(),
            known_contents: HashMap::new(),
            copies: Vec::new(),
            texts: Vec::new(),
            known_texts: HashMap::new(),
            report: Report::default(),
        })
    }

    /// The whole schema.
    ///
    /// # Errors
    /// A refusal if it is no schema.
    pub(crate) fn root(&mut self) -> Result<NodeId, CompileError> {
        self.node(Location { document: 0, pointer: String::new() })
    }

    pub(crate) fn text(&self, text: TextId) -> &Rc<Language> {
        &self.texts[text]
    }

    /// Where a subschema stands.
    pub(crate) fn location(&self, node: NodeId) -> &Location {
        &self.all[node as usize].location
    }

    /// Counts steps of reading the schema.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn charge(&self, steps: u64) -> Result<(), CompileError> {
        self.budget.charge_steps("lowering the schema", steps)
    }

    /// Counts bytes of tables of reading the schema.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn charge_bytes(&self, bytes: u64) -> Result<(), CompileError> {
        self.budget.charge_bytes(PHASE, bytes)
    }

    /// The account that is charged.
    pub(crate) fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// Refuses subschemas that refer to each other, for the same value, further than anyone means: each is looked at on the call
    /// stack.
    ///
    /// # Errors
    /// A refusal that names the last of them.
    pub(crate) fn check_chain(&self, node: NodeId, length: usize) -> Result<(), CompileError> {
        if length <= MAX_CHAIN {
            return Ok(());
        }
        let pointer = self.location(node).pointer.clone();
        let reason = format!("more than {MAX_CHAIN} subschemas refer to each other for the same value");
        Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason))
    }

    /// The refusal of a subschema that is itself, without any step into a value.
    pub(crate) fn circular(&self, node: NodeId) -> CompileError {
        let pointer = self.location(node).pointer.clone();
        CompileError::refuse(
            RefusalKind::Malformed,
            pointer,
            "it refers to itself without any step into a value",
        )
    }

    /// The schema of what satisfies any of these.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn any_of(&mut self, of: &[NodeId]) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + 8 * of.len() as u64)?;
        let names: Vec<String> = of.iter().map(NodeId::to_string).collect();
        let location = self.all[of[0] as usize].location.at(&["any of", &names.join(" ")]);
        if let Some(&known) = self.known.get(&location) {
            return Ok(known);
        }
        let id = number(self.all.len());
        self.known.insert(location.clone(), id);
        self.all.push(Node { location, parts: Some(Rc::new([Part::AnyOf(of.into())])) });
        Ok(id)
    }

    /// The refusal of a keyword of a subschema.
    pub(crate) fn unsupported(&self, node: NodeId, keyword: &str, reason: &str) -> CompileError {
        refuse(RefusalKind::Unsupported, self.location(node), keyword, reason)
    }

    /// The draft of the schema.
    pub(crate) fn draft(&self) -> Draft {
        self.documents.draft(&Location { document: 0, pointer: String::new() })
    }

    /// The refusal of a keyword that depends on how a listed value was evaluated.
    pub(crate) fn cannot_evaluate(&self, node: NodeId, keyword: &str) -> CompileError {
        let pointer = self.location(node).pointer.clone();
        CompileError::refuse(
            RefusalKind::Unsupported,
            pointer,
            format!("{keyword} beside listed objects or arrays"),
        )
    }

    /// The schema of one value: that which stands at `token` in the value with number `at` that `node` lists.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn constant(
        &mut self,
        node: NodeId,
        at: usize,
        token: &str,
        value: &Json,
    ) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + self.location(node).steps() + token.len() as u64 / 4)?;
        let location = self.all[node as usize].location.at(&["enum", &at.to_string(), token]);
        if let Some(&known) = self.known.get(&location) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, NODE_BYTES + 2 * location.pointer.len() as u64)?;
        let id = number(self.all.len());
        let parts: Rc<[Part]> = Rc::new([Part::Values(Rc::new(ValueSet::new(Rc::new([value.clone()]))))]);
        self.known.insert(location.clone(), id);
        self.all.push(Node { location, parts: Some(parts) });
        Ok(id)
    }

    /// The subschema at a place.
    ///
    /// # Errors
    /// A refusal if there is none.
    pub(crate) fn node(&mut self, location: Location) -> Result<NodeId, CompileError> {
        self.charge(location.steps())?;
        let documents = Rc::clone(&self.documents);
        let schema = documents.get(&location);
        self.node_of(location, schema)
    }

    /// As [`Self::node`], of what stands at the place.
    ///
    /// # Errors
    /// A refusal if it is no schema; [`CompileError::OverBudget`].
    pub(crate) fn node_of(
        &mut self,
        location: Location,
        schema: Option<&Json>,
    ) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + location.steps())?;
        let schema = match schema {
            Some(Json::Bool(true)) => return Ok(TRUE),
            Some(Json::Bool(false)) => return Ok(FALSE),
            Some(Json::Object(members)) if members.is_empty() => return Ok(TRUE),
            Some(schema @ Json::Object(_)) => schema,
            other => {
                let found = other.map_or("nothing", Json::kind);
                let reason = format!("a schema is an object or a boolean, not {found}");
                return Err(CompileError::refuse(RefusalKind::Malformed, location.pointer, reason));
            }
        };
        if let Some(&known) = self.known.get(&location) {
            return Ok(known);
        }
        let id = number(self.all.len());
        self.budget.charge_bytes(PHASE, NODE_BYTES + 2 * location.pointer.len() as u64)?;
        // Small schemas that say the same are one: then it is seen that their values are the same.
        let mut content = String::new();
        let is_small = write_schema(schema, &mut content, self.budget)?;
        self.charge(content.len() as u64 / 4)?;
        if is_small {
            let resource = self.documents.resource_number(&location);
            if let Some(&same) = self.known_contents.get(&(resource, content.clone())) {
                self.known.insert(location.clone(), same);
                self.copies.push((location, same));
                return Ok(same);
            }
            self.known_contents.insert((resource, content), id);
        }
        self.known.insert(location.clone(), id);
        self.all.push(Node { location, parts: None });
        Ok(id)
    }

    /// What the keywords that were read come to, also where a subschema stands that says the same as another.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn take_report(&mut self) -> Result<Report, CompileError> {
        let mut report = std::mem::take(&mut self.report);
        for list in [&mut report.enforced, &mut report.narrowed, &mut report.annotations] {
            let mut by_pointer: HashMap<&str, Vec<&ReportEntry>> = HashMap::new();
            for entry in list.iter() {
                by_pointer.entry(&entry.pointer).or_default().push(entry);
            }
            let mut copies = Vec::new();
            for (location, node) in &self.copies {
                let of_node = &self.all[*node as usize].location;
                self.charge(STEPS_PER_SCHEMA + of_node.steps())?;
                let here = shown(location);
                for entry in by_pointer.get(shown(of_node).as_str()).into_iter().flatten() {
                    let bytes = here.len() + entry.keyword.len() + entry.why.len();
                    self.charge(STEPS_PER_SCHEMA + bytes as u64 / 4)?;
                    self.budget.charge_bytes(PHASE, 72 + bytes as u64)?;
                    copies.push(ReportEntry { pointer: here.clone(), ..(*entry).clone() });
                }
            }
            list.extend(copies);
        }
        Ok(report)
    }

    /// What a subschema demands.
    ///
    /// # Errors
    /// A refusal that names the keyword.
    pub(crate) fn parts(&mut self, node: NodeId) -> Result<Rc<[Part]>, CompileError> {
        if let Some(parts) = &self.all[node as usize].parts {
            return Ok(parts.clone());
        }
        let location = self.all[node as usize].location.clone();
        let parts: Rc<[Part]> = self.parse(&location)?.into();
        self.all[node as usize].parts = Some(parts.clone());
        Ok(parts)
    }

    fn parse(&mut self, location: &Location) -> Result<Vec<Part>, CompileError> {
        let documents = Rc::clone(&self.documents);
        let Some(Json::Object(members)) = documents.get(location) else { unreachable!("nodes are objects") };
        let draft = documents.draft(location);
        self.charge(location.steps() + STEPS_PER_KEYWORD * STEPS_PER_KEYWORD * members.len() as u64)?;
        let (parts, enforced) = Reader::read(self, location, draft, members)?;
        if !enforced.is_empty() {
            self.report.enforced.push(ReportEntry {
                pointer: shown(location),
                keyword: enforced.join(", "),
                why: "exactly".to_owned(),
            });
        }
        Ok(parts)
    }

    /// The set of strings that a keyword names.
    pub(crate) fn intern_text(
        &mut self,
        keyword: &'static str,
        text: &str,
        build: impl FnOnce(&Budget) -> Result<Option<Language>, CompileError>,
    ) -> Result<Option<TextId>, CompileError> {
        self.charge(text.len() as u64)?;
        if let Some(&known) = self.known_texts.get(&(keyword, text.to_owned())) {
            return Ok(Some(known));
        }
        let Some(language) = build(self.budget)? else { return Ok(None) };
        self.texts.push(Rc::new(language));
        self.known_texts.insert((keyword, text.to_owned()), self.texts.len() - 1);
        Ok(Some(self.texts.len() - 1))
    }
}

/// Bytes of a subschema, its place apart.
const NODE_BYTES: u64 = 128;

/// A place as reports show it.
pub(crate) fn shown(location: &Location) -> String {
    match location.document {
        0 => location.pointer.clone(),
        document => format!("document {document}:{}", location.pointer),
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
