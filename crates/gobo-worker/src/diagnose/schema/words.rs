//! Parts of a schema in the words of a message.

use serde_json::Value;

use super::document::Part;
use crate::diagnose::repetitions::list;

/// Longest value that is shown whole, in characters.
const SHOWN: usize = 40;

/// A value in short.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What a part is called: `minLength`, `required "a"`, `properties/a`; with its place if that is below `base`.
pub(super) fn name(part: &Part, root: &Value, base: &str) -> String {
    let value = root.pointer(&part.pointer).unwrap_or(&Value::Null);
    let name = match &part.entry {
        Some(_) if part.keyword == "required" => format!("required {}", short(value)),
        Some(entry) => format!("{}/{entry}", part.keyword),
        None => part.keyword.clone(),
    };
    let levels = 1 + usize::from(part.entry.is_some());
    let around = part.pointer.rsplitn(levels + 1, '/').last().unwrap_or_default();
    match around.strip_prefix(base) {
        Some("") | None => name,
        Some(below) => format!("{name} in {below}"),
    }
}

/// What a part is called, with its value.
pub(super) fn with_value(part: &Part, root: &Value, base: &str) -> String {
    let value = root.pointer(&part.pointer).unwrap_or(&Value::Null);
    let name = name(part, root, base);
    match (&part.entry, name.split_once(" in ")) {
        (Some(_), _) => name,
        (None, Some((name, below))) => format!("{name} {} in {below}", short(value)),
        (None, None) => format!("{name} {}", short(value)),
    }
}

/// Parts without the `type` of `base`, unless nothing else is there, and that type.
pub(super) fn subject<'p>(parts: &'p [Part], root: &Value, base: &str) -> (Vec<&'p Part>, String) {
    let is_type = |part: &&Part| part.keyword == "type" && part.pointer == format!("{base}/type");
    let types: Vec<&Part> = parts.iter().filter(is_type).collect();
    let others: Vec<&Part> = parts.iter().filter(|part| !is_type(part)).collect();
    match types[..] {
        [of] if !others.is_empty() => {
            let value = root.pointer(&of.pointer).unwrap_or(&Value::Null);
            (others, format!("no value of type {}", short(value)))
        }
        _ => (parts.iter().collect(), "no value".to_owned()),
    }
}

/// The sentence that no value has all of `parts`.
pub(super) fn contradiction(parts: &[Part], root: &Value, base: &str) -> String {
    let (parts, subject) = subject(parts, root, base);
    let together = if parts.len() > 1 { " together" } else { "" };
    let parts: Vec<String> = parts.into_iter().map(|part| with_value(part, root, base)).collect();
    format!("{subject} satisfies {}{together}", list(&parts))
}
