//! Keywords for arrays (JSON Schema 2020-12, Core, sections 10.3.1 and 11.2; Validation, section 6.4).

use std::rc::Rc;

use gobo_types::{CompileError, Draft, RefusalKind};

use super::reader::Reader;
use crate::read::node::{Keyword, NodeId, TRUE};
use crate::read::value::Json;

/// Reads a keyword for arrays; `false` if it is none.
pub(super) fn read(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<bool, CompileError> {
    match keyword {
        "items" | "prefixItems" | "additionalItems" => items(reader, keyword)?,
        "minItems" => {
            let min = reader.count(keyword)?;
            reader.push(keyword, Keyword::ItemCount { min, max: None });
        }
        "maxItems" => {
            let max = reader.count(keyword)?;
            reader.push(keyword, Keyword::ItemCount { min: 0, max: Some(max) });
        }
        "contains" => {
            let item = reader.schema(&[keyword])?;
            let counts = reader.dialect.has("minContains");
            let min = if counts && reader.value("minContains").is_some() {
                reader.count("minContains")?
            } else {
                1
            };
            let max = if counts && reader.value("maxContains").is_some() {
                Some(reader.count("maxContains")?)
            } else {
                None
            };
            let evaluates = reader.draft() >= Draft::Draft202012;
            reader.push(keyword, Keyword::Contains { item, min, max, evaluates });
        }
        "minContains" | "maxContains" => {
            if reader.value("contains").is_none() {
                reader.annotation(keyword, "without contains it says nothing");
            }
        }
        "uniqueItems" => match reader.value(keyword) {
            Some(Json::Bool(true)) => reader.push(keyword, Keyword::Unique),
            Some(Json::Bool(false)) => {}
            _ => return Err(reader.malformed(keyword, "a boolean")),
        },
        "unevaluatedItems" => {
            let schema = reader.schema(&[keyword])?;
            reader.push(keyword, Keyword::UnevaluatedItems(schema));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Up to draft 2019-09, `items` may be a list, and `additionalItems` applies after it; later the list is `prefixItems`.
fn items(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    let is_new = reader.draft() >= Draft::Draft202012;
    let is_list = matches!(reader.value("items"), Some(Json::Array(_)));
    if is_new && is_list {
        let reason = "a list of schemas is prefixItems in draft 2020-12";
        return Err(reader.refuse(RefusalKind::Malformed, "items", reason).advising(
            "Write prefixItems, and items for what comes after; or name the older draft in $schema (--draft, the field draft).",
        ));
    }
    let counts = match keyword {
        "prefixItems" => is_new,
        "additionalItems" => is_list && !is_new,
        _ => true,
    };
    if !counts {
        reader.annotation(keyword, "it says nothing here, by the standard");
        return Ok(());
    }
    reader.enforced.push(keyword.to_owned());
    if reader.keywords.iter().any(|part| matches!(part, Keyword::Items { .. })) {
        return Ok(());
    }
    // The meta-schemas want a schema in the list; people write none, and mean no prefix.
    let prefix = |reader: &mut Reader<'_, '_>, keyword: &str| -> Result<Rc<[NodeId]>, CompileError> {
        match reader.value(keyword) {
            None => Ok(Rc::new([])),
            Some(Json::Array(items)) if items.is_empty() => Ok(Rc::new([])),
            Some(_) => reader.list(keyword),
        }
    };
    let says_rest = reader.value(if is_list { "additionalItems" } else { "items" }).is_some();
    let (prefix, rest) = if is_list {
        (prefix(reader, "items")?, reader.schema_if_any("additionalItems", TRUE)?)
    } else {
        let prefix = if is_new { prefix(reader, "prefixItems")? } else { Rc::new([]) };
        (prefix, reader.schema_if_any("items", TRUE)?)
    };
    reader.keywords.push(Keyword::Items { prefix, rest, says_rest });
    Ok(())
}
