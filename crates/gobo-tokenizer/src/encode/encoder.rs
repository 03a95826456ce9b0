//! The tokenizer's own encoder and decoder, by the `tokenizers` and `tiktoken` libraries.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};

use gobo_types::{ErrorKind, TokenId};
use tokenizers::Tokenizer;

use crate::builtin::Encoding;
use crate::formats::{Content, SourceFile, gguf, ranks, sentence_piece, tekken};
use crate::{Files, ImportError};

const LIBRARY: &str = "the tokenizers library, with the file itself";
const TIKTOKEN: &str = "the tiktoken library, with its own ranks";

/// A tokenizer's own encoder, and its decoder. One value may serve many threads.
pub struct Encoder {
    inner: Inner,
    judge: &'static str,
    /// Ids that a folder's configuration adds, whether or not the tokenizer file has them.
    added: BTreeSet<TokenId>,
}

enum Inner {
    HuggingFace(Box<Tokenizer>),
    Tiktoken(Encoding),
}

/// Why there is no encoder, or it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The file cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The `tokenizers` library refuses the file, although its vocabulary may be readable: broken merges, unknown
    /// parts.
    #[error("{} does not make a working tokenizer", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The error of the library.
        source: tokenizers::Error,
    },
    /// The `tokenizers` library failed on a text.
    #[error("the tokenizer failed on a text of {text_bytes} bytes")]
    HuggingFace {
        /// Length of the text with its sentinel.
        text_bytes: usize,
        /// The error of the library.
        source: tokenizers::Error,
    },
    /// The split regex gave up on a text.
    #[error("the split regex gave up on a text of {text_bytes} bytes")]
    Split {
        /// Length of the text with its sentinel.
        text_bytes: usize,
        /// The error of the library.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl EncodeError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Import(source) => source.kind(),
            Self::Load { .. } | Self::HuggingFace { .. } => ErrorKind::Invalid,
            Self::Split { .. } => ErrorKind::Limit,
        }
    }
}

impl Encoder {
    /// The encoder of the tokenizer at `path`, found as by [`import`](crate::import). Builds hash tables of all
    /// tokens and merges: up to some seconds for the largest files.
    ///
    /// A `tokenizer.json` is loaded by the `tokenizers` library as it is, and the ranks of a built-in encoding by `tiktoken`.
    /// For every other source `tokenizers` gets a surrogate, made from the file's own texts and merges, ranks or scores;
    /// [`Encoder::judge`] says so. It may cut texts into other tokens than the model's own tokenizer, for example if a file
    /// does not say how texts are split first; the bytes of ids do not depend on it.
    ///
    /// # Errors
    /// [`EncodeError::Import`] if the file cannot be read; [`EncodeError::Load`] if `tokenizers` refuses it.
    pub fn open(path: &Path) -> Result<Self, EncodeError> {
        let files = Files::read(path)?;
        let added = files.folder()?.added.iter().flat_map(|(_, added)| added.keys().copied()).collect();
        let SourceFile { path, content } = files.source()?;
        let (json, judge) = match content {
            Content::HuggingFace(text) => (text.to_owned(), LIBRARY),
            Content::Ranks(text) => {
                let tokens = ranks::parse(&path, text)?;
                if let Some(encoding) = Encoding::with_ranks(&tokens) {
                    return Ok(Self { inner: Inner::Tiktoken(encoding), judge: TIKTOKEN, added });
                }
                let judge = "the tokenizers library, with the file's ranks; texts are split as for GPT-2, since the \
                             file does not say how";
                (ranks::surrogate(tokens).to_string(), judge)
            }
            Content::Tekken(text) => (
                tekken::surrogate(&path, text)?.to_string(),
                "the tokenizers library, with the file's ranks and pattern",
            ),
            Content::Gguf(bytes) => {
                let judge = "the tokenizers library, with the file's tokens and merges or scores; texts are split as \
                             for GPT-2, since the file does not say how";
                (gguf::surrogate(&path, bytes)?.to_string(), judge)
            }
            Content::SentencePiece(bytes) => (
                sentence_piece::surrogate(&path, bytes)?.to_string(),
                "the tokenizers library, with the file's pieces and scores, without its table of normalization",
            ),
        };
        match Tokenizer::from_bytes(&json) {
            Ok(tokenizer) => {
                Ok(Self { inner: Inner::HuggingFace(Box::new(whole_and_literal(tokenizer))), judge, added })
            }
            Err(source) => Err(EncodeError::Load { path, source }),
        }
    }

    /// The library that encodes and decodes, and its data, for a person.
    pub fn judge(&self) -> &'static str {
        self.judge
    }

    /// Whether `id` is only in the configuration beside the tokenizer file, and so unknown to its decoder.
    pub(super) fn is_beside(&self, id: TokenId) -> bool {
        self.added.contains(&id)
            && match &self.inner {
                Inner::HuggingFace(tokenizer) => tokenizer.id_to_token(id).is_none(),
                Inner::Tiktoken(encoding) => encoding.decode(&[id]).is_none(),
            }
    }

    /// The encoder of a built-in vocabulary, `None` if `name` is none of [`BUILTIN`](crate::BUILTIN).
    pub fn builtin(name: &str) -> Option<Self> {
        Encoding::named(name).map(|encoding| Self {
            inner: Inner::Tiktoken(encoding),
            judge: TIKTOKEN,
            added: BTreeSet::new(),
        })
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<TokenId>, EncodeError> {
        let text_bytes = text.len();
        match &self.inner {
            Inner::HuggingFace(tokenizer) => match tokenizer.encode_fast(text, false) {
                Ok(encoding) => Ok(encoding.get_ids().to_vec()),
                Err(source) => Err(EncodeError::HuggingFace { text_bytes, source }),
            },
            Inner::Tiktoken(encoding) => {
                encoding.encode(text).map_err(|source| EncodeError::Split { text_bytes, source })
            }
        }
    }

    /// The output of the source's own decoder for `ids`, special tokens by their names.
    pub(super) fn decode(&self, ids: &[TokenId]) -> Result<String, EncodeError> {
        match &self.inner {
            Inner::HuggingFace(tokenizer) => tokenizer
                .decode(ids, false)
                .map_err(|source| EncodeError::HuggingFace { text_bytes: 0, source }),
            // An unknown id writes nothing.
            Inner::Tiktoken(encoding) => {
                Ok(String::from_utf8_lossy(&encoding.decode(ids).unwrap_or_default()).into_owned())
            }
        }
    }

    /// Whether the source decodes its own encoding of `text` to `text`, perhaps but for a space before it.
    pub(super) fn gives_back(&self, text: &str) -> Result<bool, EncodeError> {
        let decoded = self.decode(&self.encode(text)?)?;
        Ok(decoded == text || decoded.strip_prefix(' ') == Some(text))
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let library = match self.inner {
            Inner::HuggingFace(_) => "tokenizers",
            Inner::Tiktoken(_) => "tiktoken",
        };
        f.debug_struct("Encoder").field("library", &library).finish_non_exhaustive()
    }
}

/// Turns off the truncation and padding of a file, and the recognition of special tokens in texts.
fn whole_and_literal(mut tokenizer: Tokenizer) -> Tokenizer {
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).expect("only a truncation to some length can be wrong");
    tokenizer.set_encode_special_tokens(true);
    tokenizer
}
