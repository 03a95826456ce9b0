//! What is wrong at one position of a file: a line of ranks, an offset of a binary file, a merge.

use std::num::ParseIntError;

/// What is wrong with a line of a rank file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RankProblem {
    /// Not two fields with one space between them.
    #[error("expected base64, one space and a number")]
    Fields,
    /// The first field is not base64.
    #[error("the token is not base64")]
    Base64(#[source] base64::DecodeError),
    /// The second field is not a number below 2^32.
    #[error("the rank is not a number")]
    Number(#[source] ParseIntError),
    /// A token without bytes.
    #[error("the token is empty")]
    Empty,
    /// A rank that no vocabulary can have.
    #[error("rank {rank} is too large; ranks end below {limit}")]
    TooLarge {
        /// The rank.
        rank: u32,
        /// Number of ids that a vocabulary can have.
        limit: u64,
    },
    /// A rank for the second time.
    #[error("rank {rank} is already given in line {first_line}")]
    DuplicateRank {
        /// The rank.
        rank: u32,
        /// The line where it stands first.
        first_line: usize,
    },
    /// The same bytes for the second time: their rank is ambiguous.
    #[error("the token {token:?} already stands in line {first_line}")]
    DuplicateToken {
        /// The bytes, lossily as text.
        token: String,
        /// The line where it stands first.
        first_line: usize,
    },
}

/// What is wrong at some offset of a binary file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryProblem {
    /// A value longer than the rest of the file, or of the message around it.
    #[error("a value of {needed_bytes} bytes, where {left_bytes} are left")]
    Truncated {
        /// Its length.
        needed_bytes: u64,
        /// Length of the rest.
        left_bytes: u64,
    },
    /// A number of more than 64 bits.
    #[error("the number has more than 64 bits")]
    Varint,
    /// A type of value that the format does not have.
    #[error("the format has no values of type {kind}")]
    ValueType {
        /// The type.
        kind: u64,
    },
    /// A string that is not UTF-8.
    #[error("the string is not UTF-8")]
    Text(#[source] std::str::Utf8Error),
    /// A type of token that the format does not have.
    #[error("the format has no tokens of type {kind}")]
    PieceKind {
        /// The type.
        kind: u64,
    },
    /// A token of type byte with another name than `<0xNN>`.
    #[error("the token {token:?} is of type byte, but not named <0xNN>")]
    ByteName {
        /// Its name.
        token: String,
    },
    /// A score that is infinite or not a number.
    #[error("the score is not a finite number")]
    Score,
    /// A token without text.
    #[error("the token has no text")]
    Nameless,
    /// More tokens, or a longer name, than any vocabulary has.
    #[error("a length of {given}, where the limit is {limit}")]
    TooMany {
        /// How many.
        given: u64,
        /// The limit.
        limit: u64,
    },
}

/// What is wrong with a merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeProblem {
    /// Neither a pair nor a text with one space in it.
    #[error("expected two tokens")]
    Form,
    /// A merge that makes a token out of itself and nothing: a cycle. There is no other cycle, because a product is longer than
    /// either part.
    #[error("a part is empty, so the merge would go on for ever")]
    EmptyPart,
    /// A part or the product is no token.
    #[error("{token:?} is not in the vocabulary")]
    UnknownToken {
        /// The text.
        token: String,
    },
    /// The same merge for the second time: its rank is ambiguous.
    #[error("it already stands at position {first}")]
    Repeated {
        /// Position of the first, from 0.
        first: usize,
    },
}
