//! Canonical texts of small subschemas: equal texts of one resource mean equal demands, so they share one node.
//!
//! Annotations are left out. A subschema with an identifier of its own, or whose text exceeds [`MAX_CONTENT_BYTES`], has
//! no canonical text and a node of its own.

use std::fmt::Write as _;

use gobo_types::{Budget, CompileError};

use crate::phase::READING;
use crate::read::value::Json;
use crate::read::vocabulary::{LISTS, MAPS, SCHEMAS, STEPS_PER_KEYWORD, says_something};

/// Maximum length of a canonical text, in bytes.
const MAX_CONTENT_BYTES: usize = 1024;

/// Writes the demands of a schema, in a form that tells different demands apart; `false` if the form is too long or the
/// schema has an identifier of its own.
pub(crate) fn write_schema(schema: &Json, out: &mut String, budget: &Budget) -> Result<bool, CompileError> {
    let Json::Object(properties) = schema else { return Ok(write_value(schema, out)) };
    out.push('{');
    for (key, value) in properties.iter() {
        // Annotations are charged too: there may be any number of them.
        budget.charge_steps(READING, STEPS_PER_KEYWORD)?;
        let is_written = match value {
            _ if matches!(key.as_str(), "$id" | "id") => false,
            _ if !says_something(key) => continue,
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

/// Writes a name, cut after as much as makes the whole too long.
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
        Json::Object(properties) => {
            out.push('<');
            let is_small = properties.iter().all(|(key, value)| {
                push_name(key, out);
                let is_small = write_value(value, out);
                out.push(',');
                is_small
            });
            out.push('>');
            is_small
        }
        // Too long.
        Json::String(text) if text.len() > MAX_CONTENT_BYTES => false,
        scalar => write!(out, "{scalar:?}").is_ok(),
    }
}
