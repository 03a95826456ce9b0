//! Imports tokenizer files: the bytes of each id of a model, and the tokenizer's own encoder.
//!
//! Imported are Hugging Face `tokenizer.json` files of byte-level BPE, of SentencePiece-style BPE with byte fallback,
//! of Unigram and of `WordPiece`; Mistral's `tekken.json`; `.model` files of SentencePiece; GGUF files (their metadata
//! alone); `.tiktoken` rank files, with a list of special tokens where there is one; and the [`BUILTIN`] vocabularies
//! (with the feature `builtin`, which is on unless turned off).
//! Every other kind is refused by name.
//!
//! The floors, each of which uses only those before it: `bytes` (from the text of a token to its bytes), `checked` (fields that
//! formats share), `formats` (one file for each format), `model` (the files beside a tokenizer, and the binding), `builtin` (the
//! encodings that are part of the program), `encode` (the tokenizer's own encoder and decoder).
//!
//! # The bytes of a token
//!
//! The bytes that the tokenizer's own decoder adds to a text *after a prompt*, so that the concatenated bytes of tokens are
//! the text that a reader sees. The token for text that could not be encoded (`<unk>`, `[UNK]`) has none: it is a hole.
//! (Byte-level kinds can encode everything; a `<unk>` among their special tokens is special.)
//!
//! - **Byte-level BPE**: the bytes that the characters of the byte alphabet stand for; added tokens are raw text.
//! - **Byte-fallback BPE and Unigram**: the text with `▁` as a space; `<0xNN>` is one byte, in a Unigram model if it
//!   has `byte_fallback` or its decoder reads such pieces. `▁the` is ` the`; only at the very start of a text do
//!   decoders drop the space.
//! - **`WordPiece`**: a piece inside a word (`##ing`) is its text without the prefix; every other piece begins a word,
//!   and the decoder writes a space before it: `play` is ` play`. Without the space, the pieces `play` and `##play`
//!   would have the same bytes, and consecutive words would run together. With `cleanup`
//!   the decoder removes the space again before a piece that is, or begins with, one of `.` `?` `!` `,` `n't` `'m`
//!   `'s` `'ve` `'re`, so the bytes of the piece `.` are `.`; any other punctuation keeps it (`(` is ` (`, and `a-b`
//!   is written `a - b`). Such a text never has a line feed, and in an uncased vocabulary no capital letter.
//!   Libraries that clean up the whole text once more (`clean_up_tokenization_spaces`) may also join a lone `'` with
//!   its neighbours or turn `do not` into `don't`; this changes no token's bytes, and is ignored.
//! - **tekken**: the bytes of the file; ids are ranks after the special tokens, and ranks beyond the file's own
//!   `default_vocab_size` are no tokens.
//! - **SentencePiece**: the text with `▁` as a space; pieces of type byte are one byte, control pieces are special,
//!   the unknown piece is a hole.
//! - **GGUF**: `gpt2` is byte-level and `llama` SentencePiece, with types of tokens as there; user-defined tokens of
//!   `gpt2` are raw text, unused ids are holes. As many logits as tokens, padding included.
//!
//! # Refusals that do not concern the bytes
//!
//! Merges of a BPE model (`tokenizer.json`, GGUF `gpt2`) are refused if a part or the product is no token, if a merge is
//! repeated, and if a part is empty (the only possible cycle: a product is longer than either part). No tokenizer works with
//! such a file, so its vocabulary may be damaged too. Scores of `SentencePiece` pieces must be numbers. The way in which texts
//! are split before merges apply is not checked.
//!
//! # A model's folder
//!
//! If a folder is imported, the files beside the tokenizer say how the model is used. Its end-of-text ids are the
//! first of: [`ImportOptions::eos`]; `eos_token_id` of `generation_config.json`, then of `config.json` (or of its
//! `text_config`); `eos_token` of `tokenizer_config.json`, then of `special_tokens_map.json`; the ids in
//! the tokenizer file itself; tokens with well-known names; none. The ids that begin a text and that pad are found in the same order
//! (`bos_token_id`, `bos_token`, `pad_token_id`, `pad_token`), and no mask depends on them. The number of logits is
//! [`ImportOptions::logits_width`], else `vocab_size` of `config.json` (or of its `text_config`), else the vocabulary length.
//! None of these changes the table.
//!
//! `added_tokens_decoder` of `tokenizer_config.json` does: tokens that the tokenizer file lacks, as a `.model` does, are added
//! to the table, special if either of the two says so. If the two contradict each other, one id for two texts or one text for
//! two ids, the folder is refused.
//!
//! A file that is imported by its own path stands for itself.
//!
//! # From memory
//!
//! [`Files`] holds what an import of a path reads, for callers that name what they import by its bytes. [`import_bytes`] reads what a
//! file would hold, and [`import_table`] takes the bytes of each id from whoever has them already.
//!
//! ```
//! use gobo_tokenizer::{ImportOptions, import_bytes};
//!
//! let json = br#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [{"id": 2, "content": "</s>", "special": true}],
//!     "model": {"type": "BPE", "vocab": {"a": 0, "\u0120the": 1}, "merges": []}}"#;
//! let imported = import_bytes("my-model", json, &ImportOptions::default())?;
//! assert_eq!(imported.kind, "byte-level BPE");
//! assert_eq!(imported.eos, [2]);
//! assert_eq!(imported.table.tokens()[1].bytes, b" the");
//! # Ok::<(), gobo_tokenizer::ImportError>(())
//! ```
#![forbid(unsafe_code)]

mod builtin;
mod byte_pairs;
mod bytes;
mod checked;
mod encode;
mod error;
mod file;
mod files;
mod formats;
mod imported;
mod model;
mod named_tokens;
mod problem;
mod role;
mod surrogate;
mod table;

use std::path::Path;

pub use builtin::{BUILTIN, builtin};
pub use encode::{CORPUS, Conformance, EncodeError, Encoder, Mismatch, RoundTrip, ordinary_bytes};
pub use error::ImportError;
pub use file::MAX_FILE_BYTES;
pub use files::Files;
pub use imported::{ImportOptions, Imported};
pub use problem::{BinaryProblem, MergeProblem, RankProblem};
pub use role::{TokenChoice, TokenRole};
pub use table::import_table;

use formats::{Content, SourceFile, gguf, hugging_face, ranks, sentence_piece, tekken};
use model::ModelFolder;

/// Imports the tokenizer at `path`: a file of one of the formats above, recognised by its content where its name does
/// not tell, or a folder with a `tokenizer.json`, else a `tekken.json`, else a `tokenizer.model` or `spiece.model`.
/// Reads the file once and whole, O(file size); of a GGUF file, the metadata.
///
/// # Errors
/// [`ImportError`]: each variant says when. Nothing is guessed: a file that is not understood to the last token is
/// refused.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ImportError> {
    Files::read(path)?.import(options)
}

/// As [`import`], of the bytes of one file: recognised by its content alone. Errors say `name` where those of a file say its path. Nothing
/// is read from a disk but [`ImportOptions::special`]. O(bytes).
///
/// # Errors
/// As for [`import`].
///
/// ```
/// use gobo_tokenizer::{ImportOptions, import_bytes};
///
/// // Ranks in the format of tiktoken.
/// let imported = import_bytes("ranks", b"YQ== 0\nYg== 1\n", &ImportOptions::default())?;
/// assert_eq!(imported.table.tokens()[1].bytes, b"b");
/// let error = import_bytes("my-model", b"hello", &ImportOptions::default()).unwrap_err();
/// assert!(error.to_string().starts_with("my-model is not a tokenizer file"));
/// # Ok::<(), gobo_tokenizer::ImportError>(())
/// ```
pub fn import_bytes(name: &str, bytes: &[u8], options: &ImportOptions) -> Result<Imported, ImportError> {
    read(&SourceFile::of_bytes(name, bytes)?, &ModelFolder::default(), options)
}

fn read(
    source: &SourceFile<'_>,
    folder: &ModelFolder,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let path = &source.path;
    if options.special.is_some() && !matches!(source.content, Content::Ranks(_)) {
        return Err(ImportError::OwnSpecialTokens { path: path.clone() });
    }
    let tokens = match &source.content {
        Content::HuggingFace(text) => hugging_face::read(path, text)?,
        Content::Ranks(text) => {
            let special = options.special.as_deref().map(ranks::read_special).transpose()?;
            ranks::read(path, text, special.unwrap_or_default())?
        }
        Content::Tekken(text) => tekken::read(path, text)?,
        Content::Gguf(bytes) => gguf::read(path, *bytes)?,
        Content::SentencePiece(bytes) => sentence_piece::read(path, bytes)?,
    };
    tokens.spelling_something(path)?.with_added(path, folder)?.bind(path, folder, options)
}
