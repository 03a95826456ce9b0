//! Ids, digests, keys, constraints, limits, verdicts, a bounded memo table and parallel work, shared by gobo's crates.
//!
//! Nothing here does I/O. A type belongs here when two crates that must not know each other both need it.
#![forbid(unsafe_code)]

mod beside;
mod binding;
mod byte_set;
mod compile;
mod constraint;
mod dense_id;
mod digest;
mod error_kind;
mod key;
mod recent;
mod table;
mod text;
mod transition;

pub use beside::beside;
pub use binding::Binding;
pub use byte_set::ByteSet;
pub use compile::{
    Budget, CompileError, CompileLimits, IsOutOfTime, Limit, OverBudget, Phase, PhaseTime, Refusal,
    RefusalKind, Report, ReportEntry, Span,
};
pub use constraint::{
    AnyDialect, Constraint, DEFAULT_START, DateTimes, Dialect, DialectError, Draft, FormatMode,
    GrammarDocument, IdRange, Indentation, IndentationError, JsonNesting, Lexer, LexerError, LookAhead,
    LookAheadError, MatchMode, NamedClass, NamedClasses, Notation, NumberForm, PropertyOrder, RegexDialect,
    RegexDialectError, RestoreError, SchemaDialect, SchemaDocument, SchemaOptionError, SchemaOptions, Source,
    SpecialText, SpecialTextError, Spelling, TextStart, Tokenization, TokenizationError, Whitespace,
    WhitespaceError, compact_json,
};
pub use dense_id::{DenseId, checked_u32};
pub use digest::{ArtifactDigest, ConstraintDigest, Digest, IndexKey, ParseDigestError, VocabularyDigest};
pub use error_kind::{ErrorKind, error_chain, panic_message};
pub use key::{COMPILER_EPOCH, FORMAT_EPOCH, KeyHasher, SLICE_SET_EPOCH, canonical_index_key, index_key};
pub use recent::{Recent, Slot};
pub use table::Table;
pub use text::{CharCount, Clipped, LengthRange, Utf8Place, grouped, human_bytes};
pub use transition::{DEAD, NO_STEP};

/// The id of a token: its position in the model's logits.
pub type TokenId = u32;
