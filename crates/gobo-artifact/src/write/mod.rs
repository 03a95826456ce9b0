//! Writes files: for compilers, and for tools that make files of their own. It needs the feature `write`, which an inference
//! worker does without.
//!
//! ```
//! use gobo_artifact::Index;
//! use gobo_artifact::layout::{NO_STEP, SharedRows};
//! use gobo_artifact::write::{IndexParts, RowEncoder, write_index};
//! use gobo_types::{Constraint, Report, VocabularyDigest, index_key};
//!
//! // The index of the pattern `a` over a vocabulary whose only token is `a`: state 0 is dead, 1 the start, 2 the end.
//! let (vocabulary, constraint) = (VocabularyDigest::from([7; 32]), Constraint::regex("a"));
//! let mut rows = RowEncoder::new(SharedRows::none(1));
//! let (only_a, nothing) = (rows.push(&[1]) as u32, rows.push(&[0]) as u32);
//! let mut byte_classes = [0; 256];
//! byte_classes[usize::from(b'a')] = 1;
//! let (bytes, _digest) = write_index(&IndexParts {
//!     key: index_key(&vocabulary, &constraint.digest()),
//!     vocabulary_digest: vocabulary,
//!     vocabulary_len: 1,
//!     constraint_digest: constraint.digest(),
//!     constraint_kind: "regex",
//!     constraint_text: "a",
//!     constraint_options: &constraint.options_json(),
//!     report: &Report::default(),
//!     start: 1,
//!     byte_classes: &byte_classes,
//!     classes: 2,
//!     // One row of transitions for state 1; the others have the row of the dead state.
//!     row_of: &[0, 1, 0],
//!     deltas: &[NO_STEP, NO_STEP, NO_STEP, 1],
//!     states: &[(None, false), (Some(only_a), false), (Some(nothing), true)],
//!     rows: &rows,
//!     row_computations: 2,
//!     calls: None,
//!     tokens: None,
//!     canonical: None,
//! });
//! let index = Index::from_bytes(&bytes)?;
//! index.verify()?;
//! assert!(index.is_complete(index.next_state(index.start(), b'a')));
//! # Ok::<(), gobo_artifact::ArtifactError>(())
//! ```

mod calls;
mod encoder;
mod file;
mod index;
mod rows;
mod transitions;
mod vocabulary;

pub use calls::{CallParts, DistancePart, ReturnPart};
pub use encoder::EncoderParts;
pub use file::ArtifactWriter;
pub use index::{BorderParts, CanonicalPart, IndexParts, TokenClassPart, write_index};
pub use rows::RowEncoder;
pub use vocabulary::{SliceParts, VocabularyParts, write_vocabulary};
