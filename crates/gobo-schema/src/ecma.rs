use gobo_automata::Language;
use gobo_types::{Budget, CompileError, RefusalKind};

/// The texts in which a pattern of ECMA-262 matches somewhere: what JSON Schema means by `pattern`.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(crate) fn ecma(pattern: &str, _budget: &Budget) -> Result<Language, CompileError> {
    Err(CompileError::refuse(RefusalKind::Unsupported, "offset 0", format!("{pattern:?} is not read yet")))
}
