//! The tokenizer in the metadata of a GGUF file. Only the head of the file is read, never its tensors.

use std::borrow::Cow;
use std::io::{Read, Seek};
use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::TokenTable;

use super::gguf_reader::{BOOL, FLOAT32, GgufReader, INT32, STRING, UINT32, UINT64};
use crate::bytes::piece::{self, PieceKind};
use crate::bytes::{Spelling, byte_level};
use crate::checked::{Index, Merge, merges};
use crate::named_tokens::NamedTokens;
use crate::role::ByRole;
use crate::surrogate::{self, PieceModel};
use crate::{BinaryProblem, ImportError};

/// The first bytes of GGUF files.
pub(crate) const MAGIC: &[u8] = b"GGUF";

/// Longest key, as the format's own description has it.
const MAX_KEY_BYTES: u64 = (1 << 16) - 1;
/// Longest text that is kept: names and tokens. In the byte alphabet, most bytes of a token take two.
const MAX_TEXT_BYTES: u64 = 1 << 14;

/// Reads the tokenizer of a GGUF file of version 2 or 3: the one at `path`, or `bytes` that are called so.
///
/// # Errors
/// [`ImportError::Binary`] for a file that is cut or no such file; [`ImportError::Field`] for metadata that is
/// missing or of another type; [`ImportError::UnsupportedKind`] for other versions and tokenizers;
/// [`ImportError::OutsideAlphabet`]; [`ImportError::Merge`]; [`ImportError::Token`]; [`ImportError::TooLarge`] for metadata beyond
/// [`MAX_FILE_BYTES`](crate::MAX_FILE_BYTES).
pub(crate) fn read(path: &Path, bytes: Option<&[u8]>) -> Result<NamedTokens, ImportError> {
    let metadata = Metadata::read(path, bytes)?;
    if metadata.is_byte_level(path)? {
        metadata.merges(path)?;
        metadata.into_tokens(path, "GGUF gpt2", Spelling::ByteLevel, gpt2_token)
    } else {
        let decode = |_: &Path, _, kind, text: &str| Ok(piece::decode(kind, text));
        metadata.into_tokens(path, "GGUF llama", piece::SPELLING, decode)
    }
}

/// The surrogate of this tokenizer. Files name the regex by which texts are split (`tokenizer.ggml.pre`) without containing
/// it: texts are split as for GPT-2.
///
/// # Errors
/// As for [`read`].
pub(crate) fn surrogate(path: &Path, bytes: Option<&[u8]>) -> Result<serde_json::Value, ImportError> {
    let mut metadata = Metadata::read(path, bytes)?;
    let byte_level = metadata.is_byte_level(path)?;
    let merges = if byte_level { metadata.merges(path)? } else { Vec::new() };
    let (space_first, scores) = (metadata.space_first.unwrap_or(true), std::mem::take(&mut metadata.scores));
    let tokens = metadata.into_typed(path)?;
    if byte_level {
        let written = tokens
            .into_iter()
            .zip(0..)
            .filter(|((_, kind, _), _)| matches!(kind, PieceKind::Normal | PieceKind::UserDefined));
        let texts: Vec<(String, TokenId)> = written.map(|((_, _, text), id)| (text, id)).collect();
        return Ok(surrogate::of_byte_level(&texts, &merges, None));
    }
    // Without scores, tokens are merged in their order.
    let scores = scores.into_iter().chain(std::iter::repeat(f32::MIN));
    let pieces =
        tokens.into_iter().zip(scores).map(|((_, kind, text), score)| surrogate::Piece { text, kind, score });
    Ok(PieceModel { pieces: pieces.collect(), unigram: false, space_first, one_space: false }.into_json())
}

impl Metadata {
    fn read(path: &Path, bytes: Option<&[u8]>) -> Result<Self, ImportError> {
        match bytes {
            Some(bytes) => Self::of(path, GgufReader::over(path, bytes)),
            None => Self::of(path, GgufReader::open(path)?),
        }
    }

    fn of(path: &Path, mut file: GgufReader<'_, impl Read + Seek>) -> Result<Self, ImportError> {
        let unsupported = |kind: String| ImportError::UnsupportedKind { path: path.into(), kind };
        file.take::<4>()?;
        let version = file.u32()?;
        if !matches!(version, 2 | 3) {
            let big_endian = matches!(version.swap_bytes(), 2 | 3);
            let kind = if big_endian { "big-endian GGUF".into() } else { format!("GGUF version {version}") };
            return Err(unsupported(kind));
        }
        let _tensors = file.u64()?;
        let count = file.u64()?;
        let mut metadata = Metadata::default();
        for _ in 0..count {
            metadata.read_one(&mut file)?;
        }
        Ok(metadata)
    }

    /// Whether its texts are in the byte alphabet; else they are pieces.
    fn is_byte_level(&self, path: &Path) -> Result<bool, ImportError> {
        match self.model.as_deref() {
            Some("gpt2") => Ok(true),
            Some("llama") => Ok(false),
            Some(model) => {
                let kind = format!("GGUF with a tokenizer of the model {model:?}");
                Err(ImportError::UnsupportedKind { path: path.into(), kind })
            }
            None => Err(missing(path, "tokenizer.ggml.model")),
        }
    }
}

/// The bytes of an ordinary token of a byte-level vocabulary. Tokens that a user defined are raw text, as in
/// `tokenizer.json`.
fn gpt2_token(
    path: &Path,
    id: TokenId,
    kind: PieceKind,
    text: &str,
) -> Result<Result<Vec<u8>, BinaryProblem>, ImportError> {
    match kind {
        PieceKind::UserDefined => Ok(Ok(text.as_bytes().to_vec())),
        PieceKind::Normal => byte_level::decode(text).map(Ok).map_err(|character| {
            let (path, token) = (path.into(), text.to_owned());
            ImportError::OutsideAlphabet { path, id, token, character }
        }),
        _ => Ok(piece::decode(kind, text)),
    }
}

fn missing(path: &Path, field: &str) -> ImportError {
    let (path, field, found) = (path.into(), field.into(), "missing".into());
    ImportError::Field { path, field, found, expected: "the metadata of a tokenizer" }
}

/// The metadata of the tokenizer.
#[derive(Default)]
struct Metadata {
    model: Option<String>,
    /// With their offsets.
    tokens: Option<Vec<(u64, String)>>,
    kinds: Option<Vec<PieceKind>>,
    /// With their offsets. Text only where they count.
    merges: Vec<(u64, Vec<u8>)>,
    scores: Vec<f32>,
    /// Whether a space is put before every text.
    space_first: Option<bool>,
    roles: ByRole<Vec<TokenId>>,
}

impl Metadata {
    /// Reads a key and its value, and keeps or skips it.
    fn read_one(&mut self, file: &mut GgufReader<'_, impl Read + Seek>) -> Result<(), ImportError> {
        let key = file.text(MAX_KEY_BYTES)?;
        let at = file.at;
        let kind = file.u32()?;
        let path = file.path;
        let wrong = |expected| {
            let found = format!("a value of type {kind}");
            ImportError::Field { path: path.into(), field: key.clone(), found, expected }
        };
        match key.as_str() {
            "tokenizer.ggml.model" if kind == STRING => self.model = Some(file.text(MAX_TEXT_BYTES)?),
            "tokenizer.ggml.model" => return Err(wrong("a string")),
            "tokenizer.ggml.tokens" => {
                let count = file.array(kind, &[STRING])?.ok_or_else(|| wrong("an array of strings"))?;
                let mut tokens = Vec::new();
                for _ in 0..count {
                    tokens.push((file.at, file.text(MAX_TEXT_BYTES)?));
                }
                self.tokens = Some(tokens);
            }
            "tokenizer.ggml.token_type" => {
                let count =
                    file.array(kind, &[INT32, UINT32])?.ok_or_else(|| wrong("an array of integers"))?;
                let mut kinds = Vec::new();
                for _ in 0..count {
                    let at = file.at;
                    let number = u64::from(file.u32()?);
                    kinds.push(PieceKind::from_number(number).map_err(|problem| file.fault(at, problem))?);
                }
                self.kinds = Some(kinds);
            }
            "tokenizer.ggml.merges" => {
                let count = file.array(kind, &[STRING])?.ok_or_else(|| wrong("an array of strings"))?;
                for _ in 0..count {
                    self.merges.push((file.at, file.raw_text(MAX_TEXT_BYTES)?));
                }
            }
            "tokenizer.ggml.scores" => {
                let count = file.array(kind, &[FLOAT32])?.ok_or_else(|| wrong("an array of numbers"))?;
                for _ in 0..count {
                    let at = file.at;
                    let score = f32::from_le_bytes(file.take()?);
                    if !score.is_finite() {
                        return Err(file.fault(at, BinaryProblem::Score));
                    }
                    self.scores.push(score);
                }
            }
            "tokenizer.ggml.add_space_prefix" if kind == BOOL => {
                self.space_first = Some(file.take()? != [0]);
            }
            "tokenizer.ggml.add_space_prefix" => return Err(wrong("true or false")),
            // A model of conversations ends its turn with the second or third.
            "tokenizer.ggml.eos_token_id"
            | "tokenizer.ggml.eot_token_id"
            | "tokenizer.ggml.eom_token_id"
            | "tokenizer.ggml.bos_token_id"
            | "tokenizer.ggml.padding_token_id" => {
                let role = match key.as_str() {
                    "tokenizer.ggml.bos_token_id" => &mut self.roles.bos,
                    "tokenizer.ggml.padding_token_id" => &mut self.roles.pad,
                    _ => &mut self.roles.eos,
                };
                let id = match kind {
                    UINT32 | INT32 => u64::from(file.u32()?),
                    UINT64 => file.u64()?,
                    _ => return Err(wrong("a token id")),
                };
                // Some writers put -1 for none.
                if id < u64::from(u32::MAX) {
                    role.push(TokenId::try_from(id).expect("below 2^32"));
                } else if id > u64::from(u32::MAX) {
                    return Err(wrong("a token id below 2^32"));
                }
            }
            _ => file.skip_value(kind, at, 0)?,
        }
        Ok(())
    }

    /// The merges, which are sound.
    fn merges(&self, path: &Path) -> Result<Vec<(String, String)>, ImportError> {
        let tokens = self.tokens.iter().flatten();
        let ids: Index<'_> = tokens.zip(0..).map(|((_, text), id)| (text.as_str(), id)).collect();
        let merge = |(offset, bytes): &'_ (u64, Vec<u8>)| match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Merge::parse(Cow::Owned(text.to_owned()))),
            Err(error) => {
                let (path, source) = (path.into(), BinaryProblem::Text(error));
                Err(ImportError::Binary { path, offset: *offset, source })
            }
        };
        let merges = self.merges.iter().map(merge).collect::<Result<Vec<_>, _>>()?;
        let text = |id: usize| self.tokens.as_ref()?.get(id).map(|(_, text)| text.as_str());
        merges::check(path, &merges, text, &ids)?;
        let pair = |merge| match merge {
            Merge::Pair(left, right) => Some((left.into_owned(), right.into_owned())),
            Merge::Other(_) => None,
        };
        Ok(merges.into_iter().filter_map(pair).collect())
    }

    /// Tokens with their offsets and types.
    fn into_typed(self, path: &Path) -> Result<Vec<(u64, PieceKind, String)>, ImportError> {
        let tokens = self.tokens.ok_or_else(|| missing(path, "tokenizer.ggml.tokens"))?;
        let kinds = self.kinds.ok_or_else(|| missing(path, "tokenizer.ggml.token_type"))?;
        if kinds.len() != tokens.len() {
            return Err(ImportError::Field {
                path: path.into(),
                field: "tokenizer.ggml.token_type".into(),
                found: format!("for {} of {} tokens", kinds.len(), tokens.len()),
                expected: "a type for every token",
            });
        }
        Ok(tokens.into_iter().zip(kinds).map(|((offset, text), kind)| (offset, kind, text)).collect())
    }

    fn into_tokens(
        mut self,
        path: &Path,
        kind: &'static str,
        spelling: Spelling,
        decode: impl Fn(&Path, TokenId, PieceKind, &str) -> Result<Result<Vec<u8>, BinaryProblem>, ImportError>,
    ) -> Result<NamedTokens, ImportError> {
        let stated = std::mem::take(&mut self.roles);
        let tokens = self.into_typed(path)?;
        let width = u32::try_from(tokens.len()).expect("the number of tokens is limited");
        let mut table = TokenTable::new();
        let mut names = Vec::new();
        for (id, (offset, kind, text)) in (0..).zip(tokens) {
            // The padding of the logits. The readers of these files write nothing for it.
            if kind == PieceKind::Unused {
                continue;
            }
            let control = kind == PieceKind::Control;
            let bytes = if control { Ok(text.as_bytes().to_vec()) } else { decode(path, id, kind, &text)? };
            let bytes = bytes.map_err(|source| ImportError::Binary { path: path.into(), offset, source })?;
            table
                .insert(id, bytes, control)
                .map_err(|source| ImportError::Token { path: path.into(), source })?;
            if matches!(kind, PieceKind::Control | PieceKind::UserDefined | PieceKind::Unknown) {
                names.push((text, id));
            }
        }
        let logits_width = Some(width);
        Ok(NamedTokens { stated, logits_width, ..NamedTokens::new(table, kind, spelling, names) })
    }
}
