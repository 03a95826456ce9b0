//! The options of an import, and its result.

use std::path::PathBuf;

use gobo_types::{Binding, TokenId};
use gobo_vocab::TokenTable;

use crate::role::TokenChoice;

/// Values that override those of the file. The default takes everything from the file.
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
    /// Number of logits of the model; models pad. `None`: the number in the model folder, else the vocabulary length.
    pub logits_width: Option<u32>,
    /// Special tokens for a rank file, which has none itself: a JSON object from names to ids.
    pub special: Option<PathBuf>,
}

/// A tokenizer as a vocabulary and the default way to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Every id's bytes and special flag.
    pub table: TokenTable,
    /// The kind of tokenizer: `byte-level BPE`, `byte-fallback BPE`, `Unigram`, `WordPiece`,
    /// `tekken`, `SentencePiece BPE`, `SentencePiece Unigram`, `GGUF gpt2`, `GGUF llama`,
    /// `tiktoken` or `table`.
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
