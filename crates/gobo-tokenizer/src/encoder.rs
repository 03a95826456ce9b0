use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use gobo_types::{ErrorKind, TokenId};
use gobo_vocab::TokenTable;
use tiktoken_rs::CoreBPE;
use tokenizers::Tokenizer;

use crate::model_folder::ModelFolder;
use crate::source::{Content, SourceFile};
use crate::{BUILTIN, ImportError, builtin, gguf, ranks, sentence_piece, tekken};

/// Texts put before the one to encode, and cut off again, so that it is encoded as what follows a prompt: decoders
/// and prefix spaces treat the start of a text differently.
///
/// Tried in this order until one leaves a token boundary at the cut. A line feed is what comes before most answers,
/// and almost every split regex cuts behind it, except before white space; the others are for that, and for
/// vocabularies with merges across lines.
const SENTINELS: [&str; 7] = ["a\n", "a", "1", ".", "\u{2}", "\u{1f642}", "\u{4e00}"];

const LIBRARY: &str = "the tokenizers library, with the file itself";
const TIKTOKEN: &str = "the tiktoken library, with its own ranks";

/// A tokenizer's own way of cutting texts into tokens. One value may serve many threads.
pub struct Encoder {
    inner: Inner,
    judge: &'static str,
    /// Ids that a folder's configuration adds, whether or not the tokenizer file has them.
    added: BTreeSet<TokenId>,
}

enum Inner {
    HuggingFace(Box<Tokenizer>),
    Tiktoken(&'static CoreBPE),
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
        /// What the library said.
        source: tokenizers::Error,
    },
    /// The `tokenizers` library failed on a text.
    #[error("the tokenizer failed on a text of {text_bytes} bytes")]
    HuggingFace {
        /// Length of the text with its sentinel.
        text_bytes: usize,
        /// What the library said.
        source: tokenizers::Error,
    },
    /// The split regex gave up on a text.
    #[error("the split regex gave up on a text of {text_bytes} bytes")]
    Split {
        /// Length of the text with its sentinel.
        text_bytes: usize,
        /// What the library said.
        source: tiktoken_rs::EncodeError,
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
    /// A `tokenizer.json` is loaded by the `tokenizers` library as it is, and the ranks of a built-in encoding by
    /// `tiktoken`. For every other source the same library gets a model made from the file's own texts and merges, ranks
    /// or scores; [`Encoder::judge`] says so. It may cut texts into other tokens than the model's own tokenizer, for
    /// instance where a file does not say how texts are split first; what ids stand for does not depend on it.
    ///
    /// # Errors
    /// [`EncodeError::Import`] if the file cannot be read; [`EncodeError::Load`] if `tokenizers` refuses it.
    pub fn open(path: &Path) -> Result<Self, EncodeError> {
        let folder = if path.is_dir() { ModelFolder::read(path)? } else { ModelFolder::default() };
        let added = folder.added.iter().flat_map(|(_, added)| added.keys().copied()).collect();
        let SourceFile { path, content } = SourceFile::open(path)?;
        let (json, judge) = match content {
            Content::HuggingFace(text) => (text, LIBRARY),
            Content::Ranks(text) => {
                let tokens = ranks::parse(&path, &text)?;
                if let Some(encoding) = with_ranks(&tokens) {
                    return Ok(Self { inner: Inner::Tiktoken(encoding), judge: TIKTOKEN, added });
                }
                let judge = "the tokenizers library, with the file's ranks; texts are split as for GPT-2, since the \
                             file does not say how";
                (ranks::twin(tokens).to_string(), judge)
            }
            Content::Tekken(text) => (
                tekken::twin(&path, &text)?.to_string(),
                "the tokenizers library, with the file's ranks and pattern",
            ),
            Content::Gguf => {
                let judge = "the tokenizers library, with the file's tokens and merges or scores; texts are split as \
                             for GPT-2, since the file does not say how";
                (gguf::twin(&path)?.to_string(), judge)
            }
            Content::SentencePiece(bytes) => (
                sentence_piece::twin(&path, &bytes)?.to_string(),
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

    /// Who encodes and decodes, and with what, for a person to read.
    pub fn judge(&self) -> &'static str {
        self.judge
    }

    /// Whether `id` is only in the configuration beside the tokenizer file, and so unknown to its decoder.
    pub(crate) fn is_beside(&self, id: TokenId) -> bool {
        self.added.contains(&id)
            && match &self.inner {
                Inner::HuggingFace(tokenizer) => tokenizer.id_to_token(id).is_none(),
                Inner::Tiktoken(encoding) => encoding.decode_bytes(&[id]).is_err(),
            }
    }

    /// The encoder of a built-in vocabulary, `None` if `name` is none of [`BUILTIN`].
    pub fn builtin(name: &str) -> Option<Self> {
        builtin::encoding(name).map(|encoding| Self {
            inner: Inner::Tiktoken(encoding),
            judge: TIKTOKEN,
            added: BTreeSet::new(),
        })
    }

    /// The ids of `text` where it follows other text. Names of special tokens in it are text like any other.
    ///
    /// ```
    /// use gobo_tokenizer::{Encoder, builtin, ordinary_bytes};
    ///
    /// let gpt2 = builtin("r50k_base").expect("a built-in name");
    /// let encoder = Encoder::builtin("r50k_base").expect("a built-in name");
    /// let ids = encoder.encode_continuation(" the cat", ordinary_bytes(&gpt2.table))?;
    /// assert_eq!(ids, Some(vec![262, 3797]));
    /// # Ok::<(), gobo_tokenizer::EncodeError>(())
    /// ```
    ///
    /// `bytes_of` gives the bytes of an ordinary token, and `None` for special tokens and holes; it must be of the
    /// same tokenizer. The ids returned are ordinary, and their bytes are exactly those of `text`. `Ok(None)`: the
    /// tokenizer cannot encode this text faithfully (it normalizes it, or has no token for a part of it), or never
    /// puts a token boundary in front of it.
    ///
    /// # Errors
    /// [`EncodeError::HuggingFace`] and [`EncodeError::Split`] if the library behind fails.
    pub fn encode_continuation<'v>(
        &self,
        text: &str,
        bytes_of: impl Fn(TokenId) -> Option<&'v [u8]>,
    ) -> Result<Option<Vec<TokenId>>, EncodeError> {
        if text.is_empty() {
            return Ok(Some(Vec::new()));
        }
        for sentinel in SENTINELS {
            let ids = self.encode(&[sentinel, text].concat())?;
            if let Some(cut) = cut(&ids, sentinel, text, &bytes_of) {
                return Ok(Some(ids[cut..].to_vec()));
            }
        }
        Ok(None)
    }

    fn encode(&self, text: &str) -> Result<Vec<TokenId>, EncodeError> {
        let text_bytes = text.len();
        match &self.inner {
            Inner::HuggingFace(tokenizer) => match tokenizer.encode_fast(text, false) {
                Ok(encoding) => Ok(encoding.get_ids().to_vec()),
                Err(source) => Err(EncodeError::HuggingFace { text_bytes, source }),
            },
            // Not `encode_ordinary`, which panics where the split regex gives up.
            Inner::Tiktoken(encoding) => match encoding.encode(text, &HashSet::new()) {
                Ok((ids, _)) => Ok(ids),
                Err(source) => Err(EncodeError::Split { text_bytes, source }),
            },
        }
    }

    /// What the source's own decoder writes for `ids`, special tokens by their names.
    pub(crate) fn decode(&self, ids: &[TokenId]) -> Result<String, EncodeError> {
        match &self.inner {
            Inner::HuggingFace(tokenizer) => tokenizer
                .decode(ids, false)
                .map_err(|source| EncodeError::HuggingFace { text_bytes: 0, source }),
            // An id that the encoding does not have writes nothing.
            Inner::Tiktoken(encoding) => {
                Ok(String::from_utf8_lossy(&encoding.decode_bytes(ids).unwrap_or_default()).into_owned())
            }
        }
    }

    /// Whether the source decodes its own encoding of `text` to `text`, perhaps but for a space before it.
    pub(crate) fn gives_back(&self, text: &str) -> Result<bool, EncodeError> {
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

/// The bytes of a table's ordinary tokens, as [`Encoder::encode_continuation`] asks for them.
pub fn ordinary_bytes<'a>(table: &'a TokenTable) -> impl Fn(TokenId) -> Option<&'a [u8]> {
    move |id| {
        let token = table.tokens().get(id as usize)?;
        (!token.special && !token.bytes.is_empty()).then_some(&*token.bytes)
    }
}

/// Files can ask for texts to be cut or padded to a length, and would have special tokens found in texts.
fn whole_and_literal(mut tokenizer: Tokenizer) -> Tokenizer {
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).expect("only a truncation to some length can be wrong");
    tokenizer.set_encode_special_tokens(true);
    tokenizer
}

/// The built-in encoding that has exactly these ranks.
fn with_ranks(tokens: &[(Vec<u8>, TokenId)]) -> Option<&'static CoreBPE> {
    let name = BUILTIN.into_iter().find(|name| builtin::rank_count(name) == Some(tokens.len()))?;
    let encoding = builtin::encoding(name)?;
    let equal = tokens
        .iter()
        .all(|(bytes, rank)| encoding.decode_bytes(&[*rank]).is_ok_and(|expected| expected == *bytes));
    equal.then_some(encoding)
}

/// The number of tokens that spell `sentinel` and no more, perhaps behind a space that the tokenizer puts before
/// every text; `None` if there is no such boundary, or the rest does not spell `text`.
fn cut<'v>(
    ids: &[TokenId],
    sentinel: &str,
    text: &str,
    bytes_of: impl Fn(TokenId) -> Option<&'v [u8]>,
) -> Option<usize> {
    let mut bytes = Vec::with_capacity(sentinel.len() + text.len() + 1);
    let mut ends = Vec::with_capacity(ids.len());
    for &id in ids {
        bytes.extend_from_slice(bytes_of(id)?);
        ends.push(bytes.len());
    }
    let before = bytes.strip_suffix(text.as_bytes())?;
    let clean = before == sentinel.as_bytes() || before.strip_prefix(b" ") == Some(sentinel.as_bytes());
    let last = clean.then(|| ends.binary_search(&before.len()).ok())??;
    Some(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: [&[u8]; 7] = [b" ", b"a", b"\n", b"b", b"a\n", b"\nb", b" a"];

    fn bytes_of(id: TokenId) -> Option<&'static [u8]> {
        TOKENS.get(id as usize).copied()
    }

    #[test]
    fn cuts_fall_on_token_boundaries_behind_the_sentinel_only() {
        assert_eq!(cut(&[4, 3], "a\n", "b", bytes_of), Some(1));
        assert_eq!(cut(&[6, 2, 3], "a\n", "b", bytes_of), Some(2), "a prefix space belongs to the sentinel");
        assert_eq!(cut(&[1, 5], "a\n", "b", bytes_of), None, "no boundary");
        assert_eq!(cut(&[4, 1], "a\n", "b", bytes_of), None, "another text");
        assert_eq!(cut(&[1, 4, 3], "a\n", "b", bytes_of), None, "another sentinel");
        assert_eq!(cut(&[4, 3, 99], "a\n", "b", bytes_of), None, "a special token or a hole");
    }

    #[test]
    fn ranks_of_no_known_encoding_have_no_split() {
        assert!(with_ranks(&[(b"a".to_vec(), 0)]).is_none());
    }

    #[test]
    fn names_of_special_tokens_are_text_and_nothing_is_truncated() {
        let json = r#"{"version": "1.0", "padding": null,
            "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
            "added_tokens": [{"id": 3, "content": "<s>", "special": true, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false}],
            "normalizer": null, "post_processor": null, "decoder": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "unk_token": null, "merges": [],
                "vocab": {"<": 0, "s": 1, ">": 2, "<s>": 3, "a": 4, "Ċ": 5, "Ġ": 6}}}"#;
        let file = std::env::temp_dir().join(format!("gobo-tokenizer-encoder-{}.json", std::process::id()));
        std::fs::write(&file, json).unwrap();
        let table = crate::import(&file, &crate::ImportOptions::default()).unwrap().table;
        let encoder = Encoder::open(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let encode = |text| encoder.encode_continuation(text, ordinary_bytes(&table)).unwrap();
        assert_eq!(encode("<s>a"), Some(vec![0, 1, 2, 4]));
        assert_eq!(encode(" a"), Some(vec![6, 4]));
        assert_eq!(encode("b"), None, "no token for it");
    }
}
