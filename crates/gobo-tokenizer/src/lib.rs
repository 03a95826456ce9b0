//! Tokenizer files to vocabularies: what bytes each id of a model stands for, and how the tokenizer itself would
//! spell a text.
//!
//! Imported are Hugging Face `tokenizer.json` files of byte-level BPE, of SentencePiece-style BPE with byte fallback,
//! of Unigram and of `WordPiece`; Mistral's `tekken.json`; `.model` files of SentencePiece; GGUF files (their metadata
//! alone); `.tiktoken` rank files, with a list of special tokens where there is one; and the [`BUILTIN`] vocabularies.
//! Every other kind is refused by name.
//!
//! # What a token's bytes are
//!
//! The bytes that the tokenizer's own decoder adds to a text *after a prompt*, so that the bytes of tokens put
//! together are the text that a reader sees. A token that stands for text that could not be encoded (`<unk>`,
//! `[UNK]`) has none: it is a hole. (Byte-level kinds can encode everything; a `<unk>` among their special tokens is
//! one of these.)
//!
//! - **Byte-level BPE**: the bytes that the characters of the byte alphabet stand for; added tokens are raw text.
//! - **Byte-fallback BPE and Unigram**: the text with `▁` as a space; `<0xNN>` is one byte, in a Unigram model if it
//!   has `byte_fallback` or its decoder reads such pieces. `▁the` is ` the`; only at the very start of a text do
//!   decoders drop the space.
//! - **`WordPiece`**: a piece inside a word (`##ing`) is its text without the prefix; every other piece begins a word,
//!   and the decoder writes a space before it: `play` is ` play`. It could not be without: the pieces `play` and
//!   `##play` would then have the same bytes, and two words one after the other would run together. With `cleanup`
//!   the decoder takes the space away again before a piece that is, or begins with, one of `.` `?` `!` `,` `n't` `'m`
//!   `'s` `'ve` `'re`, so the bytes of the piece `.` are `.`; any other punctuation keeps it (`(` is ` (`, and `a-b`
//!   is written `a - b`). Such a text never has a line feed, and in an uncased vocabulary no capital letter.
//!   Libraries that clean up the whole text once more (`clean_up_tokenization_spaces`) may also join a lone `'` with
//!   its neighbours or turn `do not` into `don't`; this is no token's bytes, and not followed.
//! - **tekken**: the bytes of the file; ids are ranks after the special tokens, and ranks beyond the file's own
//!   `default_vocab_size` are no tokens.
//! - **SentencePiece**: the text with `▁` as a space; pieces of type byte are one byte, control pieces are special,
//!   the unknown piece is a hole.
//! - **GGUF**: `gpt2` is byte-level and `llama` SentencePiece, with types of tokens as there; user-defined tokens of
//!   `gpt2` are raw text, unused ids are holes. As many logits as tokens, padding included.
//!
//! # What is refused although it has no part in the bytes
//!
//! Merges of a BPE model (`tokenizer.json`, GGUF `gpt2`): one whose parts or product are no tokens, one that stands twice,
//! one with an empty part (the only cycle that can be written down: a product is its two parts together, and so longer
//! than either). No tokenizer works with such a file, so its vocabulary may be damaged too. Scores of `SentencePiece`
//! pieces that are no numbers. How texts are split before merges apply is not looked at.
//!
//! # A model's folder
//!
//! Where a folder is imported, the files beside the tokenizer say how the model is used. Its end-of-text ids are the
//! first of: [`ImportOptions::eos`]; `eos_token_id` of `generation_config.json`, then of `config.json` (or of its
//! `text_config`); `eos_token` of `tokenizer_config.json`, then of `special_tokens_map.json`; what the tokenizer file
//! states itself; tokens with well-known names; none. The ids that begin a text and that pad are found in the same order
//! (`bos_token_id`, `bos_token`, `pad_token_id`, `pad_token`), and no mask depends on them. The number of logits is [`ImportOptions::logits_width`], else
//! `vocab_size` of `config.json` (or of its `text_config`), else the vocabulary length. None of it touches the table.
//!
//! What does is `added_tokens_decoder` of `tokenizer_config.json`: tokens that the tokenizer file lacks, as a `.model`
//! does, are added to the table, special where either of the two says so. Where the two contradict each other, one id for
//! two texts or one text for two ids, the folder is refused.
//!
//! A file that is imported by its own path stands for itself.
//!
//! ```
//! let gpt2 = gobo_tokenizer::builtin("r50k_base").expect("a built-in name");
//! assert_eq!(gpt2.table.tokens().len(), 50_257);
//! assert_eq!(gpt2.eos, [50_256]);
//! assert_eq!(gpt2.table.tokens()[262].bytes, b" the");
//! ```
#![forbid(unsafe_code)]

mod added;
mod binding;
mod builtin;
mod byte_fallback;
mod byte_level;
mod capped;
mod conformance;
mod encoder;
mod error;
mod gguf;
mod hugging_face;
mod id_map;
mod merges;
mod model_folder;
mod piece;
mod pipeline;
mod ranks;
mod sentence_piece;
mod source;
mod spelling;
mod tekken;
mod twin;
mod word_piece;

use std::path::{Path, PathBuf};

use gobo_types::{Binding, TokenId};
use gobo_vocab::{TokenTable, VocabError};

pub use binding::{TokenChoice, TokenRole};
pub use builtin::{BUILTIN, builtin};
pub use conformance::{CORPUS, Conformance, Mismatch, RoundTrip};
pub use encoder::{EncodeError, Encoder, ordinary_bytes};
pub use error::{BinaryProblem, ImportError, RankProblem};
pub use merges::MergeProblem;
pub use source::MAX_FILE_BYTES;

use model_folder::ModelFolder;
use source::{Content, SourceFile};

/// What the caller knows better than the file. The default takes everything from the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// The ids that end a text. Empty: those that the model folder names, else those that the tokenizer file states,
    /// else those among its special and added tokens whose names are well known (`<|endoftext|>`, `</s>`, `<eos>`,
    /// `<|eot_id|>`, `<|im_end|>` …), possibly none.
    pub eos: Vec<TokenChoice>,
    /// The token that begins a text. `None`: found in the same order.
    pub bos: Option<TokenChoice>,
    /// The token that fills up a batch. `None`: found in the same order.
    pub pad: Option<TokenChoice>,
    /// Number of logits the model puts out; models pad. `None`: what the model folder says, else the vocabulary
    /// length.
    pub logits_width: Option<u32>,
    /// Special tokens for a rank file, which has none itself: a JSON object from names to ids.
    pub special: Option<PathBuf>,
}

/// A tokenizer as a vocabulary and the default way to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Every id's bytes and special flag.
    pub table: TokenTable,
    /// What it was made from: `byte-level BPE`, `byte-fallback BPE`, `Unigram`, `WordPiece`,
    /// `tekken`, `SentencePiece BPE`, `SentencePiece Unigram`, `GGUF gpt2`, `GGUF llama` or
    /// `tiktoken`.
    pub kind: &'static str,
    /// The ids that end a text, ascending, each once.
    pub eos: Vec<TokenId>,
    /// The id that begins a text.
    pub bos: Option<TokenId>,
    /// The id that fills up a batch.
    pub pad: Option<TokenId>,
    /// Number of logits: at least the vocabulary length, which is the highest id + 1.
    pub logits_width: u32,
}

impl Imported {
    /// The default binding of the vocabulary's name.
    pub fn binding(&self) -> Binding {
        let Self { eos, bos, pad, logits_width, .. } = self;
        Binding { bos: *bos, pad: *pad, ..Binding::new(eos.clone(), *logits_width) }
    }
}

/// Imports the tokenizer at `path`: a file of one of the formats above, recognised by its content where its name does
/// not tell, or a folder with a `tokenizer.json`, else a `tekken.json`, else a `tokenizer.model` or `spiece.model`.
/// Reads the file once and whole, O(file size); of a GGUF file, the metadata.
///
/// # Errors
/// [`ImportError`]: each variant says when. Nothing is guessed: a file that is not understood to the last token is
/// refused.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    let source = SourceFile::open(path)?;
    let folder = if path.is_dir() { ModelFolder::read(path)? } else { ModelFolder::default() };
    if options.special.is_some() && !matches!(source.content, Content::Ranks(_)) {
        return Err(ImportError::OwnSpecialTokens { path: source.path });
    }
    let path = &source.path;
    let tokens = match &source.content {
        Content::HuggingFace(text) => hugging_face::read(path, text)?,
        Content::Ranks(text) => {
            let special = options.special.as_deref().map(ranks::read_special).transpose()?;
            ranks::read(path, text, special.unwrap_or_default())?
        }
        Content::Tekken(text) => tekken::read(path, text)?,
        Content::Gguf => gguf::read(path)?,
        Content::SentencePiece(bytes) => sentence_piece::read(path, bytes)?,
    };
    if !tokens.table.tokens().iter().any(|token| !token.special && !token.bytes.is_empty()) {
        return Err(ImportError::Token { path: source.path, source: VocabError::Empty });
    }
    tokens.with_added(&source.path, &folder)?.bind(&source.path, &folder, options)
}
