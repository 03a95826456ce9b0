//! The corpus: schemas, and instances of which it is known whether they are valid.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context;
use gobo_schema::plain_text;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::args::Args;
use crate::vocabularies::data;

/// The keywords of all drafts, and `nullable` of a dialect.
pub const KEYWORDS: [&str; 55] = [
    "$anchor",
    "$defs",
    "$dynamicRef",
    "$id",
    "$recursiveRef",
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "id",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "title",
    "type",
    "uniqueItems",
];

/// A schema and its instances.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Name of the file that it is from.
    pub subset: String,
    pub id: String,
    /// As text.
    pub schema: String,
    pub tests: Vec<Test>,
}

/// An instance, as `json.dumps` spaces it.
#[derive(Debug, Clone)]
pub struct Test {
    pub text: String,
    pub is_valid: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    id: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(default, borrow)]
    tests: Vec<LineTest<'a>>,
}

#[derive(Deserialize)]
struct LineTest<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

impl Entry {
    fn read(subset: &str, line: &str) -> anyhow::Result<Self> {
        let line: Line<'_> = serde_json::from_str(line)?;
        let test = |test: &LineTest<'_>| Test { text: plain_text(test.data.get()), is_valid: test.valid };
        Ok(Self {
            subset: subset.into(),
            id: line.id,
            schema: line.schema.get().into(),
            tests: line.tests.iter().map(test).collect(),
        })
    }

    /// Those of [`KEYWORDS`] that are a key anywhere in the schema, be it as the name of a property.
    pub fn keywords(&self) -> anyhow::Result<BTreeSet<&'static str>> {
        let mut found = BTreeSet::new();
        collect(&serde_json::from_str(&self.schema)?, &mut found);
        Ok(found)
    }
}

fn collect(value: &Value, found: &mut BTreeSet<&'static str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => {
            for (name, value) in members {
                found.extend(KEYWORDS.iter().find(|keyword| *keyword == name));
                collect(value, found);
            }
        }
        _ => {}
    }
}

/// What is asked for of the corpus, file by file.
pub fn read(args: &Args) -> anyhow::Result<Vec<Entry>> {
    let folder = data().join("jsonschemabench");
    let files = std::fs::read_dir(&folder).with_context(|| format!("{}; set GOBO_DATA", folder.display()))?;
    let mut files: Vec<PathBuf> = files.map(|file| file.map(|file| file.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let (mut entries, mut place) = (Vec::new(), 0);
    for path in files {
        let subset = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        if !args.only.is_empty() && !args.only.contains(&subset) {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        for line in text.lines() {
            if place % args.every == 0 {
                entries.push(Entry::read(&subset, line).with_context(|| format!("{}", path.display()))?);
            }
            place += 1;
        }
    }
    anyhow::ensure!(!entries.is_empty(), "no schemas in {}", folder.display());
    Ok(entries)
}
