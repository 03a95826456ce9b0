//! Keywords for values of every type: references, `type`, `enum` and `const`, and the in-place applicators (JSON Schema
//! 2020-12, Core, section 10.2; Validation, section 6.1).

use std::rc::Rc;

use gobo_grammar::near::near;
use gobo_types::{CompileError, Draft, RefusalKind};

use super::reader::Reader;
use crate::read::documents::{Documents, Fault};
use crate::read::location::Location;
use crate::read::node::{Keyword, TRUE, Types};
use crate::read::value::{Json, ValueSet};

/// The names of the types.
const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

/// Reads a keyword for values of every type.
pub(super) fn read(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    match keyword {
        "$ref" => reference(reader, keyword, Documents::resolve)?,
        "$dynamicRef" => {
            reference(reader, keyword, Documents::resolve_dynamic)?;
        }
        "$recursiveRef" => {
            reference(reader, keyword, |documents, from, _| documents.resolve_recursive(from))?;
        }
        "type" => types(reader)?,
        "nullable" => match reader.value(keyword) {
            Some(Json::Bool(true)) if reader.value("type").is_some() => {
                reader.enforced.push(keyword.to_owned());
            }
            Some(Json::Bool(true)) => reader.annotation(keyword, "without type it says nothing"),
            Some(Json::Bool(false)) => {}
            _ => return Err(reader.malformed(keyword, "a boolean")),
        },
        "enum" => match reader.value("enum") {
            Some(list @ Json::Array(values)) => {
                reader.nodes.charge(list.steps())?;
                reader.push("enum", Keyword::Values(Rc::new(ValueSet::new("enum", Rc::clone(values)))));
            }
            _ => return Err(reader.malformed("enum", "a list")),
        },
        "const" => {
            let value = reader.value("const").cloned().unwrap_or(Json::Null);
            reader.push("const", Keyword::Values(Rc::new(ValueSet::new("const", Rc::new([value])))));
        }
        "allOf" => {
            let schemas = reader.list(keyword)?;
            reader.push(keyword, Keyword::AllOf(schemas));
        }
        "anyOf" => {
            let schemas = reader.list(keyword)?;
            reader.push(keyword, Keyword::AnyOf(schemas));
        }
        "oneOf" => {
            let schemas = reader.list(keyword)?;
            reader.push(keyword, Keyword::OneOf(schemas));
        }
        "not" => {
            let schema = reader.schema(&[keyword])?;
            reader.push(keyword, Keyword::Not(schema));
        }
        "if" => {
            let condition = reader.schema(&[keyword])?;
            let then = reader.schema_if_any("then", TRUE)?;
            let otherwise = reader.schema_if_any("else", TRUE)?;
            reader.push(keyword, Keyword::If { condition, then, otherwise });
        }
        // Annotations, and what takes effect through others.
        _ => {}
    }
    Ok(())
}

/// A reference: the subschema that it resolves to, as the only operand of `allOf`.
fn reference(
    reader: &mut Reader<'_, '_>,
    keyword: &str,
    resolve: impl FnOnce(&Documents, &Location, &str) -> Result<Location, Fault>,
) -> Result<(), CompileError> {
    let Some(Json::String(reference)) = reader.value(keyword) else {
        return Err(reader.malformed(keyword, "a string"));
    };
    reader.nodes.charge(reader.location.steps() + reference.len() as u64)?;
    let target = resolve(&reader.nodes.documents, reader.location, reference).map_err(|fault| {
        reader.unsupported(keyword, format!("{reference:?}: {}", fault.reason)).advising(fault.help)
    })?;
    let target = reader.nodes.node(target)?;
    reader.push(keyword, Keyword::AllOf(Rc::new([target])));
    Ok(())
}

fn types(reader: &mut Reader<'_, '_>) -> Result<(), CompileError> {
    let names = match reader.value("type") {
        Some(Json::String(name)) => vec![name.clone()],
        Some(list @ Json::Array(_)) => reader.strings("type", Some(list))?.to_vec(),
        _ => return Err(reader.malformed("type", "a name or a list of names")),
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
            "any" if reader.draft() == Draft::Draft4 => Types::ALL,
            _ => {
                let reason = format!("{name:?} is no type");
                let help = match near(name, TYPES.into_iter()) {
                    Some(near) => format!("Did you mean {near:?}?"),
                    None => format!("The types are {}.", TYPES.join(", ")),
                };
                return Err(reader.refuse(RefusalKind::Malformed, "type", reason).advising(help));
            }
        });
    }
    // OpenAPI 3.0.4, section 4.7.24.1: it adds null to the type beside it.
    if reader.dialect.has("nullable") && reader.value("nullable") == Some(&Json::Bool(true)) {
        types = types.or(Types::NULL);
    }
    reader.push("type", Keyword::Types { types, plain_integers: reader.draft() == Draft::Draft4 });
    Ok(())
}
