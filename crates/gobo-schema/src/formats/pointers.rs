//! UUIDs and JSON pointers.

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use super::pattern::regex;

/// `json-pointer` of RFC 6901, section 3.
const JSON_POINTER: &str = "(?:/(?:[^/~]|~[01])*)*";

/// `UUID` of RFC 4122, section 3: any version and variant.
pub(super) fn uuid(budget: &Budget) -> Result<Language, CompileError> {
    regex("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", budget)
}

pub(super) fn json_pointer(budget: &Budget) -> Result<Language, CompileError> {
    regex(JSON_POINTER, budget)
}

/// `relative-json-pointer` of draft-handrews-relative-json-pointer-01, section 3. Later drafts add the movement of an
/// array index; without it, the texts are right under each.
pub(super) fn relative_json_pointer(budget: &Budget) -> Result<Language, CompileError> {
    regex(&format!("(?:0|[1-9][0-9]*)(?:#|{JSON_POINTER})"), budget)
}
