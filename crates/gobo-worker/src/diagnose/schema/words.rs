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
    if part.entry.is_some() {
        return name;
    }
    let value = format!("{}{}", short(value), beside(part, root));
    match name.split_once(" in ") {
        Some((name, below)) => format!("{name} {value} in {below}"),
        None => format!("{name} {value}"),
    }
}

/// The keyword whose entries a keyword takes for its exceptions, where there is one.
fn beside(part: &Part, root: &Value) -> String {
    let keyword = match part.keyword.as_str() {
        "additionalProperties" => "properties",
        "additionalItems" => "items",
        "items" => "prefixItems",
        _ => return String::new(),
    };
    let around = part.pointer.rsplit_once('/').and_then(|(around, _)| root.pointer(around));
    let entries = match around.and_then(|around| around.get(keyword)) {
        Some(Value::Object(entries)) if keyword == "properties" => entries.len(),
        Some(Value::Array(entries)) => entries.len(),
        _ => return String::new(),
    };
    format!(" beside the {entries} of {keyword}")
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
