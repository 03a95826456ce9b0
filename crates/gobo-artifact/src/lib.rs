//! The file format of vocabularies and indices: writer, mapped reader, [`Matcher`].
//!
//! This crate is all that an inference worker links: it holds no compiler and knows no store. Opening a file is O(1)
//! and safe on any bytes; [`Index::verify`] and [`Vocabulary::verify`] read everything. The byte layout is written
//! down in `docs/FORMAT.md`.
#![cfg_attr(not(test), deny(unsafe_code))]

#[cfg(target_endian = "big")]
compile_error!("artifacts are mapped as they lie on disk, which is little-endian");

mod batch;
mod calls;
mod configurations;
mod error;
mod file;
mod header;
mod index;
mod map;
mod matcher;
mod regular;
mod root;
mod row;
/// The kinds of sections and their storage, as written in the section table.
pub mod section;
mod slice;
mod stack;
mod transitions;
mod trie;
mod vocabulary;
mod writer;

pub use batch::fill_batch;
pub use calls::{CallParts, CallRoot, ReturnName, ReturnPart};
pub use configurations::{DEFAULT_MAX_STACK_DEPTH, MAX_CONFIGURATIONS};
pub use error::{ArtifactError, BatchError, Fault, MatcherError};
pub use file::Artifact;
pub use header::{
    ArtifactKind, HEADER_PREFIX_BYTES, MAGIC, MAX_SECTIONS, SECTION_ALIGN, SECTION_ENTRY_BYTES, Section,
};
pub use index::{DEAD, Index, IndexClass};
pub use map::FileState;
pub use matcher::{DEFAULT_MAX_ROLLBACK, Fill, Matcher};
pub use regular::{Links, OpenError, OpenRegular, kind_name};
pub use root::{IndexRoot, VocabularyRoot};
pub use row::{Row, RowEncoder, SharedRows};
pub use slice::{MAX_SLICES, SLICE_LENGTHS, Slice};
pub use transitions::NO_STEP;
pub use trie::{Prefixes, Trie, TrieNode};
pub use vocabulary::{Vocabulary, begins_inside, count_chars, vocabulary_digest};
pub use writer::{ArtifactWriter, IndexParts, SliceParts, VocabularyParts, write_index, write_vocabulary};

/// Bytes aligned as sections are, so that what was just written can be read in place.
pub type AlignedBytes = rkyv::util::AlignedVec<{ header::SECTION_ALIGN }>;
