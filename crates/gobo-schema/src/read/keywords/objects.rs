//! Keywords for objects (JSON Schema 2020-12, Core, sections 10.3.2 and 11.3; Validation, section 6.5).

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{CompileError, RefusalKind};

use super::reader::Reader;
use crate::read::node::{Keyword, Properties, TRUE};
use crate::read::value::Json;
use crate::read::vocabulary::{STEPS_PER_KEYWORD, STEPS_PER_SCHEMA};

/// Reads a keyword for objects; `false` if it is none.
pub(super) fn read(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<bool, CompileError> {
    match keyword {
        "properties" | "patternProperties" | "additionalProperties" => properties(reader, keyword)?,
        "required" => {
            if let Some(Json::Bool(_)) = reader.value(keyword) {
                let reason = "required is a list of strings, not a boolean";
                return Err(reader.refuse(RefusalKind::Malformed, keyword, reason).advising(
                    "A boolean is the form of draft 3: list the name in required of the object around this property.",
                ));
            }
            let names = reader.strings(keyword, reader.value(keyword))?;
            reader.push(keyword, Keyword::Required(names));
        }
        "propertyNames" => {
            let names = reader.schema(&[keyword])?;
            reader.push(keyword, Keyword::PropertyNames(names));
        }
        "minProperties" => {
            let min = reader.count(keyword)?;
            reader.push(keyword, Keyword::PropertyCount { min, max: None });
        }
        "maxProperties" => {
            let max = reader.count(keyword)?;
            reader.push(keyword, Keyword::PropertyCount { min: 0, max: Some(max) });
        }
        // Later drafts keep the first for compatibility, so it is enforced in all.
        "dependencies" | "dependentRequired" | "dependentSchemas" => dependencies(reader, keyword)?,
        "unevaluatedProperties" => {
            let schema = reader.schema(&[keyword])?;
            reader.push(keyword, Keyword::UnevaluatedProperties(schema));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The three keywords become one, at the position of the first of them.
fn properties(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    reader.enforced.push(keyword.to_owned());
    if reader.keywords.iter().any(|part| matches!(part, Keyword::Properties(_))) {
        return Ok(());
    }
    let mut properties = Properties {
        named: Vec::new(),
        index: HashMap::new(),
        patterns: Vec::new(),
        additional: reader.schema_if_any("additionalProperties", TRUE)?,
        says_additional: reader.value("additionalProperties").is_some(),
    };
    if reader.value("properties").is_some() {
        for name in reader.keys("properties")? {
            reader.nodes.charge(STEPS_PER_KEYWORD + name.len() as u64 / 4)?;
            let schema = reader.schema(&["properties", &name])?;
            properties.index.insert(name.clone(), properties.named.len());
            properties.named.push((name, schema));
        }
    }
    if reader.value("patternProperties").is_some() {
        for pattern in reader.keys("patternProperties")? {
            let schema = reader.schema(&["patternProperties", &pattern])?;
            let text = reader.pattern(&["patternProperties", &pattern], &pattern)?;
            properties.patterns.push((text, schema));
        }
    }
    reader.keywords.push(Keyword::Properties(Rc::new(properties)));
    Ok(())
}

/// `dependentRequired`, `dependentSchemas`, and `dependencies`, which is either.
fn dependencies(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    reader.enforced.push(keyword.to_owned());
    for name in reader.keys(keyword)? {
        let value = reader.value(keyword).and_then(|value| value.get(&name));
        reader.nodes.charge(STEPS_PER_SCHEMA + name.len() as u64 / 4)?;
        let nothing: Rc<[String]> = Rc::new([]);
        let (required, schema) = match value {
            Some(list @ Json::Array(_)) if keyword != "dependentSchemas" => {
                (reader.strings(keyword, Some(list))?, TRUE)
            }
            Some(Json::String(other)) if keyword == "dependencies" => (Rc::from([other.clone()]), TRUE),
            _ if keyword == "dependentRequired" => {
                return Err(reader.malformed(keyword, "an object of lists"));
            }
            _ => (nothing, reader.schema(&[keyword, &name])?),
        };
        reader.keywords.push(Keyword::Dependent { name, required, schema });
    }
    Ok(())
}
