//! The layout of the files, for compilers and tools. `docs/FORMAT.md` is the same in words.
//!
//! A file is a header with a table of sections ([`Artifact`], [`Section`]), and sections of one kind each
//! ([`section`](mod@section)). The sections of a vocabulary are the tries and slices of its tokens, those of an index its
//! transitions, push transitions and rows.

pub(crate) mod artifact;
pub(crate) mod error;
pub(crate) mod header;
pub(crate) mod index;
pub(crate) mod kind;
pub mod section;
pub(crate) mod vocabulary;

pub use artifact::Artifact;
pub use header::{HEADER_PREFIX_BYTES, MAGIC, MAX_SECTIONS, SECTION_ENTRY_BYTES, Section};
pub use index::calls::{CallRoot, ReturnName};
pub use index::root::IndexRoot;
pub use index::row::Row;
pub use index::states::DEAD;
pub use index::transitions::NO_STEP;
pub use kind::ArtifactKind;
pub use vocabulary::encoder::{
    Chunks, Encoder, EncoderRoot, MAX_CHUNK_STEPS, MAX_READINGS, NO_CHUNK, NO_WORD, WORD_ENDS, Words,
};
pub use vocabulary::merges::{Cut, Merges, NO_POSITION, NO_TOKEN, SpineToken};
pub use vocabulary::root::VocabularyRoot;
#[cfg(feature = "write")]
pub use vocabulary::shared_rows::SharedRows;
pub use vocabulary::slice::{MAX_SLICES, Slice};
pub use vocabulary::slice_tables::SLICE_LENGTHS;
pub use vocabulary::token_bytes::{begins_inside, count_chars, vocabulary_digest};
pub use vocabulary::trie::{Prefixes, Trie, TrieNode};
