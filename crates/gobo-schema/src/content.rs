//! What small subschemas say, to be compared.

use std::fmt::Write as _;

use gobo_types::{Budget, CompileError};

use crate::document::{LISTS, MAPS, PHASE, SCHEMAS, STEPS_PER_KEYWORD};
use crate::json::Json;
use crate::keywords::KEYWORDS;

/// Longest text of a subschema that is compared with others.
const MAX_CONTENT_BYTES: usize = 1024;

/// Writes what a schema says about values, in some form that tells different ones apart; `false` if that is long, or if it has
/// an address of its own.
pub(crate) fn write_schema(schema: &Json, out: &mut String, budget: &Budget) -> Result<bool, CompileError> {
    let Json::Object(members) = schema else { return Ok(write_value(schema, out)) };
    out.push('{');
    for (key, value) in members.iter() {
        // What says nothing is skipped, however much there is of it.
        budget.charge_steps(PHASE, STEPS_PER_KEYWORD)?;
        let is_written = match value {
            _ if matches!(key.as_str(), "$id" | "id") => false,
            _ if !KEYWORDS.contains(&key.as_str()) => continue,
            Json::Object(schemas) if MAPS.contains(&key.as_str()) => {
                out.push_str(key);
                let mut is_written = true;
                for (name, schema) in schemas.iter() {
                    push_name(name, out);
                    is_written = write_schema(schema, out, budget)?;
                    if !is_written {
                        break;
                    }
                }
                is_written
            }
            Json::Array(schemas) if LISTS.contains(&key.as_str()) => {
                out.push_str(key);
                let mut is_written = true;
                for schema in schemas.iter() {
                    is_written = write_schema(schema, out, budget)?;
                    if !is_written {
                        break;
                    }
                }
                is_written
            }
            Json::Object(_) if SCHEMAS.contains(&key.as_str()) => {
                out.push_str(key);
                write_schema(value, out, budget)?
            }
            _ => {
                out.push_str(key);
                write_value(value, out)
            }
        };
        out.push(';');
        if !is_written || out.len() > MAX_CONTENT_BYTES {
            return Ok(false);
        }
    }
    out.push('}');
    Ok(true)
}

/// Writes a name; of one that is too long, so much that it is seen.
fn push_name(name: &str, out: &mut String) {
    let most = name.len().min(2 * MAX_CONTENT_BYTES);
    let end = (0..=most).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    // Writing to a string does not fail.
    let _ = write!(out, "{:?}:", &name[..end]);
}

fn write_value(value: &Json, out: &mut String) -> bool {
    if out.len() > MAX_CONTENT_BYTES {
        return false;
    }
    match value {
        Json::Array(items) => {
            out.push('[');
            let is_small = items.iter().all(|item| {
                let is_small = write_value(item, out);
                out.push(',');
                is_small
            });
            out.push(']');
            is_small
        }
        Json::Object(members) => {
            out.push('<');
            let is_small = members.iter().all(|(key, value)| {
                push_name(key, out);
                let is_small = write_value(value, out);
                out.push(',');
                is_small
            });
            out.push('>');
            is_small
        }
        // It would be too long.
        Json::String(text) if text.len() > MAX_CONTENT_BYTES => false,
        scalar => write!(out, "{scalar:?}").is_ok(),
    }
}
