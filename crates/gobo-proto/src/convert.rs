use gobo_types::{
    Binding, CompileLimits, Constraint, DEFAULT_START, Dialect, Limit, MatchMode, OverBudget, Refusal,
    RefusalKind, Report, ReportEntry, Source, TextStart, Whitespace, WhitespaceError,
};

use crate::{schema, v1};

/// A message that says nothing that could be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A field that has to be there is not, or a newer peer filled one that this version does not know.
    #[error("{field} is missing or not known to this version")]
    Missing {
        /// The field's name in the proto file.
        field: &'static str,
    },
    /// A number that is none of an enumeration's.
    #[error("{field} is {found}, which this version does not know")]
    Unknown {
        /// The field's name in the proto file.
        field: &'static str,
        /// What it was.
        found: i32,
    },
    /// A text that cannot be read.
    #[error("{field}: {reason}")]
    Malformed {
        /// The field's name in the proto file.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A digest that is not 32 bytes.
    #[error("{field} has {found} bytes, a digest has 32")]
    Digest {
        /// The field's name in the proto file.
        field: &'static str,
        /// Its length in bytes.
        found: usize,
    },
}

/// Reads a digest.
///
/// # Errors
/// [`ConvertError::Digest`] if it is not 32 bytes; `field` names it.
pub fn digest<D: From<[u8; 32]>>(field: &'static str, bytes: &[u8]) -> Result<D, ConvertError> {
    <[u8; 32]>::try_from(bytes).map(D::from).map_err(|_| ConvertError::Digest { field, found: bytes.len() })
}

impl From<&Binding> for v1::Binding {
    fn from(binding: &Binding) -> Self {
        let Binding { eos, bos, pad, logits_width } = binding;
        Self { eos: eos.clone(), logits_width: *logits_width, bos: *bos, pad: *pad }
    }
}

impl From<v1::Binding> for Binding {
    fn from(binding: v1::Binding) -> Self {
        Self { bos: binding.bos, pad: binding.pad, ..Self::new(binding.eos, binding.logits_width) }
    }
}

/// The limits of a request; what it leaves open is taken from `defaults`.
pub fn limits_or(asked: Option<v1::CompileLimits>, defaults: CompileLimits) -> CompileLimits {
    let asked = asked.unwrap_or_default();
    CompileLimits {
        max_states: asked.max_states.unwrap_or(defaults.max_states),
        max_steps: asked.max_steps.unwrap_or(defaults.max_steps),
        max_bytes: asked.max_bytes.unwrap_or(defaults.max_bytes),
    }
}

impl From<CompileLimits> for v1::CompileLimits {
    fn from(limits: CompileLimits) -> Self {
        Self {
            max_states: Some(limits.max_states),
            max_steps: Some(limits.max_steps),
            max_bytes: Some(limits.max_bytes),
        }
    }
}

impl From<&Constraint> for v1::Constraint {
    fn from(constraint: &Constraint) -> Self {
        let source = match &constraint.source {
            Source::Regex { pattern, mode } => {
                let mode = match mode {
                    MatchMode::Full => v1::MatchMode::Full,
                    MatchMode::Search => v1::MatchMode::Search,
                };
                v1::constraint::Source::Regex(v1::Regex { pattern: pattern.clone(), r#match: mode.into() })
            }
            Source::Choice { items } => v1::constraint::Source::Choice(v1::Choice { items: items.clone() }),
            Source::Grammar { dialect, grammar, start } => {
                let dialect = match dialect {
                    Dialect::Gbnf => v1::GrammarDialect::Gbnf,
                };
                v1::constraint::Source::Grammar(v1::Grammar {
                    dialect: dialect.into(),
                    grammar: grammar.clone(),
                    start: start.clone(),
                })
            }
            Source::Json { whitespace } => {
                v1::constraint::Source::Json(v1::Json { whitespace: whitespace.to_string() })
            }
            Source::Schema { schema, options } => {
                v1::constraint::Source::Schema(schema::message(schema, options))
            }
        };
        let text_start = match constraint.text_start {
            TextStart::Exact => v1::TextStart::Exact,
            TextStart::StripOneSpace => v1::TextStart::StripOneSpace,
        };
        Self { source: Some(source), text_start: text_start.into() }
    }
}

impl TryFrom<v1::Constraint> for Constraint {
    type Error = ConvertError;

    fn try_from(constraint: v1::Constraint) -> Result<Self, ConvertError> {
        let unknown = |field, error: prost::UnknownEnumValue| ConvertError::Unknown { field, found: error.0 };
        let text_start = v1::TextStart::try_from(constraint.text_start)
            .map_err(|error| unknown("constraint.text_start", error))?;
        let rule = match constraint.source {
            None => return Err(ConvertError::Missing { field: "constraint.source" }),
            Some(v1::constraint::Source::Choice(choice)) => Self::choice(choice.items),
            Some(v1::constraint::Source::Grammar(grammar)) => {
                let dialect = v1::GrammarDialect::try_from(grammar.dialect)
                    .map_err(|error| unknown("constraint.grammar.dialect", error))?;
                let start = if grammar.start.is_empty() { DEFAULT_START.to_owned() } else { grammar.start };
                match dialect {
                    v1::GrammarDialect::Gbnf => Self::gbnf(grammar.grammar, start),
                }
            }
            Some(v1::constraint::Source::Json(json)) => {
                Self::json(whitespace("constraint.json.whitespace", &json.whitespace)?)
            }
            Some(v1::constraint::Source::Schema(schema)) => schema::constraint(schema)?,
            Some(v1::constraint::Source::Regex(regex)) => {
                let mode = v1::MatchMode::try_from(regex.r#match)
                    .map_err(|error| unknown("constraint.regex.match", error))?;
                match mode {
                    v1::MatchMode::Full => Self::regex(regex.pattern),
                    v1::MatchMode::Search => Self::search(regex.pattern),
                }
            }
        };
        let text_start = match text_start {
            v1::TextStart::Exact => TextStart::Exact,
            v1::TextStart::StripOneSpace => TextStart::StripOneSpace,
        };
        Ok(Self { text_start, ..rule })
    }
}

/// Reads a whitespace policy; an empty text is the default.
pub(crate) fn whitespace(field: &'static str, text: &str) -> Result<Whitespace, ConvertError> {
    if text.is_empty() {
        return Ok(Whitespace::default());
    }
    text.parse()
        .map_err(|error: WhitespaceError| ConvertError::Malformed { field, reason: error.to_string() })
}

impl From<Refusal> for v1::Refusal {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Malformed => v1::refusal::Kind::Malformed,
            RefusalKind::Unsupported => v1::refusal::Kind::Unsupported,
            RefusalKind::Unsatisfiable => v1::refusal::Kind::Unsatisfiable,
            RefusalKind::Unspellable => v1::refusal::Kind::Unspellable,
        };
        Self { kind: kind.into(), r#where: refusal.place.into(), reason: refusal.reason.into() }
    }
}

impl TryFrom<v1::Refusal> for Refusal {
    type Error = ConvertError;

    fn try_from(refusal: v1::Refusal) -> Result<Self, ConvertError> {
        let kind = match refusal.kind() {
            v1::refusal::Kind::Malformed => RefusalKind::Malformed,
            v1::refusal::Kind::Unsupported => RefusalKind::Unsupported,
            v1::refusal::Kind::Unsatisfiable => RefusalKind::Unsatisfiable,
            v1::refusal::Kind::Unspellable => RefusalKind::Unspellable,
            v1::refusal::Kind::Unspecified => {
                return Err(ConvertError::Unknown { field: "refused.kind", found: refusal.kind });
            }
        };
        Ok(Self { kind, place: refusal.r#where.into(), reason: refusal.reason.into() })
    }
}

impl From<OverBudget> for v1::OverBudget {
    fn from(over: OverBudget) -> Self {
        let limit = match over.limit {
            Limit::MaxStates => v1::over_budget::Limit::MaxStates,
            Limit::MaxSteps => v1::over_budget::Limit::MaxSteps,
            Limit::MaxBytes => v1::over_budget::Limit::MaxBytes,
        };
        Self { limit: limit.into(), given: over.given, r#where: over.phase.into() }
    }
}

impl TryFrom<v1::OverBudget> for OverBudget {
    type Error = ConvertError;

    fn try_from(over: v1::OverBudget) -> Result<Self, ConvertError> {
        let limit = match over.limit() {
            v1::over_budget::Limit::MaxStates => Limit::MaxStates,
            v1::over_budget::Limit::MaxSteps => Limit::MaxSteps,
            v1::over_budget::Limit::MaxBytes => Limit::MaxBytes,
            v1::over_budget::Limit::Unspecified => {
                return Err(ConvertError::Unknown { field: "over_budget.limit", found: over.limit });
            }
        };
        Ok(Self { limit, given: over.given, phase: over.r#where.into() })
    }
}

impl From<Report> for v1::Report {
    fn from(report: Report) -> Self {
        let entries = |entries: Vec<ReportEntry>| entries.into_iter().map(Into::into).collect();
        Self {
            enforced: entries(report.enforced),
            narrowed: entries(report.narrowed),
            unspellable: entries(report.unspellable),
            annotations: entries(report.annotations),
            widened: entries(report.widened),
        }
    }
}

impl From<v1::Report> for Report {
    fn from(report: v1::Report) -> Self {
        let entries = |entries: Vec<v1::ReportEntry>| entries.into_iter().map(Into::into).collect();
        Self {
            enforced: entries(report.enforced),
            narrowed: entries(report.narrowed),
            unspellable: entries(report.unspellable),
            annotations: entries(report.annotations),
            widened: entries(report.widened),
        }
    }
}

impl From<ReportEntry> for v1::ReportEntry {
    fn from(entry: ReportEntry) -> Self {
        Self { pointer: entry.pointer, keyword: entry.keyword, why: entry.why }
    }
}

impl From<v1::ReportEntry> for ReportEntry {
    fn from(entry: v1::ReportEntry) -> Self {
        Self { pointer: entry.pointer, keyword: entry.keyword, why: entry.why }
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::IndexKey;

    use super::*;

    #[test]
    fn what_is_sent_is_what_is_read() {
        for constraint in [
            Constraint::regex("a|ab"),
            Constraint::search("x\0y"),
            Constraint::choice(["b", "a"]),
            Constraint::choice(Vec::<String>::new()),
        ] {
            let sent = v1::Constraint::from(&constraint);
            assert_eq!(Constraint::try_from(sent), Ok(constraint));
        }
        for kind in [
            RefusalKind::Malformed,
            RefusalKind::Unsupported,
            RefusalKind::Unsatisfiable,
            RefusalKind::Unspellable,
        ] {
            let refusal = Refusal { kind, place: "offset 3".into(), reason: "no".into() };
            assert_eq!(Refusal::try_from(v1::Refusal::from(refusal.clone())), Ok(refusal));
        }
        for limit in [Limit::MaxStates, Limit::MaxSteps, Limit::MaxBytes] {
            let over = OverBudget { limit, given: 7, phase: "rows".into() };
            assert_eq!(OverBudget::try_from(v1::OverBudget::from(over.clone())), Ok(over));
        }
    }

    #[test]
    fn nothing_is_guessed() {
        assert_eq!(
            Constraint::try_from(v1::Constraint::default()),
            Err(ConvertError::Missing { field: "constraint.source" })
        );
        let mut newer = v1::Constraint::from(&Constraint::regex("a"));
        newer.text_start = 9;
        assert!(matches!(Constraint::try_from(newer), Err(ConvertError::Unknown { found: 9, .. })));
        assert!(Refusal::try_from(v1::Refusal::default()).is_err());
        assert!(OverBudget::try_from(v1::OverBudget::default()).is_err());
        assert_eq!(
            digest::<IndexKey>("key", &[0; 31]),
            Err(ConvertError::Digest { field: "key", found: 31 })
        );
    }

    #[test]
    fn limits_left_open_are_the_defaults() {
        let defaults = CompileLimits::default();
        assert_eq!(limits_or(None, defaults), defaults);
        let asked = v1::CompileLimits { max_steps: Some(5), ..Default::default() };
        assert_eq!(limits_or(Some(asked), defaults), CompileLimits { max_steps: 5, ..defaults });
    }
}
