use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::Language;
use gobo_types::{Budget, CompileError, Draft, FormatMode, RefusalKind, Report, ReportEntry, SchemaOptions};

use crate::decimal::{Decimal, Modulus};
use crate::document::{Documents, Location, refuse};
use crate::ecma::ecma;
use crate::formats::format;
use crate::json::{Json, ValueSet};

/// The number of a subschema.
pub(crate) type NodeId = u32;

/// The schema that every value satisfies.
pub(crate) const TRUE: NodeId = 0;
/// The schema that no value satisfies.
pub(crate) const FALSE: NodeId = 1;

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
    index: HashMap<String, usize>,
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
    documents: Documents,
    options: &'a SchemaOptions,
    budget: &'a Budget,
    nodes: Vec<Node>,
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
        let documents = Documents::read(schema, options)?;
        let constant =
            || Node { location: Location { document: 0, pointer: String::new() }, parts: Some(Rc::new([])) };
        Ok(Self {
            documents,
            options,
            budget,
            nodes: vec![constant(), constant()],
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
        &self.nodes[node as usize].location
    }

    /// Counts steps of reading the schema.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn charge(&self, steps: u64) -> Result<(), CompileError> {
        self.budget.charge_steps("lowering the schema", steps)
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
    pub(crate) fn any_of(&mut self, of: &[NodeId]) -> NodeId {
        let names: Vec<String> = of.iter().map(NodeId::to_string).collect();
        let location = self.nodes[of[0] as usize].location.at(&["any of", &names.join(" ")]);
        if let Some(&known) = self.known.get(&location) {
            return known;
        }
        let id = number(self.nodes.len());
        self.known.insert(location.clone(), id);
        self.nodes.push(Node { location, parts: Some(Rc::new([Part::AnyOf(of.into())])) });
        id
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
    pub(crate) fn constant(&mut self, node: NodeId, at: usize, token: &str, value: &Json) -> NodeId {
        let location = self.nodes[node as usize].location.at(&["enum", &at.to_string(), token]);
        if let Some(&known) = self.known.get(&location) {
            return known;
        }
        let id = number(self.nodes.len());
        let parts: Rc<[Part]> = Rc::new([Part::Values(Rc::new(ValueSet::new(vec![value.clone()])))]);
        self.known.insert(location.clone(), id);
        self.nodes.push(Node { location, parts: Some(parts) });
        id
    }

    fn node(&mut self, location: Location) -> Result<NodeId, CompileError> {
        match self.documents.get(&location) {
            Some(Json::Bool(true)) => return Ok(TRUE),
            Some(Json::Bool(false)) => return Ok(FALSE),
            Some(Json::Object(members)) if members.is_empty() => return Ok(TRUE),
            Some(Json::Object(_)) => {}
            other => {
                let found = other.map_or("nothing", Json::kind);
                let reason = format!("a schema is an object or a boolean, not {found}");
                return Err(CompileError::refuse(RefusalKind::Malformed, location.pointer, reason));
            }
        }
        if let Some(&known) = self.known.get(&location) {
            return Ok(known);
        }
        let id = number(self.nodes.len());
        self.budget.charge_bytes("reading the schema", 128 + location.pointer.len() as u64)?;
        // Small schemas that say the same are one: then it is seen that their values are the same.
        let mut content = String::new();
        let is_small = self.documents.get(&location).is_some_and(|schema| write_content(schema, true, &mut content));
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
        self.nodes.push(Node { location, parts: None });
        Ok(id)
    }

    /// What the keywords that were read come to, also where a subschema stands that says the same as another.
    pub(crate) fn take_report(&mut self) -> Report {
        let mut report = std::mem::take(&mut self.report);
        for (location, node) in &self.copies {
            let of_node = shown(&self.nodes[*node as usize].location);
            let here = shown(location);
            for list in [&mut report.enforced, &mut report.narrowed, &mut report.annotations] {
                let copies: Vec<ReportEntry> = list
                    .iter()
                    .filter(|entry| entry.pointer == of_node)
                    .map(|entry| ReportEntry { pointer: here.clone(), ..entry.clone() })
                    .collect();
                list.extend(copies);
            }
        }
        report
    }

    /// What a subschema demands.
    ///
    /// # Errors
    /// A refusal that names the keyword.
    pub(crate) fn parts(&mut self, node: NodeId) -> Result<Rc<[Part]>, CompileError> {
        if let Some(parts) = &self.nodes[node as usize].parts {
            return Ok(parts.clone());
        }
        let location = self.nodes[node as usize].location.clone();
        let parts: Rc<[Part]> = self.parse(&location)?.into();
        self.nodes[node as usize].parts = Some(parts.clone());
        Ok(parts)
    }

    fn parse(&mut self, location: &Location) -> Result<Vec<Part>, CompileError> {
        let Some(Json::Object(members)) = self.documents.get(location) else {
            unreachable!("nodes are objects")
        };
        let draft = self.documents.draft(location);
        // A copy of what is not a schema below: nodes are made while it is read.
        let keys: Vec<String> = members.iter().map(|member| member.0.clone()).collect();
        self.budget.charge_steps("reading the schema", keys.len() as u64)?;
        let mut reader = Reader {
            is_alone: draft <= Draft::Draft7 && keys.iter().any(|key| key == "$ref"),
            nodes: self,
            location,
            draft,
            parts: Vec::new(),
            enforced: Vec::new(),
        };
        for key in &keys {
            reader.keyword(key)?;
        }
        let Reader { parts, enforced, .. } = reader;
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
    fn intern_text(
        &mut self,
        keyword: &'static str,
        text: &str,
        build: impl FnOnce(&Budget) -> Result<Option<Language>, CompileError>,
    ) -> Result<Option<TextId>, CompileError> {
        if let Some(&known) = self.known_texts.get(&(keyword, text.to_owned())) {
            return Ok(Some(known));
        }
        let Some(language) = build(self.budget)? else { return Ok(None) };
        self.texts.push(Rc::new(language));
        self.known_texts.insert((keyword, text.to_owned()), self.texts.len() - 1);
        Ok(Some(self.texts.len() - 1))
    }
}

/// Longest text of a subschema that is compared with others.
const MAX_CONTENT_BYTES: usize = 512;

/// Writes a schema, without what says nothing about values, in some form that tells different ones apart; `false` if that is
/// long.
fn write_content(value: &Json, is_schema: bool, out: &mut String) -> bool {
    use std::fmt::Write;
    if out.len() > MAX_CONTENT_BYTES {
        return false;
    }
    match value {
        Json::Array(items) => {
            out.push('[');
            let is_small = items.iter().all(|item| {
                out.push(',');
                write_content(item, false, out)
            });
            out.push(']');
            is_small
        }
        Json::Object(members) => {
            out.push('{');
            let counts = |key: &str| !is_schema || !ANNOTATIONS.contains(&key);
            let is_small = members.iter().filter(|member| counts(&member.0)).all(|(key, value)| {
                write!(out, "{key:?}:").is_ok() && write_content(value, false, out)
            });
            out.push('}');
            is_small
        }
        scalar => write!(out, "{scalar:?}").is_ok() && out.len() <= MAX_CONTENT_BYTES,
    }
}

/// A place as reports show it.
fn shown(location: &Location) -> String {
    match location.document {
        0 => location.pointer.clone(),
        document => format!("document {document}:{}", location.pointer),
    }
}

/// Reads the keywords of one subschema.
struct Reader<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    location: &'n Location,
    draft: Draft,
    /// Whether `$ref` makes everything beside it count for nothing.
    is_alone: bool,
    parts: Vec<Part>,
    enforced: Vec<String>,
}

/// Keywords that say nothing about values.
const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
    "$comment",
    "$schema",
];
/// Keywords that other keywords look at, or references.
const PLACES: [&str; 10] = [
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$defs",
    "definitions",
    "then",
    "else",
    "$vocabulary",
];

impl Reader<'_, '_> {
    fn value(&self, keyword: &str) -> Option<&Json> {
        self.nodes.documents.get(self.location).and_then(|schema| schema.get(keyword))
    }

    fn malformed(&self, keyword: &str, expected: &str) -> CompileError {
        let found = self.value(keyword).map_or("nothing", Json::kind);
        refuse(
            RefusalKind::Malformed,
            self.location,
            keyword,
            format!("{keyword} is {expected}, not {found}"),
        )
    }

    fn unsupported(&self, keyword: &str, reason: impl Into<String>) -> CompileError {
        refuse(RefusalKind::Unsupported, self.location, keyword, reason)
    }

    fn annotation(&mut self, keyword: &str, why: &str) {
        self.nodes.report.annotations.push(ReportEntry {
            pointer: shown(self.location),
            keyword: keyword.to_owned(),
            why: why.to_owned(),
        });
    }

    fn schema(&mut self, tokens: &[&str]) -> Result<NodeId, CompileError> {
        self.nodes.node(self.location.at(tokens))
    }

    fn schema_if_any(&mut self, keyword: &str, absent: NodeId) -> Result<NodeId, CompileError> {
        if self.value(keyword).is_some() { self.schema(&[keyword]) } else { Ok(absent) }
    }

    fn list(&mut self, keyword: &str) -> Result<Rc<[NodeId]>, CompileError> {
        let length = match self.value(keyword) {
            Some(Json::Array(items)) if !items.is_empty() => items.len(),
            Some(Json::Array(_)) => {
                return Err(refuse(
                    RefusalKind::Malformed,
                    self.location,
                    keyword,
                    format!("{keyword} has no schema"),
                ));
            }
            _ => return Err(self.malformed(keyword, "a list of schemas")),
        };
        (0..length).map(|at| self.schema(&[keyword, &at.to_string()])).collect()
    }

    /// The keys of an object.
    fn keys(&self, keyword: &str) -> Result<Vec<String>, CompileError> {
        match self.value(keyword) {
            Some(Json::Object(members)) => Ok(members.iter().map(|member| member.0.clone()).collect()),
            _ => Err(self.malformed(keyword, "an object")),
        }
    }

    fn strings(&self, keyword: &str, value: Option<&Json>) -> Result<Rc<[String]>, CompileError> {
        let text = |item: &Json| match item {
            Json::String(text) => Some(text.clone()),
            _ => None,
        };
        match value {
            Some(Json::Array(items)) => items
                .iter()
                .map(text)
                .collect::<Option<Rc<[String]>>>()
                .ok_or_else(|| self.malformed(keyword, "a list of strings")),
            _ => Err(self.malformed(keyword, "a list of strings")),
        }
    }

    fn count(&self, keyword: &str) -> Result<u64, CompileError> {
        match self.value(keyword) {
            Some(Json::Number(number)) => number.to_count().ok_or_else(|| self.malformed(keyword, "a count")),
            _ => Err(self.malformed(keyword, "a count")),
        }
    }

    fn number(&self, keyword: &str) -> Result<Decimal, CompileError> {
        match self.value(keyword) {
            Some(Json::Number(number)) => Ok(number.clone()),
            _ => Err(self.malformed(keyword, "a number")),
        }
    }

    fn push(&mut self, keyword: &str, part: Part) {
        self.enforced.push(keyword.to_owned());
        self.parts.push(part);
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), CompileError> {
        use Draft::{Draft4, Draft6, Draft7, Draft201909, Draft202012};
        let draft = self.draft;
        if self.is_alone && keyword != "$ref" {
            if !PLACES.contains(&keyword) && !ANNOTATIONS.contains(&keyword) {
                self.annotation(keyword, "up to draft 7, nothing beside $ref counts");
            }
            return Ok(());
        }
        match keyword {
            "$ref" => self.reference(keyword, |documents, from, to| documents.resolve(from, to))?,
            "$dynamicRef" if draft == Draft202012 => {
                self.reference(keyword, |documents, from, to| documents.resolve_dynamic(from, to))?;
            }
            "$recursiveRef" if draft == Draft201909 => {
                self.reference(keyword, |documents, from, _| documents.resolve_recursive(from))?;
            }
            "type" => self.types()?,
            "enum" => match self.value("enum") {
                Some(Json::Array(values)) => {
                    let values = values.clone();
                    self.push("enum", Part::Values(Rc::new(ValueSet::new(values))));
                }
                _ => return Err(self.malformed("enum", "a list")),
            },
            "const" if draft >= Draft6 => {
                let value = self.value("const").cloned().unwrap_or(Json::Null);
                self.push("const", Part::Values(Rc::new(ValueSet::new(vec![value]))));
            }
            "minimum" | "maximum" => {
                let limit = self.number(keyword)?;
                let is_lower = keyword == "minimum";
                let exclusive = if is_lower { "exclusiveMinimum" } else { "exclusiveMaximum" };
                let is_exclusive = draft == Draft4 && self.value(exclusive) == Some(&Json::Bool(true));
                self.push(keyword, Part::Bound { limit, is_lower, is_exclusive });
            }
            "exclusiveMinimum" | "exclusiveMaximum" if draft == Draft4 => match self.value(keyword) {
                Some(Json::Bool(_)) => {}
                _ => return Err(self.malformed(keyword, "a boolean in draft 4")),
            },
            "exclusiveMinimum" | "exclusiveMaximum" => {
                let limit = self.number(keyword)?;
                self.push(
                    keyword,
                    Part::Bound { limit, is_lower: keyword == "exclusiveMinimum", is_exclusive: true },
                );
            }
            "multipleOf" => {
                let divisor = self.number(keyword)?;
                if divisor.is_zero() || divisor.negative {
                    return Err(self.malformed(keyword, "a number above 0"));
                }
                let modulus = Modulus::of(&divisor).ok_or_else(|| {
                    self.unsupported(
                        keyword,
                        format!("its digits are more than {}, the largest divisor", Modulus::MAX),
                    )
                })?;
                self.push(keyword, Part::MultipleOf(modulus));
            }
            "minLength" => {
                let min = self.count(keyword)?;
                self.push(keyword, Part::Length { min, max: None });
            }
            "maxLength" => {
                let max = self.count(keyword)?;
                self.push(keyword, Part::Length { min: 0, max: Some(max) });
            }
            "pattern" => {
                let Some(Json::String(pattern)) = self.value(keyword) else {
                    return Err(self.malformed(keyword, "a string"));
                };
                let pattern = pattern.clone();
                let text = self.pattern(&[keyword], &pattern)?;
                self.push(keyword, Part::Text(text));
            }
            "format" => self.format()?,
            "properties" | "patternProperties" | "additionalProperties" => self.members(keyword)?,
            "required" => {
                let names = self.strings(keyword, self.value(keyword))?;
                self.push(keyword, Part::Required(names));
            }
            "propertyNames" if draft >= Draft6 => {
                let names = self.schema(&[keyword])?;
                self.push(keyword, Part::Names(names));
            }
            "minProperties" => {
                let min = self.count(keyword)?;
                self.push(keyword, Part::MemberCount { min, max: None });
            }
            "maxProperties" => {
                let max = self.count(keyword)?;
                self.push(keyword, Part::MemberCount { min: 0, max: Some(max) });
            }
            // Later drafts keep it for compatibility; nobody who writes it means nothing by it.
            "dependencies" => self.dependencies(keyword)?,
            "dependentRequired" | "dependentSchemas" if draft >= Draft201909 => self.dependencies(keyword)?,
            "items" | "prefixItems" | "additionalItems" => self.items(keyword)?,
            "minItems" => {
                let min = self.count(keyword)?;
                self.push(keyword, Part::ItemCount { min, max: None });
            }
            "maxItems" => {
                let max = self.count(keyword)?;
                self.push(keyword, Part::ItemCount { min: 0, max: Some(max) });
            }
            "contains" if draft >= Draft6 => {
                let item = self.schema(&[keyword])?;
                let counts = draft >= Draft201909;
                let min = if counts && self.value("minContains").is_some() {
                    self.count("minContains")?
                } else {
                    1
                };
                let max = if counts && self.value("maxContains").is_some() {
                    Some(self.count("maxContains")?)
                } else {
                    None
                };
                self.push(keyword, Part::Contains { item, min, max, evaluates: draft >= Draft202012 });
            }
            "minContains" | "maxContains" if draft >= Draft201909 => {
                if self.value("contains").is_none() {
                    self.annotation(keyword, "without contains it says nothing");
                }
            }
            "uniqueItems" => match self.value(keyword) {
                Some(Json::Bool(true)) => self.push(keyword, Part::Unique),
                Some(Json::Bool(false)) => {}
                _ => return Err(self.malformed(keyword, "a boolean")),
            },
            "allOf" => {
                let schemas = self.list(keyword)?;
                self.push(keyword, Part::AllOf(schemas));
            }
            "anyOf" => {
                let schemas = self.list(keyword)?;
                self.push(keyword, Part::AnyOf(schemas));
            }
            "oneOf" => {
                let schemas = self.list(keyword)?;
                self.push(keyword, Part::OneOf(schemas));
            }
            "not" => {
                let schema = self.schema(&[keyword])?;
                self.push(keyword, Part::Not(schema));
            }
            "if" if draft >= Draft7 => {
                let condition = self.schema(&[keyword])?;
                let then = self.schema_if_any("then", TRUE)?;
                let otherwise = self.schema_if_any("else", TRUE)?;
                self.push(keyword, Part::If { condition, then, otherwise });
            }
            "unevaluatedProperties" if draft >= Draft201909 => {
                let schema = self.schema(&[keyword])?;
                self.push(keyword, Part::UnevaluatedMembers(schema));
            }
            "unevaluatedItems" if draft >= Draft201909 => {
                let schema = self.schema(&[keyword])?;
                self.push(keyword, Part::UnevaluatedItems(schema));
            }
            _ if PLACES.contains(&keyword) || ANNOTATIONS.contains(&keyword) => {}
            "contentEncoding" | "contentMediaType" | "contentSchema" => {
                self.annotation(keyword, "an annotation by the standard");
            }
            _ => self.annotation(keyword, "no keyword of this draft"),
        }
        Ok(())
    }

    fn reference(
        &mut self,
        keyword: &str,
        resolve: impl FnOnce(&Documents, &Location, &str) -> Result<Location, String>,
    ) -> Result<(), CompileError> {
        let Some(Json::String(reference)) = self.value(keyword) else {
            return Err(self.malformed(keyword, "a string"));
        };
        let target = resolve(&self.nodes.documents, self.location, reference)
            .map_err(|reason| self.unsupported(keyword, format!("{reference:?}: {reason}")))?;
        let target = self.nodes.node(target)?;
        self.push(keyword, Part::AllOf(Rc::new([target])));
        Ok(())
    }

    fn types(&mut self) -> Result<(), CompileError> {
        let names = match self.value("type") {
            Some(Json::String(name)) => vec![name.clone()],
            Some(list @ Json::Array(_)) => self.strings("type", Some(list))?.to_vec(),
            _ => return Err(self.malformed("type", "a name or a list of names")),
        };
        let mut types = Types(0);
        for name in &names {
            types = types.or(match name.as_str() {
                "null" => Types::NULL,
                "boolean" => Types::BOOL,
                "number" => Types::NUMBER,
                "integer" => Types::INTEGER,
                "string" => Types::STRING,
                "array" => Types::ARRAY,
                "object" => Types::OBJECT,
                "any" if self.draft == Draft::Draft4 => Types::ALL,
                _ => {
                    let reason = format!("{name:?} is no type");
                    return Err(refuse(RefusalKind::Malformed, self.location, "type", reason));
                }
            });
        }
        self.push("type", Part::Types { types, plain_integers: self.draft == Draft::Draft4 });
        Ok(())
    }

    fn pattern(&mut self, tokens: &[&str], pattern: &str) -> Result<TextId, CompileError> {
        let text = self.nodes.intern_text("pattern", pattern, |budget| ecma(pattern, budget).map(Some));
        match text {
            Ok(Some(text)) => Ok(text),
            Ok(None) => unreachable!("a pattern is a set of strings"),
            Err(CompileError::Refused(refusal)) => Err(CompileError::refuse(
                refusal.kind,
                self.location.at(tokens).pointer,
                format!("{} in the pattern, {}: {}", refusal.place, pattern, refusal.reason),
            )),
            Err(other) => Err(other),
        }
    }

    fn format(&mut self) -> Result<(), CompileError> {
        let Some(Json::String(name)) = self.value("format") else {
            return Err(self.malformed("format", "a string"));
        };
        let name = name.clone();
        if self.nodes.options.format == FormatMode::Annotate {
            self.annotation("format", "an annotation, as asked");
            return Ok(());
        }
        let allow_widening = self.nodes.options.allow_widening;
        let (mut narrowed, mut widened) = (None, None);
        let text = self.nodes.intern_text("format", &name, |budget| {
            Ok(format(&name, allow_widening, budget)?.map(|format| {
                (narrowed, widened) = (format.narrowed, format.widened);
                format.language
            }))
        });
        match text {
            Ok(Some(text)) => {
                let entry = |why: &str| ReportEntry {
                    pointer: shown(self.location),
                    keyword: "format".to_owned(),
                    why: format!("{name}: {why}"),
                };
                self.nodes.report.narrowed.extend(narrowed.map(entry));
                self.nodes.report.widened.extend(widened.map(entry));
                self.push("format", Part::Text(text));
                Ok(())
            }
            Ok(None) => {
                self.annotation("format", &format!("{name:?} is no format of the standard"));
                Ok(())
            }
            Err(CompileError::Refused(refusal)) => {
                Err(self.unsupported("format", format!("{name}: {}", refusal.reason)))
            }
            Err(other) => Err(other),
        }
    }

    /// The three keywords belong together, and stand where the first of them does.
    fn members(&mut self, keyword: &str) -> Result<(), CompileError> {
        self.enforced.push(keyword.to_owned());
        if self.parts.iter().any(|part| matches!(part, Part::Members(_))) {
            return Ok(());
        }
        let mut members = Members {
            properties: Vec::new(),
            index: HashMap::new(),
            patterns: Vec::new(),
            additional: self.schema_if_any("additionalProperties", TRUE)?,
            says_additional: self.value("additionalProperties").is_some(),
        };
        if self.value("properties").is_some() {
            for name in self.keys("properties")? {
                let schema = self.schema(&["properties", &name])?;
                members.index.insert(name.clone(), members.properties.len());
                members.properties.push((name, schema));
            }
        }
        if self.value("patternProperties").is_some() {
            for pattern in self.keys("patternProperties")? {
                let schema = self.schema(&["patternProperties", &pattern])?;
                let text = self.pattern(&["patternProperties", &pattern], &pattern)?;
                members.patterns.push((text, schema));
            }
        }
        self.parts.push(Part::Members(Rc::new(members)));
        Ok(())
    }

    fn dependencies(&mut self, keyword: &str) -> Result<(), CompileError> {
        self.enforced.push(keyword.to_owned());
        for name in self.keys(keyword)? {
            let value = self.value(keyword).and_then(|value| value.get(&name));
            let nothing: Rc<[String]> = Rc::new([]);
            let (required, schema) = match value {
                Some(list @ Json::Array(_)) if keyword != "dependentSchemas" => {
                    (self.strings(keyword, Some(list))?, TRUE)
                }
                Some(Json::String(other)) if keyword == "dependencies" => (Rc::from([other.clone()]), TRUE),
                _ if keyword == "dependentRequired" => {
                    return Err(self.malformed(keyword, "an object of lists"));
                }
                _ => (nothing, self.schema(&[keyword, &name])?),
            };
            self.parts.push(Part::Dependent { name, required, schema });
        }
        Ok(())
    }

    /// Up to draft 2019-09 `items` may be a list, which `additionalItems` goes on from; later the list is `prefixItems`.
    fn items(&mut self, keyword: &str) -> Result<(), CompileError> {
        let is_new = self.draft >= Draft::Draft202012;
        let is_list = matches!(self.value("items"), Some(Json::Array(_)));
        if is_new && is_list {
            let reason =
                "a list of schemas is prefixItems in draft 2020-12; for older schemas name the draft";
            return Err(refuse(RefusalKind::Malformed, self.location, "items", reason));
        }
        let counts = match keyword {
            "prefixItems" => is_new,
            "additionalItems" => is_list && !is_new,
            _ => true,
        };
        if !counts {
            self.annotation(keyword, "it says nothing here, by the standard");
            return Ok(());
        }
        self.enforced.push(keyword.to_owned());
        if self.parts.iter().any(|part| matches!(part, Part::Items { .. })) {
            return Ok(());
        }
        let nothing: Rc<[NodeId]> = Rc::new([]);
        let says_rest = self.value(if is_list { "additionalItems" } else { "items" }).is_some();
        let (prefix, rest) = if is_list {
            let is_empty = matches!(self.value("items"), Some(Json::Array(items)) if items.is_empty());
            let prefix = if is_empty { nothing } else { self.list("items")? };
            (prefix, self.schema_if_any("additionalItems", TRUE)?)
        } else {
            let has_prefix = is_new && self.value("prefixItems").is_some();
            let prefix = if has_prefix { self.list("prefixItems")? } else { nothing };
            (prefix, self.schema_if_any("items", TRUE)?)
        };
        self.parts.push(Part::Items { prefix, rest, says_rest });
        Ok(())
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
