//! Where in a schema a text stands, and which keywords are at work there.
//!
//! A text under the index of a schema is the beginning of a JSON text, so a scan of it says which value is being written. From
//! the root subschema the same steps lead to a subschema of that value: `properties`, `items`, `prefixItems`,
//! `additionalProperties`, and references within the document. Each of these has to hold whatever stands beside it. So what is
//! said is true, and not always all of the truth: another branch of the schema may forbid more. Where a step depends on
//! anything else, such as a pattern of names or a reference to another document, nothing is said.
mod json_scan;

use std::fmt;

use gobo_artifact::Index;
use gobo_types::{Draft, FormatMode, Notation, PropertyOrder, SchemaDialect, SchemaOptions, Source};
use serde_json::{Map, Value, json};

use json_scan::{At, Position, Step, position};

/// Most references that are followed in a row.
const MAX_REFERENCES: usize = 32;

/// Characters of a keyword's value that a person is shown.
const VALUE_SHOWN: usize = 60;

const ANY_TYPE: &[&str] = &["type", "enum", "const"];
const OF_NUMBERS: &[&str] = &["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"];
const OF_STRINGS: &[&str] = &["minLength", "maxLength", "pattern", "format"];
const OF_ARRAYS: &[&str] = &["minItems", "maxItems", "uniqueItems", "contains"];
const OF_OBJECTS: &[&str] =
    &["required", "additionalProperties", "minProperties", "maxProperties", "propertyNames"];
/// Subschemas in the place of a value: named, not shown.
const COMPOSED: &[&str] = &["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"];
/// Beside `$ref` these say nothing about a value.
const REMARKS: &[&str] =
    &["title", "description", "default", "examples", "$comment", "definitions", "$defs", "$schema", "$id"];

/// A place in a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The JSON pointer of the subschema.
    pub pointer: String,
    /// Whether the text stands between the properties or items of a container, and not in a value.
    is_between: bool,
    /// The keywords at work, with their values; none for those that hold subschemas.
    keywords: Vec<(&'static str, Option<Value>)>,
    /// Why the property that was to follow cannot.
    name: Option<String>,
}

impl Place {
    /// As an object for a script.
    pub(crate) fn json(&self) -> Value {
        let keywords: Map<String, Value> = self
            .keywords
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone().unwrap_or(Value::Null)))
            .collect();
        json!({"pointer": self.pointer, "is_between": self.is_between, "keywords": keywords, "name": self.name})
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "the whole value" } else { &self.pointer };
        f.write_str(if self.is_between { "between the parts of " } else { "inside " })?;
        f.write_str(pointer)?;
        for (at, (name, value)) in self.keywords.iter().enumerate() {
            f.write_str(if at == 0 { ": " } else { ", " })?;
            f.write_str(name)?;
            if let Some(value) = value {
                let text = value.to_string();
                let shown: String = text.chars().take(VALUE_SHOWN).collect();
                let more = if shown.len() < text.len() { "…" } else { "" };
                write!(f, " {shown}{more}")?;
            }
        }
        self.name.as_ref().map_or(Ok(()), |why| write!(f, "; {why}"))
    }
}

/// The place at the end of `alive`, a text that `index` has read, where `rest` was to follow. `None` for what is no schema of JSON texts,
/// and where it cannot be told.
pub(crate) fn place(index: &Index, alive: &[u8], rest: &[u8]) -> Option<Place> {
    let constraint = index.constraint(&[]).ok()?;
    let Source::Schema { schema, options } = constraint.source else { return None };
    if options.notation != Notation::Json {
        return None;
    }
    let alive = str::from_utf8(alive).or_else(|error| str::from_utf8(&alive[..error.valid_up_to()])).ok()?;
    of_schema(&serde_json::from_str(&schema).ok()?, &options, alive, &String::from_utf8_lossy(rest))
}

fn of_schema(schema: &Value, options: &SchemaOptions, alive: &str, rest: &str) -> Option<Place> {
    let Position { steps, at } = position(alive)?;
    let mut reached = Reached { root: schema, options, node: schema, pointer: String::new() };
    reached.follow_references()?;
    for step in &steps {
        reached.take(step)?;
        reached.follow_references()?;
    }
    let Reached { node, pointer, .. } = reached;
    // `true` and `false` have no keywords.
    let none = Map::new();
    let keywords = node.as_object().unwrap_or(&none);
    let (is_between, wanted): (bool, Vec<&[&'static str]>) = match &at {
        At::Value(first) => (false, of_value(keywords, *first)),
        At::Properties { .. } => (true, vec![OF_OBJECTS]),
        At::Items => (true, vec![OF_ARRAYS]),
    };
    let mut found = Vec::new();
    for &name in wanted.into_iter().flatten() {
        let is_remark = name == "format" && options.format == FormatMode::Annotate;
        if let Some(value) = keywords.get(name).filter(|_| !is_remark) {
            let is_subschema =
                matches!(name, "contains" | "propertyNames" | "additionalProperties") && value.is_object();
            found.push((name, (!is_subschema).then(|| value.clone())));
        }
    }
    found.extend(COMPOSED.iter().filter(|name| keywords.contains_key(**name)).map(|&name| (name, None)));
    let name = match &at {
        At::Properties { names, partial, takes_name: true } => {
            refused_name(keywords, options, names, partial.as_deref(), rest)
        }
        _ => None,
    };
    Some(Place { pointer, is_between, keywords: found, name })
}

/// The keywords that can be at work in a value that begins so.
fn of_value(keywords: &Map<String, Value>, first: Option<char>) -> Vec<&'static [&'static str]> {
    match first {
        Some('"') => vec![ANY_TYPE, OF_STRINGS],
        Some('-' | '0'..='9') => vec![ANY_TYPE, OF_NUMBERS],
        Some(_) => vec![ANY_TYPE],
        None => match keywords.get("type").and_then(Value::as_str) {
            Some("string") => vec![ANY_TYPE, OF_STRINGS],
            Some("number" | "integer") => vec![ANY_TYPE, OF_NUMBERS],
            Some("array") => vec![ANY_TYPE, OF_ARRAYS],
            Some("object") => vec![ANY_TYPE, OF_OBJECTS],
            Some(_) => vec![ANY_TYPE],
            None => vec![ANY_TYPE, OF_STRINGS, OF_NUMBERS],
        },
    }
}

/// A subschema on the way down.
struct Reached<'a> {
    root: &'a Value,
    options: &'a SchemaOptions,
    node: &'a Value,
    pointer: String,
}

impl Reached<'_> {
    fn step(&mut self, keyword: &str, name: Option<&str>) -> Option<()> {
        let below = self.node.get(keyword)?;
        self.pointer.extend(["/", keyword]);
        self.node = match name {
            None => below,
            Some(name) => {
                self.pointer.extend(["/", &name.replace('~', "~0").replace('/', "~1")]);
                match below {
                    Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                    below => below.get(name)?,
                }
            }
        };
        // Under another base URI, references mean other things.
        let has_base = self.node.get("$id").or_else(|| self.node.get("id")).is_some_and(Value::is_string);
        (!has_base).then_some(())
    }

    fn take(&mut self, step: &Step) -> Option<()> {
        let keywords = self.node.as_object()?;
        let count = |keyword: &str| keywords.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        match step {
            Step::Property(name) => {
                if keywords.get("properties").is_some_and(|properties| properties.get(name).is_some()) {
                    return self.step("properties", Some(name));
                }
                // Which pattern takes a name is the schema's own matter.
                if keywords.contains_key("patternProperties") {
                    return None;
                }
                self.step("additionalProperties", None)
            }
            Step::Item(item) => {
                if keywords.contains_key("prefixItems") && !self.has_prefix_items() {
                    return None;
                }
                let number = item.to_string();
                if *item < count("prefixItems") {
                    return self.step("prefixItems", Some(&number));
                }
                if keywords.get("items").is_some_and(Value::is_array) {
                    return if *item < count("items") {
                        self.step("items", Some(&number))
                    } else {
                        self.step("additionalItems", None)
                    };
                }
                self.step("items", None)
            }
        }
    }

    /// Whether the draft knows `prefixItems`.
    fn has_prefix_items(&self) -> bool {
        let is_newest = |draft: Draft| draft == Draft::Draft202012;
        match self.root.get("$schema").and_then(Value::as_str) {
            Some(uri) => uri.contains("2020-12"),
            None => match self.options.dialect {
                SchemaDialect::JsonSchema => self.options.draft.is_none_or(is_newest),
                SchemaDialect::OpenApi30 => self.options.draft.is_some_and(is_newest),
            },
        }
    }

    /// From a reference within the document to what it means.
    fn follow_references(&mut self) -> Option<()> {
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = self.node.get("$ref") else { return Some(()) };
            let is_alone =
                self.node.as_object()?.keys().all(|key| key == "$ref" || REMARKS.contains(&key.as_str()));
            let fragment = reference.as_str()?.strip_prefix('#')?;
            if !is_alone || fragment.contains('%') {
                return None;
            }
            self.node = self.root.pointer(fragment)?;
            self.pointer = fragment.to_owned();
        }
        None
    }
}

/// Why no property of the name that `rest` goes on with can come next.
fn refused_name(
    keywords: &Map<String, Value>,
    options: &SchemaOptions,
    names: &[String],
    partial: Option<&str>,
    rest: &str,
) -> Option<String> {
    let written = match partial {
        Some(partial) => format!("{partial}{rest}"),
        None => rest.trim_start().strip_prefix('"')?.to_owned(),
    };
    let none = Map::new();
    let properties = keywords.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let (name, is_whole) = match written.split_once('"') {
        Some((name, _)) => (name, true),
        None => (written.as_str(), false),
    };
    if name.contains('\\') || name.is_empty() {
        return None;
    }
    let mut meant =
        properties.keys().filter(|known| if is_whole { *known == name } else { known.starts_with(name) });
    let Some(meant) = meant.next().filter(|_| meant.next().is_none()) else {
        let is_closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
        let is_new =
            is_whole && !properties.contains_key(name) && !keywords.contains_key("patternProperties");
        return (is_closed && is_new)
            .then(|| format!("additionalProperties is false, and {name:?} is not declared"));
    };
    if names.contains(meant) {
        return Some(format!("{meant:?} is there already"));
    }
    let has_others =
        COMPOSED.iter().chain(&["$dynamicRef", "$recursiveRef"]).any(|name| keywords.contains_key(*name));
    if options.order != PropertyOrder::Declared || has_others {
        return None;
    }
    let order = |name: &str| properties.keys().position(|known| known == name);
    let of_meant = order(meant)?;
    if let Some(later) = names.iter().find(|name| order(name).is_none_or(|at| at > of_meant)) {
        return Some(format!("{meant:?} cannot come after {later:?}: the order is declared"));
    }
    let required = keywords.get("required").and_then(Value::as_array)?;
    let is_missing = |known: &&String| {
        !names.contains(known) && required.iter().any(|name| name.as_str() == Some(known.as_str()))
    };
    let first = properties.keys().take(of_meant).find(is_missing)?;
    Some(format!("{meant:?} cannot come before {first:?}, which is required: the order is declared"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: &str = r##"{
        "type": "object", "required": ["sku", "qty"], "additionalProperties": false,
        "properties": {
            "sku": {"type": "string", "pattern": "^[A-Z]+$"},
            "note": {"$ref": "#/$defs/note"},
            "qty": {"type": "integer", "minimum": 1, "maximum": 999},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
            "a/b": {"anyOf": [{"type": "null"}, {"type": "string"}]}
        },
        "$defs": {"note": {"type": "string", "maxLength": 3, "format": "date"}}
    }"##;

    fn shown(schema: &str, alive: &str, rest: &str) -> Option<String> {
        let schema = serde_json::from_str(schema).unwrap();
        of_schema(&schema, &SchemaOptions::default(), alive, rest).map(|place| place.to_string())
    }

    #[test]
    fn a_value_has_the_keywords_of_its_subschema() {
        for (alive, expected) in [
            (r#"{"sku": "A"#, r#"inside /properties/sku: type "string", pattern "^[A-Z]+$""#),
            (
                r#"{"sku": "A", "qty": 99"#,
                r#"inside /properties/qty: type "integer", minimum 1, maximum 999"#,
            ),
            (r#"{"sku": "A", "note": ""#, r#"inside /$defs/note: type "string", maxLength 3, format "date""#),
            (r#"{"tags": ["a", "#, r#"inside /properties/tags/items: enum ["a","b"]"#),
            (r#"{"tags": ["a", "b""#, "between the parts of /properties/tags: maxItems 2"),
            (r#"{"a/b": "#, "inside /properties/a~1b: anyOf"),
        ] {
            assert_eq!(shown(ORDER, alive, "").as_deref(), Some(expected), "{alive}");
        }
    }

    #[test]
    fn a_name_that_cannot_come_is_told_why() {
        for (alive, rest, expected) in [
            ("{\"", "qty\"", "\"qty\" cannot come before \"sku\", which is required: the order is declared"),
            ("{", "\"qt", "\"qty\" cannot come before \"sku\", which is required: the order is declared"),
            (
                r#"{"sku": "A", "qty": 1, ""#,
                "note",
                "\"note\" cannot come after \"qty\": the order is declared",
            ),
            (r#"{"sku": "A", "#, "\"sku\"", "\"sku\" is there already"),
            ("{\"", "colour\"", "additionalProperties is false, and \"colour\" is not declared"),
        ] {
            let shown = shown(ORDER, alive, rest).unwrap();
            assert!(shown.ends_with(&format!("; {expected}")), "{alive}: {shown}");
        }
        // It may come, or nobody can tell which is meant.
        for (alive, rest) in
            [("{\"sku\": \"A\", \"", "qty"), ("{\"", "zzz"), ("{\"sku\": \"A\"", "x"), ("{\"", "\\u0071")]
        {
            assert!(!shown(ORDER, alive, rest).unwrap().contains(';'), "{alive}{rest}");
        }
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        for (schema, alive) in [
            (r#"{"patternProperties": {"^a": {"type": "null"}}}"#, r#"{"ab": "#),
            (r#"{"$ref": "other.json"}"#, "{"),
            (r##"{"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {}}}"##, "\""),
            (r##"{"$ref": "#"}"##, "{"),
            (r##"{"properties": {"a": {"$id": "x:y", "$ref": "#/$defs/b"}}}"##, r#"{"a": "#),
            (r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{}]}"#, "["),
            (r#"{"type": "integer"}"#, "1 "),
            (r#"{"properties": {}}"#, r#"{"a": "#),
        ] {
            assert_eq!(shown(schema, alive, ""), None, "{schema}");
        }
        assert_eq!(shown("true", "1", "").as_deref(), Some("inside the whole value"));
    }
}
