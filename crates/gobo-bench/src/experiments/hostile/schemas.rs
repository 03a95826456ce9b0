//! Schemas that are short and take long: algorithmic complexity attacks (Crosby and Wallach, USENIX Security 2003) on a
//! lowering that does not count its work for some keyword.
//!
//! Each has a number of its own in a place that matters, so that no index and no cached verdict of another answers it.
use std::fmt::Display;

use crate::args::Attack;

/// The number of parts of the schema of an attack; `None` if the attack is no schema of many parts.
pub(super) fn parts(attack: Attack) -> Option<u32> {
    Some(match attack {
        Attack::Patterns => 5_000,
        Attack::Required | Attack::AllOf => 20_000,
        Attack::ClosedProperties => 50_000,
        Attack::ConstArray => 800_000,
        Attack::OneOf => 200,
        Attack::DependentRequired => 2_000,
        _ => return None,
    })
}

/// The schema of an attack with this many parts.
pub(super) fn text(attack: Attack, parts: u32, number: u64) -> String {
    let list = |part: &dyn Fn(u32) -> String| join((0..parts).map(part));
    match attack {
        // A language for each, and their union.
        Attack::Patterns => {
            format!(
                r#"{{"type":"string","anyOf":[{}]}}"#,
                list(&|at| format!(r#"{{"pattern":"^v{number}x{at}$"}}"#))
            )
        }
        // A member for each name, none of which is declared.
        Attack::Required => {
            format!(r#"{{"type":"object","required":[{}]}}"#, list(&|at| format!(r#""r{number}x{at}""#)))
        }
        // A member for each name, and the complement of all names.
        Attack::ClosedProperties => format!(
            r#"{{"type":"object","properties":{{{}}},"additionalProperties":false}}"#,
            list(&|at| format!(r#""p{number}x{at}":true"#))
        ),
        // One text, and all of it on every path.
        Attack::ConstArray => format!(r#"{{"const":[{number}{}]}}"#, ",0".repeat(parts as usize)),
        // That no two of them hold at once is asked of every pair.
        Attack::OneOf => format!(
            r#"{{"oneOf":[{}]}}"#,
            list(&|at| format!(
                r#"{{"type":"object","properties":{{"o{number}x{at}":{{"type":"integer"}}}},"required":["o{number}x{at}"]}}"#
            ))
        ),
        // An intersection with each, one after the other.
        Attack::AllOf => format!(
            r#"{{"type":"string","minLength":{},"allOf":[{}]}}"#,
            number % 1000,
            list(&|at| format!(r#"{{"maxLength":{}}}"#, u64::from(at) + 1000 + number))
        ),
        // Each doubles the sets of properties that may occur together.
        _ => format!(
            r#"{{"type":"object","dependentRequired":{{{}}}}}"#,
            list(&|at| format!(r#""d{number}x{at}":["e{number}x{at}"]"#))
        ),
    }
}

fn join(parts: impl Iterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push(',');
        }
        text += &part.to_string();
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_schema_is_json_of_its_size_and_none_is_another() {
        for &attack in Attack::value_variants() {
            let Some(full) = parts(attack) else { continue };
            let small = text(attack, 10, 7);
            assert_ne!(small, text(attack, 10, 8), "{attack:?}");
            let schema: Value =
                serde_json::from_str(&small).unwrap_or_else(|error| panic!("{attack:?}: {error}"));
            let counts = |value: &Value| {
                value.as_array().map(Vec::len).or(value.as_object().map(serde_json::Map::len))
            };
            let most = schema.as_object().unwrap().values().filter_map(counts).max();
            // A constant array begins with the number.
            assert_eq!(most, Some(10 + usize::from(attack == Attack::ConstArray)), "{small}");
            let long = text(attack, full, 7).len();
            assert!(long < 8 << 20, "{attack:?}: a schema of {long} bytes is refused for its length alone");
        }
    }
}
