//! Why a matcher cannot be made or does not take a step, and why a batch, a chain or a tree cannot be filled.

use gobo_types::{Digest, ErrorKind, TokenId, VocabularyDigest};

/// Why a matcher cannot be made, or did not take a step. Its state is unchanged.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::MatcherError;
///
/// # let mut matcher = small::matcher();
/// let before = matcher.state();
/// let error = matcher.advance(1).unwrap_err();
/// assert_eq!(error, MatcherError::Refused { id: 1 });
/// assert_eq!(matcher.state(), before);
/// ```
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
    /// The stack is deeper than the matcher's limit: the text has no mask, and does not go on.
    #[error("the stack has {frames} frames, more than the limit of {limit}")]
    StackDepth {
        /// The limit.
        limit: u32,
        /// Frames of the deepest stack.
        frames: u32,
    },
    /// The stacks of the text have more nodes than the matcher's limit: it has no mask, and does not go on.
    #[error("the stacks of the text have {nodes} nodes, more than the limit of {limit}")]
    StackNodes {
        /// The limit.
        limit: u32,
        /// Nodes of the text.
        nodes: usize,
    },
    /// More bytes taken back than a matcher begins with.
    #[error("a prefix of {given} bytes, the limit is {limit}")]
    PrefixLength {
        /// Bytes given.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// A text that begins inside of a token cannot be told exactly.
    #[error(
        "no token is the byte 0x{byte:02x} alone, so it is not known which tokens may lead into a text that begins inside of one"
    )]
    PrefixByte {
        /// The byte.
        byte: u8,
    },
    /// The index is canonical, and the vocabulary file has the tables of no encoder, or of another one.
    #[error("the index belongs to encoder {expected}, and the vocabulary file has the tables of {found}")]
    OtherEncoder {
        /// The encoder of the index.
        expected: Digest,
        /// That of the vocabulary file; zero for none.
        found: Digest,
    },
    /// Text that did not come as tokens can be cut in too many ways that the tokenizer may still mean: give its tokens.
    #[error("the text can be cut into tokens in more than {limit} ways that may become the tokenizer's own")]
    Readings {
        /// The limit.
        limit: usize,
    },
    /// A canonical index takes no prefix, unless it was compiled for texts behind a prompt.
    #[error(
        "under an index of the tokenization canonical a text cannot begin inside of a token; canonical-strict and canonical-heal let it"
    )]
    CanonicalPrefix,
    /// The tokenizer would have written the prompt by other tokens.
    #[error(
        "token {id}, number {at} of the prompt, is not what the tokenizer would have written there; give the tokens since the last special one, or leave the prompt out"
    )]
    Prompt {
        /// Its place in the prompt, from 0.
        at: usize,
        /// The token.
        id: TokenId,
    },
    /// The tokenizer would write no text of the constraint behind the prompt.
    #[error(
        "the tokenizer would write no text of the constraint behind this prompt: it would merge the two, or end a chunk elsewhere"
    )]
    NothingFollows,
    /// The last chunk of the prompt may turn out to be a word that the tokenizer writes as one token that no merges make, and end there.
    #[error(
        "behind this prompt a text may end a word that the tokenizer writes as one token that no merges make; leave the prompt out"
    )]
    StuckWord,
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
            Self::StackDepth { .. } | Self::StackNodes { .. } => ErrorKind::Limit,
            _ => ErrorKind::Invalid,
        }
    }
}

/// Why a batch cannot be filled: nothing was written.
///
/// ```
/// use gobo_artifact::{BatchError, Matcher, fill_batch};
///
/// let error = fill_batch::<Matcher>(&[], &mut [0], 1, 1, &mut []);
/// assert_eq!(error, Err(BatchError::Matrix { given: 1, rows: 0, row_stride_words: 1 }));
/// ```
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
    /// There is not one result for each matcher.
    #[error("there is room for the results of {given} fills, of {expected} matchers")]
    Fills {
        /// Places given.
        given: usize,
        /// Matchers given.
        expected: usize,
    },
    /// There is not one row for each matcher.
    #[error("{given} rows are named, for {expected} matchers")]
    Rows {
        /// Rows named.
        given: usize,
        /// Matchers given.
        expected: usize,
    },
    /// The matrix does not have this row.
    #[error("row {row} is named, and the matrix has {rows} rows")]
    Beyond {
        /// The row.
        row: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// A row has two masks to hold.
    #[error("row {row} is named twice")]
    Twice {
        /// The row.
        row: usize,
    },
}

impl BatchError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

/// Why a chain or a tree of drafts cannot be filled: nothing was written.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::DraftError;
///
/// # let matcher = small::matcher();
/// // A mask here, and one after each of two drafts.
/// let error = matcher.fill_chain(&[0, 1], &mut [0; 2], 1).unwrap_err();
/// assert_eq!(error, DraftError::Matrix { given: 2, rows: 3, row_stride_words: 1 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// A row is shorter than a mask.
    #[error("a row has {given} words, and a mask of this binding {expected}")]
    Row {
        /// Words from one row to the next.
        given: usize,
        /// Words of a mask.
        expected: usize,
    },
    /// The matrix has no row for each mask.
    #[error("the matrix has {given} words, too few for {rows} rows of {row_stride_words}")]
    Matrix {
        /// Words given.
        given: usize,
        /// Rows needed.
        rows: usize,
        /// Words from one row to the next.
        row_stride_words: usize,
    },
    /// The arrays of a tree do not have one length, or there is no root.
    #[error(
        "a tree needs one token, one first child and one next sibling for each node, and a root: given are {tokens} tokens, \
         {first_children} first children and {next_siblings} next siblings"
    )]
    Lengths {
        /// Tokens given.
        tokens: usize,
        /// First children given.
        first_children: usize,
        /// Next siblings given.
        next_siblings: usize,
    },
    /// A link of a tree leads to no node.
    #[error("node {node} leads to {link}, which is neither one of the {nodes} nodes nor -1 for none")]
    Link {
        /// The node that has the link.
        node: usize,
        /// The link.
        link: i64,
        /// Number of nodes.
        nodes: usize,
    },
    /// The root of a tree has a sibling.
    #[error("node 0 is the root, and {sibling} is given as its next sibling")]
    RootSibling {
        /// The link.
        sibling: i64,
    },
    /// Two links lead to one node, or a link leads back.
    #[error("node {node} is reached twice")]
    Twice {
        /// The node.
        node: usize,
    },
    /// The token of a node is no token id.
    #[error("the token of node {node} is {token}, which is no token id")]
    Token {
        /// The node.
        node: usize,
        /// What was given.
        token: i64,
    },
}

impl DraftError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
