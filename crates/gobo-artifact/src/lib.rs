//! The file format of vocabularies and indices, their mapped reader, and the [`Matcher`].
//!
//! An inference worker links this crate alone: it holds no compiler and knows no store. The types of an inference engine stand
//! at the root. [`layout`] has the parts of a file, for compilers and tools; `write` (a feature of that name) writes files, and
//! [`file`](mod@file) opens them.
//!
//! Opening a file is O(1) and safe on any bytes; [`Index::verify`] and [`Vocabulary::verify`] read everything. The byte layout
//! is written down in `docs/FORMAT.md`.
//!
//! The loop of an inference engine, for one text:
//!
//! ```
//! # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
//! use gobo_artifact::{Fill, Matcher};
//!
//! # let (index, vocabulary, binding) = small::open(&["yes", "no", "ye", "s"], &gobo_types::Constraint::choice(["yes", "no"]));
//! # let sample = |mask: &[u32]| mask[0].trailing_zeros();
//! // Opened with `Index::open` and `Vocabulary::open`, shared by all texts. The binding is the model's: its EOS ids, its logits.
//! let mut matcher = Matcher::new(index, vocabulary, &binding)?;
//! let mut mask = vec![0; matcher.mask_words()];
//! let mut text = Vec::new();
//! while matcher.fill(&mut mask)? == Fill::Masked {
//!     // A token whose bit is set: bit `id & 31` of word `id >> 5`.
//!     let id = sample(&mask);
//!     if !matcher.binding().is_eos(id) {
//!         text.extend_from_slice(matcher.vocabulary().bytes(id));
//!     }
//!     matcher.advance(id)?;
//! }
//! assert_eq!(text, b"yes");
//! # Ok::<(), gobo_artifact::MatcherError>(())
//! ```
#![cfg_attr(not(test), deny(unsafe_code))]

#[cfg(target_endian = "big")]
compile_error!("artifacts are mapped as they lie on disk, which is little-endian");

pub mod file;
pub mod layout;
mod matcher;
mod read;
#[cfg(feature = "write")]
pub mod write;

pub use gobo_types::{Binding, TokenId};
pub use layout::error::{ArtifactError, Fault};
pub use layout::index::root::IndexClass;
pub use matcher::{
    BatchError, ByteReader, Chain, DEFAULT_MAX_ROLLBACK, DEFAULT_MAX_STACK_DEPTH, DEFAULT_MAX_STACK_NODES,
    DraftError, DraftTree, Fill, Matcher, MatcherError, fill_batch, fill_rows,
};
pub use read::borders::PromptEnd;
pub use read::index::Index;
pub use read::leaving::{Call, Leaving};
pub use read::vocabulary::Vocabulary;
