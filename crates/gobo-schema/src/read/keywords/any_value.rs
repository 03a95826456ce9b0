//! Keywords for values of every type: references, `type`, `enum` and `const`, and the in-place applicators (JSON Schema
//! 2020-12, Core, section 10.2; Validation, section 6.1).

use std::rc::Rc;

use gobo_types::{CompileError, Draft, RefusalKind};

use super::reader::Reader;
use crate::read::documents::Documents;
use crate::read::location::{Location, refuse};
use crate::read::node::{Keyword, TRUE, Types};
use crate::read::value::{Json, ValueSet};
use crate::read::vocabulary::{ANCILLARY, ANNOTATIONS};

/// Reads a keyword for values of every type; `false` if it is none.
pub(super) fn read(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<bool, CompileError> {
    use Draft::{Draft6, Draft7, Draft201909, Draft202012};
    let draft = reader.draft;
    match keyword {
        "$ref" => reference(reader, keyword, Documents::resolve)?,
        "$dynamicRef" if draft == Draft202012 => {
            reference(reader, keyword, Documents::resolve_dynamic)?;
        }
        "$recursiveRef" if draft == Draft201909 => {
            reference(reader, keyword, |documents, from, _| documents.resolve_recursive(from))?;
        }
        "type" => types(reader)?,
        "enum" => match reader.value("enum") {
            Some(list @ Json::Array(values)) => {
                reader.nodes.charge(list.steps())?;
                reader.push("enum", Keyword::Values(Rc::new(ValueSet::new(Rc::clone(values)))));
            }
            _ => return Err(reader.malformed("enum", "a list")),
        },
        "const" if draft >= Draft6 => {
            let value = reader.value("const").cloned().unwrap_or(Json::Null);
            reader.push("const", Keyword::Values(Rc::new(ValueSet::new(Rc::new([value])))));
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
        "if" if draft >= Draft7 => {
            let condition = reader.schema(&[keyword])?;
            let then = reader.schema_if_any("then", TRUE)?;
            let otherwise = reader.schema_if_any("else", TRUE)?;
            reader.push(keyword, Keyword::If { condition, then, otherwise });
        }
        _ if ANCILLARY.contains(&keyword) || ANNOTATIONS.contains(&keyword) => {}
        "contentEncoding" | "contentMediaType" | "contentSchema" => {
            reader.annotation(keyword, "an annotation by the standard");
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A reference: the subschema that it resolves to, as the only operand of `allOf`.
fn reference(
    reader: &mut Reader<'_, '_>,
    keyword: &str,
    resolve: impl FnOnce(&Documents, &Location, &str) -> Result<Location, String>,
) -> Result<(), CompileError> {
    let Some(Json::String(reference)) = reader.value(keyword) else {
        return Err(reader.malformed(keyword, "a string"));
    };
    reader.nodes.charge(reader.location.steps() + reference.len() as u64)?;
    let target = resolve(&reader.nodes.documents, reader.location, reference)
        .map_err(|reason| reader.unsupported(keyword, format!("{reference:?}: {reason}")))?;
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
            "any" if reader.draft == Draft::Draft4 => Types::ALL,
            _ => {
                let reason = format!("{name:?} is no type");
                return Err(refuse(RefusalKind::Malformed, reader.location, "type", reason));
            }
        });
    }
    reader.push("type", Keyword::Types { types, plain_integers: reader.draft == Draft::Draft4 });
    Ok(())
}
