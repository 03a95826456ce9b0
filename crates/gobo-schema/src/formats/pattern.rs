//! Formats as regular expressions.

use gobo_automata::Language;
use gobo_types::{Budget, CompileError, MatchMode};

/// The texts that match a pattern as a whole.
pub(super) fn regex(pattern: &str, budget: &Budget) -> Result<Language, CompileError> {
    Language::regex(pattern, MatchMode::Full, budget)
}

/// Any text.
pub(super) fn any(budget: &Budget) -> Result<Language, CompileError> {
    regex("(?s:.*)", budget)
}
