//! Ids, digests, key derivation, limits, error kinds, a bounded memory and work side by side, shared by gobo's crates.
//!
//! Nothing here does I/O. A type belongs here when two crates that must not know each other both need it.
#![forbid(unsafe_code)]

mod beside;
mod binding;
mod budget;
mod byte_set;
mod clipped;
mod constraint;
mod dense_id;
mod digest;
mod error;
mod key;
mod recent;
mod report;
mod restore;
mod schema;
mod table;
mod transition;

pub use beside::beside;
pub use binding::Binding;
pub use budget::{Budget, CompileLimits, IsOutOfTime, Limit};
pub use byte_set::ByteSet;
pub use clipped::Clipped;
pub use constraint::{
    Constraint, DEFAULT_START, Dialect, MatchMode, Source, TextStart, Whitespace, WhitespaceError,
};
pub use dense_id::{DenseId, checked_u32};
pub use digest::{ArtifactDigest, ConstraintDigest, Digest, IndexKey, ParseDigestError, VocabularyDigest};
pub use error::{CompileError, ErrorKind, OverBudget, Refusal, RefusalKind, error_chain};
pub use key::{COMPILER_EPOCH, FORMAT_EPOCH, KeyHasher, SLICE_SET_EPOCH, index_key};
pub use recent::{Place, Recent};
pub use report::{Report, ReportEntry};
pub use restore::RestoreError;
pub use schema::{
    Draft, FormatMode, PropertyOrder, SchemaDocument, SchemaOptionError, SchemaOptions, Spelling,
    compact_json,
};
pub use table::Table;
pub use transition::{DEAD, NO_STEP};

/// The id of a token: its position in the model's logits.
pub type TokenId = u32;
