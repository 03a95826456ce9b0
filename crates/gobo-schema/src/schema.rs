use gobo_automata::Grammar;
use gobo_types::{Budget, CompileError, RefusalKind, Report, SchemaOptions};

/// The grammar of the texts that a schema allows, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub fn schema(
    _schema: &str,
    _options: &SchemaOptions,
    _budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    Err(CompileError::refuse(RefusalKind::Unsupported, "", "schemas are not read yet"))
}
