use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{CompileError, Draft, FormatMode, RefusalKind, ReportEntry};

use crate::decimal::{Decimal, Modulus};
use crate::document::{Documents, Location, STEPS_PER_KEYWORD, STEPS_PER_SCHEMA, refuse};
use crate::ecma::ecma;
use crate::formats::format;
use crate::json::{Json, Object, ValueSet};
use crate::node::{Members, NodeId, Nodes, Part, TRUE, TextId, Types, shown};

/// Reads the keywords of one subschema.
pub(crate) struct Reader<'n, 'a> {
    nodes: &'n mut Nodes<'a>,
    location: &'n Location,
    /// The subschema.
    schema: &'n Object,
    draft: Draft,
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
/// Keywords that say something about values, in some draft.
pub(crate) const KEYWORDS: [&str; 50] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$defs",
    "definitions",
    "contentSchema",
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

impl<'n, 'a> Reader<'n, 'a> {
    /// What the keywords of a subschema demand, and the names of those that demand something.
    ///
    /// # Errors
    /// A refusal that names the keyword.
    pub(crate) fn read(
        nodes: &'n mut Nodes<'a>,
        location: &'n Location,
        draft: Draft,
        schema: &'n Object,
    ) -> Result<(Vec<Part>, Vec<String>), CompileError> {
        let is_alone = draft <= Draft::Draft7 && schema.get("$ref").is_some();
        let mut reader = Self { nodes, location, schema, draft, parts: Vec::new(), enforced: Vec::new() };
        for (key, _) in schema.iter() {
            if is_alone && key != "$ref" {
                reader.beside_reference(key);
            } else {
                reader.keyword(key)?;
            }
        }
        Ok((reader.parts, reader.enforced))
    }

    fn beside_reference(&mut self, keyword: &str) {
        if !PLACES.contains(&keyword) && !ANNOTATIONS.contains(&keyword) {
            self.annotation(keyword, "up to draft 7, nothing beside $ref counts");
        }
    }

    fn value(&self, keyword: &str) -> Option<&'n Json> {
        self.schema.get(keyword)
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

    /// The subschema at a keyword, or behind one more step.
    fn schema(&mut self, tokens: &[&str]) -> Result<NodeId, CompileError> {
        let (keyword, behind) = tokens.split_first().unwrap_or_else(|| unreachable!("it has a keyword"));
        let value = self.value(keyword);
        let value = behind.iter().fold(value, |value, token| value.and_then(|value| value.step(token)));
        self.nodes.node_of(self.location.at(tokens), value)
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
            Some(list @ Json::Array(items)) => {
                self.nodes.charge(4 * list.steps())?;
                let texts = items.iter().map(text).collect::<Option<Rc<[String]>>>();
                texts.ok_or_else(|| self.malformed(keyword, "a list of strings"))
            }
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
        let is_known = self.of_scalars(keyword)?
            || self.of_members(keyword)?
            || self.of_items(keyword)?
            || self.of_any_value(keyword)?;
        if !is_known {
            self.annotation(keyword, "no keyword of this draft");
        }
        Ok(())
    }

    /// Keywords for values of every type; whether the keyword is one of theirs.
    fn of_any_value(&mut self, keyword: &str) -> Result<bool, CompileError> {
        use Draft::{Draft6, Draft7, Draft201909, Draft202012};
        let draft = self.draft;
        match keyword {
            "$ref" => self.reference(keyword, Documents::resolve)?,
            "$dynamicRef" if draft == Draft202012 => {
                self.reference(keyword, Documents::resolve_dynamic)?;
            }
            "$recursiveRef" if draft == Draft201909 => {
                self.reference(keyword, |documents, from, _| documents.resolve_recursive(from))?;
            }
            "type" => self.types()?,
            "enum" => match self.value("enum") {
                Some(list @ Json::Array(values)) => {
                    self.nodes.charge(list.steps())?;
                    self.push("enum", Part::Values(Rc::new(ValueSet::new(Rc::clone(values)))));
                }
                _ => return Err(self.malformed("enum", "a list")),
            },
            "const" if draft >= Draft6 => {
                let value = self.value("const").cloned().unwrap_or(Json::Null);
                self.push("const", Part::Values(Rc::new(ValueSet::new(Rc::new([value])))));
            }
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
            _ if PLACES.contains(&keyword) || ANNOTATIONS.contains(&keyword) => {}
            "contentEncoding" | "contentMediaType" | "contentSchema" => {
                self.annotation(keyword, "an annotation by the standard");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Keywords for numbers and strings; whether the keyword is one of theirs.
    fn of_scalars(&mut self, keyword: &str) -> Result<bool, CompileError> {
        use Draft::Draft4;
        let draft = self.draft;
        match keyword {
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
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Keywords for objects; whether the keyword is one of theirs.
    fn of_members(&mut self, keyword: &str) -> Result<bool, CompileError> {
        use Draft::{Draft6, Draft201909};
        let draft = self.draft;
        match keyword {
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
            "unevaluatedProperties" if draft >= Draft201909 => {
                let schema = self.schema(&[keyword])?;
                self.push(keyword, Part::UnevaluatedMembers(schema));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Keywords for arrays; whether the keyword is one of theirs.
    fn of_items(&mut self, keyword: &str) -> Result<bool, CompileError> {
        use Draft::{Draft6, Draft201909, Draft202012};
        let draft = self.draft;
        match keyword {
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
            "unevaluatedItems" if draft >= Draft201909 => {
                let schema = self.schema(&[keyword])?;
                self.push(keyword, Part::UnevaluatedItems(schema));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn reference(
        &mut self,
        keyword: &str,
        resolve: impl FnOnce(&Documents, &Location, &str) -> Result<Location, String>,
    ) -> Result<(), CompileError> {
        let Some(Json::String(reference)) = self.value(keyword) else {
            return Err(self.malformed(keyword, "a string"));
        };
        self.nodes.charge(self.location.steps() + reference.len() as u64)?;
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
        let draft = self.draft;
        let text = self.nodes.intern_text("format", &format!("{draft} {name}"), |budget| {
            Ok(format(&name, draft, allow_widening, budget)?.map(|format| {
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
                self.nodes.charge(STEPS_PER_KEYWORD + name.len() as u64 / 4)?;
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
            self.nodes.charge(STEPS_PER_SCHEMA + name.len() as u64 / 4)?;
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
