use std::path::{Path, PathBuf};

use gobo_types::{ErrorKind, TokenId, VocabularyDigest};

use crate::header::ArtifactKind;
use crate::regular::OpenError;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The operating system refused.
    #[error("cannot open {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are not what this version of gobo writes.
    #[error("{origin} is not usable")]
    Format {
        /// The file, or `bytes in memory`.
        origin: String,
        /// What is wrong with it.
        #[source]
        fault: Fault,
    },
}

/// What is wrong with the bytes of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A named pipe, a folder, a device: nothing that could hold an artifact.
    #[error("it is {found}, not a regular file")]
    NotRegular {
        /// What it is.
        found: &'static str,
    },
    /// Not an artifact at all.
    #[error("it does not begin with gobo's magic bytes")]
    Magic,
    /// Written by another version.
    #[error("it has format version {found}, this program reads version {expected}")]
    Version {
        /// In the file.
        found: u32,
        /// Of this program.
        expected: u32,
    },
    /// A vocabulary where an index was asked for, or the reverse.
    #[error("it holds {found}, not {expected}")]
    Kind {
        /// In the file.
        found: String,
        /// Asked for.
        expected: ArtifactKind,
    },
    /// The file is shorter or longer than it says.
    #[error("it has {found} bytes and should have {expected}")]
    Length {
        /// Bytes there.
        found: u64,
        /// Bytes according to the header, or needed for one.
        expected: u64,
    },
    /// The header's own checksum does not hold.
    #[error("its header does not match its checksum")]
    HeaderChecksum,
    /// A field of the header is out of its bounds.
    #[error("its header says {what}")]
    Header {
        /// The field and its value.
        what: String,
    },
    /// A section is unknown, missing, twice there, misplaced or of the wrong size.
    #[error("section {section}: {what}")]
    Section {
        /// The section's name or number.
        section: String,
        /// What is wrong.
        what: String,
    },
    /// A section does not match its digest.
    #[error("section {section} does not match its digest")]
    Digest {
        /// The section's name.
        section: &'static str,
    },
    /// The bytes are whole and mean nothing: written by a broken or hostile program.
    #[error("its content contradicts itself: {what}")]
    Meaning {
        /// Which rule is broken, and where.
        what: String,
    },
    /// The file is sound, and another one was asked for.
    #[error("it is the file of key {found}, not of {expected}")]
    Key {
        /// In the file.
        found: String,
        /// Asked for.
        expected: String,
    },
}

impl ArtifactError {
    /// Why nothing was opened at `path`.
    pub fn of_open(path: &Path, error: OpenError) -> Self {
        match error {
            OpenError::Io(source) => Self::Io { path: path.into(), source },
            OpenError::NotRegular { found } => {
                Self::Format { origin: path.display().to_string(), fault: Fault::NotRegular { found } }
            }
            OpenError::TooLong { limit_bytes } => {
                let source = std::io::Error::other(OpenError::TooLong { limit_bytes });
                Self::Io { path: path.into(), source }
            }
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            Self::Io { .. } => ErrorKind::Busy,
            Self::Format { fault: Fault::Version { .. }, .. } => ErrorKind::Version,
            Self::Format { .. } => ErrorKind::Corrupt,
        }
    }
}

/// Why a matcher cannot be made, or did not take a step. Its state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatcherError {
    /// The index was compiled for another vocabulary.
    #[error("the index belongs to vocabulary {expected}, not to {found}")]
    OtherVocabulary {
        /// The vocabulary of the index.
        expected: VocabularyDigest,
        /// The one that was given.
        found: VocabularyDigest,
    },
    /// The vocabulary is the index's, but its file holds other shared rows.
    #[error(
        "the vocabulary file was written by another version of gobo than the index: it holds other shared rows"
    )]
    OtherSharedRows,
    /// The logits are narrower than the vocabulary.
    #[error("logits of width {given} cannot hold a vocabulary of length {vocabulary_len}")]
    NarrowLogits {
        /// The width of the binding.
        given: u32,
        /// Highest id + 1.
        vocabulary_len: u32,
    },
    /// An EOS id has no logit.
    #[error("EOS id {id} lies beyond logits of width {width}")]
    EosBeyondLogits {
        /// The id.
        id: TokenId,
        /// The width of the binding.
        width: u32,
    },
    /// The mask buffer has the wrong length.
    #[error("the mask buffer has {given} words, this binding takes {expected}")]
    BufferLength {
        /// Words given.
        given: usize,
        /// Words needed.
        expected: usize,
    },
    /// The token is not allowed here.
    #[error("token {id} is not allowed here")]
    Refused {
        /// The token.
        id: TokenId,
    },
    /// A byte of the text is not allowed here.
    #[error("byte 0x{byte:02x} at offset {offset} is not allowed there")]
    RefusedByte {
        /// Offset into the given bytes.
        offset: usize,
        /// The byte.
        byte: u8,
    },
    /// The text has ended: an EOS was taken.
    #[error("the text has ended")]
    Ended,
    /// More steps to take back than are remembered.
    #[error("cannot take back {given} tokens, {available} are remembered")]
    Rollback {
        /// Asked for.
        given: usize,
        /// Remembered.
        available: usize,
    },
    /// The stack would be deeper than the matcher's limit.
    #[error("the stack would have more than {limit} frames")]
    StackDepth {
        /// The limit.
        limit: u32,
    },
    /// The text so far could be read in too many ways.
    #[error("the text can be read in more than {limit} ways")]
    Configurations {
        /// The limit.
        limit: usize,
    },
    /// The only token allowed here is one that the binding calls EOS, and the text is not complete.
    #[error("the binding takes the only allowed token for an EOS, and the text is not complete")]
    OnlyEos,
    /// The file contradicts itself; [`Index::verify`](crate::Index::verify) says where.
    #[error("the index file contradicts itself at state {state}")]
    Corrupt {
        /// The state whose row or transitions are broken.
        state: u32,
    },
}

impl MatcherError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::StackDepth { .. } | Self::Configurations { .. } => ErrorKind::Limit,
            _ => ErrorKind::Invalid,
        }
    }
}

/// Why a batch cannot be filled: nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The matrix is not one row for each matcher.
    #[error("the matrix has {given} words, which is not {rows} rows of {row_stride_words}")]
    Matrix {
        /// Words given.
        given: usize,
        /// Matchers given.
        rows: usize,
        /// Words from one row to the next.
        row_stride_words: usize,
    },
    /// There is not one place for each matcher to say what was filled.
    #[error("there is room for what {given} fills say, of {expected} matchers")]
    Fills {
        /// Places given.
        given: usize,
        /// Matchers given.
        expected: usize,
    },
}

impl BatchError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
