use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

/// The texts of a format.
pub(crate) struct Format {
    pub(crate) language: Language,
    pub(crate) narrowed: Option<&'static str>,
}

/// The texts of a format, if the standard names it.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn format(_name: &str, _budget: &Budget) -> Result<Option<Format>, CompileError> {
    Ok(None)
}
