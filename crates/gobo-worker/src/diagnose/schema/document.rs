//! A schema as a JSON document: the parts that can be left out, and the document without them.
//!
//! A part is a keyword, or an entry of one (`properties`, `allOf`, `required` …). Leaving it out never shuts a value out, `not`, `if`,
//! `oneOf` and `unevaluated…` around it apart: an entry of `properties` becomes `true` and keeps its name, on which
//! `additionalProperties` depends. Nothing is looked for inside the former three, and nothing but them beside the last.

use std::collections::BTreeSet;

use gobo_schema::SCHEMA_KEYWORDS;
use serde_json::{Map, Value};

/// Of the keywords whose value is a schema, those of which a schema without values can be the reason that another has none.
const DESCENDED: [&str; 7] =
    ["items", "additionalItems", "additionalProperties", "propertyNames", "contains", "then", "else"];
/// Keywords whose value is a list of schemas, of which all hold, each for what it speaks of.
const LISTS: [&str; 3] = ["allOf", "prefixItems", "items"];
/// Keywords whose value is a list of schemas, of which one has to hold.
const ALTERNATIVES: [&str; 2] = ["anyOf", "oneOf"];
/// Keywords whose value is an object of schemas.
const MAPS: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
/// The same, for schemas that say nothing about values where they stand.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Other keywords that say something about values.
const ASSERTIONS: [&str; 27] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
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
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "uniqueItems",
    "anyOf",
    "oneOf",
    "not",
    "if",
];

/// A part that can be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// JSON pointer of the part.
    pub(super) pointer: String,
    /// The keyword that it is, or of which it is an entry.
    pub(super) keyword: String,
    /// The name or number of the entry.
    pub(super) entry: Option<String>,
}

impl Part {
    fn keyword(base: &str, keyword: &str) -> Self {
        Self { pointer: at(base, keyword), keyword: keyword.to_owned(), entry: None }
    }

    fn entry(base: &str, keyword: &str, entry: &str) -> Self {
        let pointer = at(&at(base, keyword), entry);
        Self { pointer, keyword: keyword.to_owned(), entry: Some(entry.to_owned()) }
    }

    /// Whether its value is a schema that has to hold for some value.
    pub(super) fn is_schema(&self, value: &Value) -> bool {
        let is_one = value.is_object() || value.is_boolean();
        is_one
            && match self.entry {
                Some(_) => {
                    MAPS.contains(&self.keyword.as_str())
                        || LISTS.contains(&self.keyword.as_str())
                        || self.is_alternatives()
                }
                None => DESCENDED.contains(&self.keyword.as_str()),
            }
    }

    /// Whether it belongs to a list of which one has to hold.
    pub(super) fn is_alternatives(&self) -> bool {
        ALTERNATIVES.contains(&self.keyword.as_str())
    }
}

/// The pointer of what `token` leads to from `base`.
pub(super) fn at(base: &str, token: &str) -> String {
    format!("{base}/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// The parts of a schema that can be left out, in the order in which they were written.
pub(super) fn parts(schema: &Value, base: &str) -> Vec<Part> {
    let Value::Object(keywords) = schema else { return Vec::new() };
    let depends_on_others = keywords.keys().any(|key| key.starts_with("unevaluated"));
    let mut parts = Vec::new();
    for (key, value) in keywords {
        let key = key.as_str();
        match value {
            _ if depends_on_others && !is_of_the_value_alone(key) => {}
            Value::Object(entries) if MAPS.contains(&key) => {
                let entries = entries.iter().filter(|(_, entry)| !is_trivial(entry));
                parts.extend(entries.map(|(name, _)| Part::entry(base, key, name)));
            }
            Value::Array(entries) if LISTS.contains(&key) => {
                let entries = entries.iter().enumerate().filter(|(_, entry)| !is_trivial(entry));
                parts.extend(entries.map(|(at, _)| Part::entry(base, key, &at.to_string())));
            }
            Value::Array(entries) if key == "required" => {
                parts.extend((0..entries.len()).map(|at| Part::entry(base, key, &at.to_string())));
            }
            _ if ASSERTIONS.contains(&key) || SCHEMA_KEYWORDS.contains(&key) && key != "contentSchema" => {
                parts.push(Part::keyword(base, key));
            }
            _ => {}
        }
    }
    parts
}

/// The alternatives of `anyOf` or `oneOf` as parts.
pub(super) fn alternatives(part: &Part, value: &Value) -> Vec<Part> {
    let Value::Array(entries) = value else { return Vec::new() };
    let base = part.pointer.rsplit_once('/').map_or("", |(base, _)| base);
    (0..entries.len()).map(|at| Part::entry(base, &part.keyword, &at.to_string())).collect()
}

/// Whether a keyword says nothing of what others have evaluated, nor evaluates anything.
fn is_of_the_value_alone(key: &str) -> bool {
    key.starts_with("unevaluated")
        || key == "required"
        || ASSERTIONS.contains(&key)
            && !key.contains("Ref")
            && !matches!(key, "$ref" | "anyOf" | "oneOf" | "if" | "not")
}

fn is_trivial(schema: &Value) -> bool {
    match schema {
        Value::Bool(allows) => *allows,
        Value::Object(keywords) => keywords.is_empty(),
        _ => false,
    }
}

/// The schema at `base` without some of its parts, or of those of schemas inside it, by their pointers.
pub(super) fn without(schema: &Value, base: &str, left_out: &BTreeSet<&str>) -> Value {
    // Everything that is left out from here on lies between these two.
    let (first, beyond) = (format!("{base}/"), format!("{base}0"));
    if left_out.range(first.as_str()..beyond.as_str()).next().is_none() {
        return schema.clone();
    }
    let Value::Object(keywords) = schema else { return schema.clone() };
    let mut kept = Map::new();
    for (key, value) in keywords {
        let pointer = at(base, key);
        if left_out.contains(pointer.as_str()) {
            continue;
        }
        let key = key.as_str();
        let is_left_out = |token: &str| left_out.contains(at(&pointer, token).as_str());
        let value = match value {
            Value::Object(entries) if MAPS.contains(&key) || DEFINITIONS.contains(&key) => {
                let entry = |(name, entry): (&String, &Value)| {
                    let entry = if is_left_out(name) {
                        Value::Bool(true)
                    } else {
                        without(entry, &at(&pointer, name), left_out)
                    };
                    (name.clone(), entry)
                };
                Value::Object(entries.iter().map(entry).collect())
            }
            Value::Array(entries) if key == "required" => {
                let entries = entries.iter().enumerate().filter(|(at, _)| !is_left_out(&at.to_string()));
                Value::Array(entries.map(|(_, entry)| entry.clone()).collect())
            }
            Value::Array(entries) if LISTS.contains(&key) || ALTERNATIVES.contains(&key) => {
                let entry = |(number, entry): (usize, &Value)| {
                    let number = number.to_string();
                    if is_left_out(&number) {
                        Value::Bool(!ALTERNATIVES.contains(&key))
                    } else {
                        without(entry, &at(&pointer, &number), left_out)
                    }
                };
                Value::Array(entries.iter().enumerate().map(entry).collect())
            }
            Value::Object(_) if SCHEMA_KEYWORDS.contains(&key) => without(value, &pointer, left_out),
            _ => value.clone(),
        };
        kept.insert(key.to_owned(), value);
    }
    // Drafts before 6 want a name at least.
    if kept.get("required").is_some_and(|names| names.as_array().is_some_and(Vec::is_empty)) {
        kept.remove("required");
    }
    Value::Object(kept)
}

/// The pointer that a `$ref` into the same document leads to.
pub(super) fn local_target(reference: &Value) -> Option<&str> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    let is_plain = (pointer.is_empty() || pointer.starts_with('/')) && !pointer.contains('%');
    is_plain.then_some(pointer)
}

/// Whether some subschema has a URI of its own: then a reference means something else elsewhere.
pub(super) fn has_inner_resources(root: &Value) -> bool {
    fn has(value: &Value, is_root: bool) -> bool {
        match value {
            Value::Object(members) => members.iter().any(|(key, value)| {
                !is_root && matches!(key.as_str(), "$id" | "id") && value.is_string() || has(value, false)
            }),
            Value::Array(items) => items.iter().any(|item| has(item, false)),
            _ => false,
        }
    }
    has(root, true)
}

/// A document with `schema` in it, and the pointer that leads there. Of `root` only the definitions to which references lead are
/// kept, where each is a plain pointer, and otherwise all.
pub(super) fn around(root: &Value, schema: Value) -> (String, String) {
    let mut document = definitions(root, &schema).unwrap_or_else(|| match root {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    });
    let mut key = "$here".to_owned();
    while document.contains_key(&key) {
        key.push('$');
    }
    let pointer = at("", &key);
    document.insert(key, schema);
    (Value::Object(document).to_string(), pointer)
}

/// The members of `root` to which the references in `schema` lead, and the references there.
fn definitions(root: &Value, schema: &Value) -> Option<Map<String, Value>> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    references(schema, &mut open)?;
    let mut targets = Map::new();
    if let Some(draft) = root.get("$schema") {
        targets.insert("$schema".to_owned(), draft.clone());
    }
    // References borrow from the root, and those of the schema from it: both outlive this.
    while let Some(pointer) = open.pop() {
        if !known.insert(pointer) {
            continue;
        }
        let mut tokens = pointer.split('/').skip(1);
        let (group, name) = (tokens.next()?, tokens.next()?);
        if !DEFINITIONS.contains(&group) || tokens.next().is_some() {
            return None;
        }
        let target = root.pointer(pointer)?;
        references(target, &mut open)?;
        let name = name.replace("~1", "/").replace("~0", "~");
        let members = targets.entry(group).or_insert_with(|| Value::Object(Map::new()));
        members.as_object_mut()?.insert(name, target.clone());
    }
    Some(targets)
}

/// Collects the targets of all references in a value; `None` if one is no plain pointer into the document.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) -> Option<()> {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match key.as_str() {
                    "$ref" if value.is_string() => found.push(local_target(value)?),
                    "$dynamicRef" | "$recursiveRef" => return None,
                    _ => references(value, found)?,
                }
            }
            Some(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| references(item, found)),
        _ => Some(()),
    }
}
