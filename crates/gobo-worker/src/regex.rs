//! Regular expressions of each dialect as languages, and sets of texts that several of them make.

use gobo_automata::Language;
use gobo_grammar::regex::{python_regex, rust_regex};
use gobo_schema::ecma_regex;
use gobo_types::{Budget, CompileError, MatchMode, NamedClasses, RefusalKind, RegexDialect, ReportEntry};

/// The texts that a pattern matches, which may name classes of tokens, all of the patterns of the first list, and none of the second one.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern, or names one of the others; [`CompileError::OverBudget`].
pub(crate) fn language(
    (pattern, classes): (&str, &NamedClasses),
    mode: MatchMode,
    dialect: RegexDialect,
    (and, not): (&[String], &[String]),
    budget: &Budget,
) -> Result<Language, CompileError> {
    let read = |pattern: &str| match dialect {
        RegexDialect::Rust => rust_regex(pattern, mode, classes, budget),
        RegexDialect::Ecma => ecma_regex(pattern, mode, budget),
        RegexDialect::Python => python_regex(pattern, mode, budget),
    };
    let mut parts = vec![read(pattern)?];
    if and.is_empty() && not.is_empty() {
        return Ok(parts.remove(0));
    }
    for (field, others) in [("and", and), ("not", not)] {
        for (number, other) in (1..).zip(others) {
            parts.push(read(other).map_err(|error| placed(error, field, number))?);
        }
    }
    if parts.iter().any(Language::has_token_sets) {
        let reason = "a pattern that reads tokens has no other patterns beside it";
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole regex", reason));
    }
    let must = 1 + and.len();
    let holds = |is_in: &[bool]| is_in[..must].iter().all(|&is_in| is_in) && !is_in[must..].contains(&true);
    Language::combine(&parts.iter().collect::<Vec<_>>(), holds, budget)
}

/// A refusal of one of the other patterns, which are numbered in their order in the alphabet.
fn placed(error: CompileError, field: &str, number: usize) -> CompileError {
    let CompileError::Refused(mut refusal) = error else { return error };
    refusal.place = format!("{field} {number}, {}", refusal.place).into();
    refusal.span = None;
    CompileError::Refused(refusal)
}

/// What the report says of the options.
pub(crate) fn options(dialect: RegexDialect, and: usize, not: usize) -> Vec<ReportEntry> {
    let mut entries = Vec::new();
    if dialect != RegexDialect::default() {
        entries.push(ReportEntry::whole("dialect", dialect.name()));
    }
    for (name, count) in [("and", and), ("not", not)] {
        if count > 0 {
            let verb = if name == "and" { "all" } else { "none" };
            entries.push(ReportEntry::whole(name, format!("{verb} of {count} other patterns")));
        }
    }
    entries
}
