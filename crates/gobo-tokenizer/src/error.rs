//! Why a tokenizer file cannot be imported.

use std::path::{Path, PathBuf};

use gobo_types::{ErrorKind, TokenId};
use gobo_vocab::VocabError;

use crate::problem::{BinaryProblem, MergeProblem, RankProblem};
use crate::role::TokenRole;

/// Why a tokenizer file cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder without a tokenizer.
    #[error(
        "the folder {} contains no tokenizer.json, nor tekken.json, tokenizer.model or spiece.model",
        path.display()
    )]
    NoTokenizer {
        /// The folder.
        path: PathBuf,
    },
    /// More bytes than [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES).
    #[error("{} is larger than {limit_bytes} bytes, the limit for a tokenizer file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The placeholder that Git leaves where a large file was not downloaded.
    #[error("{} is a Git-LFS pointer, not the file itself; hint: fetch it with `git lfs pull`", path.display())]
    LfsPointer {
        /// The file.
        path: PathBuf,
    },
    /// Neither JSON nor ranks nor any other tokenizer format known by name.
    #[error("{} is not a tokenizer file: neither a tokenizer.json nor .tiktoken ranks", path.display())]
    Unrecognized {
        /// The file.
        path: PathBuf,
    },
    /// A binary file, or text in another encoding.
    #[error("{} is not UTF-8 text: wrong byte at offset {offset}", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Where the first wrong byte is.
        offset: usize,
        /// What is wrong with it.
        source: std::str::Utf8Error,
    },
    /// The JSON stops in the middle.
    #[error("{} is truncated: it ends after {length_bytes} bytes, inside a value", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How long the file is.
        length_bytes: usize,
        /// What the parser was reading, with line and column.
        source: serde_json::Error,
    },
    /// A syntax error.
    #[error("{} is not JSON from offset {offset} on", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// Byte offset of the error.
        offset: usize,
        /// What the parser expected, with line and column.
        source: serde_json::Error,
    },
    /// JSON, and not of the form that a `tokenizer.json` has: a missing or repeated field, a value of a wrong type.
    #[error("{} does not have the form of a tokenizer.json, at offset {offset}", path.display())]
    WrongShape {
        /// The file.
        path: PathBuf,
        /// Byte offset after the wrong value.
        offset: usize,
        /// Expected and found, with line and column.
        source: serde_json::Error,
    },
    /// A tokenizer of an unsupported kind.
    #[error(
        "{} is a tokenizer of the kind {kind}, which is not supported; supported are byte-level BPE, \
         byte-fallback BPE, Unigram and WordPiece (tokenizer.json), tekken.json, SentencePiece BPE and Unigram \
         (.model), GGUF gpt2 and llama, and tiktoken ranks",
        path.display()
    )]
    UnsupportedKind {
        /// The file.
        path: PathBuf,
        /// The kind, in the file's own word where it has one.
        kind: String,
    },
    /// JSON or metadata with a field whose value is missing, of a wrong type or out of range.
    #[error("{}: the field {field} is {found}, expected {expected}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, with the names of those around it: `text_config.vocab_size`.
        field: String,
        /// The value found.
        found: String,
        /// The possible values.
        expected: &'static str,
    },
    /// One text twice among the keys of the vocabulary.
    #[error("{}: the token {token:?} stands twice in the vocabulary, as id {first} and as id {second}", path.display())]
    DuplicateToken {
        /// The file.
        path: PathBuf,
        /// The token's text in the file.
        token: String,
        /// Its id where it stands first.
        first: TokenId,
        /// Its id where it stands again.
        second: TokenId,
    },
    /// One id for two tokens.
    #[error("{}: id {id} is given twice, to {first:?} and to {second:?}", path.display())]
    DuplicateId {
        /// The file.
        path: PathBuf,
        /// The id.
        id: TokenId,
        /// The text of the token that has it first.
        first: String,
        /// The text of the other.
        second: String,
    },
    /// An id that no vocabulary can have.
    #[error("{}: token {token:?} has id {id}; ids end below {limit}", path.display())]
    IdTooLarge {
        /// The file.
        path: PathBuf,
        /// The token's text in the file.
        token: String,
        /// The id.
        id: u64,
        /// Number of ids that a vocabulary can have.
        limit: u64,
    },
    /// A token of a byte-level vocabulary with a character that stands for no byte.
    #[error("{}: token {id}, {token:?}, has {character:?}, which is not in the byte-level alphabet", path.display())]
    OutsideAlphabet {
        /// The file.
        path: PathBuf,
        /// The id.
        id: TokenId,
        /// The token's text in the file.
        token: String,
        /// The first character outside.
        character: char,
    },
    /// An impossible merge of a BPE model. Merges are no part of the vocabulary, but no tokenizer loads such a file.
    #[error("{}: merge {position}, {merge}, is impossible", path.display())]
    Merge {
        /// The file.
        path: PathBuf,
        /// Its position among the merges, from 0.
        position: usize,
        /// The merge, as text.
        merge: String,
        /// What is wrong with it.
        source: MergeProblem,
    },
    /// A list longer than any vocabulary.
    #[error("{}: the field {field} has {given} entries, the limit is {limit}", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// How many entries it has.
        given: u64,
        /// The limit.
        limit: u64,
    },
    /// A token, or a table of tokens, that no vocabulary can hold.
    #[error("{} does not make a vocabulary", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// Which token, and why.
        source: VocabError,
    },
    /// A binary file that contradicts its beginning.
    #[error("{} is damaged at offset {offset}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Byte offset of the value that is wrong.
        offset: u64,
        /// What is wrong with it.
        source: BinaryProblem,
    },
    /// A line of a rank file.
    #[error("{}, line {line}, is not a token with its rank", path.display())]
    Rank {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: RankProblem,
    },
    /// A list of special tokens given for a file that names its special tokens itself.
    #[error("{} names its special tokens itself; a list of them goes with .tiktoken ranks only", path.display())]
    OwnSpecialTokens {
        /// The tokenizer file.
        path: PathBuf,
    },
    /// A name for a token with a role that no special or added token has.
    #[error(
        "{} names {name:?} as {role} token, and no special or added token of the tokenizer is called so",
        path.display()
    )]
    UnknownName {
        /// The file that names it, or the tokenizer if an option names it.
        path: PathBuf,
        /// The role.
        role: TokenRole,
        /// The name.
        name: String,
    },
    /// An added token of `tokenizer_config.json` that contradicts the tokenizer file.
    #[error(
        "{}: the added token {token:?} has id {id}, where {} has {found}; hint: the tokenizer file imported by its \
         own path leaves the configuration out",
        path.display(), tokenizer.display()
    )]
    Contradiction {
        /// The `tokenizer_config.json`.
        path: PathBuf,
        /// The tokenizer file.
        tokenizer: PathBuf,
        /// The id in the configuration.
        id: TokenId,
        /// The token's text there.
        token: String,
        /// The token of the tokenizer file with that id, or the id under which it has the text.
        found: String,
    },
    /// A model's configuration with fewer logits than its tokenizer has ids: some added tokens have no logit.
    #[error(
        "{}: vocab_size is {vocab_size}, but the highest id of the tokenizer makes {vocabulary_length}; \
         hint: give the number of logits that the model puts out with --logits-width",
        path.display()
    )]
    ConfigTooSmall {
        /// The `config.json`.
        path: PathBuf,
        /// Its number of logits.
        vocab_size: u32,
        /// The highest id of the tokenizer + 1.
        vocabulary_length: u32,
    },
    /// The id of a token with a role outside the logits.
    #[error("{}: the {role} id {id} is not below the logits width {logits_width}", path.display())]
    BeyondWidth {
        /// The file.
        path: PathBuf,
        /// The role of the token.
        role: TokenRole,
        /// The id.
        id: TokenId,
        /// The width.
        logits_width: u32,
    },
    /// Fewer logits than ids.
    #[error("{}: a logits width of {logits_width} is less than the vocabulary length {vocabulary_length}", path.display())]
    WidthTooSmall {
        /// The file.
        path: PathBuf,
        /// The requested width.
        logits_width: u32,
        /// The highest id + 1.
        vocabulary_length: u32,
    },
}

impl ImportError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            Self::Read { .. } => ErrorKind::Busy,
            Self::NoTokenizer { .. } => ErrorKind::NotFound,
            Self::UnsupportedKind { .. } => ErrorKind::Unsupported,
            Self::TooLarge { .. }
            | Self::IdTooLarge { .. }
            | Self::TooMany { .. }
            | Self::Binary { source: BinaryProblem::TooMany { .. }, .. }
            | Self::Rank { source: RankProblem::TooLarge { .. }, .. } => ErrorKind::Limit,
            Self::Token { source, .. } => source.kind(),
            Self::LfsPointer { .. }
            | Self::Unrecognized { .. }
            | Self::NotText { .. }
            | Self::Truncated { .. }
            | Self::NotJson { .. }
            | Self::WrongShape { .. }
            | Self::Field { .. }
            | Self::DuplicateToken { .. }
            | Self::DuplicateId { .. }
            | Self::OutsideAlphabet { .. }
            | Self::Merge { .. }
            | Self::OwnSpecialTokens { .. }
            | Self::UnknownName { .. }
            | Self::Contradiction { .. }
            | Self::BeyondWidth { .. }
            | Self::ConfigTooSmall { .. }
            | Self::WidthTooSmall { .. }
            | Self::Binary { .. }
            | Self::Rank { .. } => ErrorKind::Invalid,
        }
    }

    /// The error for bytes that are not UTF-8.
    pub(crate) fn not_text(path: &Path, source: std::str::Utf8Error) -> Self {
        Self::NotText { path: path.into(), offset: source.valid_up_to(), source }
    }

    /// The error for an unknown-token id beyond a vocabulary's `length`.
    pub(crate) fn unknown_beyond(path: &Path, id: u64, length: usize) -> Self {
        let found = format!("{id}, in a vocabulary of {length} pieces");
        Self::Field { path: path.into(), field: "model.unk_id".into(), found, expected: "the id of a piece" }
    }

    /// The error for what `serde_json` said of `text`.
    pub(crate) fn from_json(path: &Path, text: &str, source: serde_json::Error) -> Self {
        let path = path.to_owned();
        let offset = offset(text, source.line(), source.column());
        match source.classify() {
            serde_json::error::Category::Eof => Self::Truncated { path, length_bytes: text.len(), source },
            serde_json::error::Category::Data => Self::WrongShape { path, offset, source },
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                Self::NotJson { path, offset, source }
            }
        }
    }
}

/// The offset of a line and column, both from 1: published files are often one line of megabytes, where an editor's
/// line number helps nobody.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_bytes_over_lines() {
        assert_eq!(offset("ab\ncd\n", 1, 1), 0);
        assert_eq!(offset("ab\ncd\n", 2, 2), 4);
        assert_eq!(offset("", 1, 0), 0);
        assert_eq!(offset("ab", 9, 9), 2);
    }
}
