//! `.model` files of SentencePiece: a `ModelProto` message, of which a few fields are read.

use std::collections::HashMap;
use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::TokenTable;

use super::protobuf::{Fault, Fields, Value};
use crate::bytes::piece::{self, PieceKind};
use crate::checked::ID_LIMIT;
use crate::named_tokens::NamedTokens;
use crate::role::ByRole;
use crate::surrogate::{self, PieceModel};
use crate::{BinaryProblem, ImportError};

/// Whether bytes begin as a model does: with a piece of less than 128 bytes, which begins with its text.
pub(crate) fn looks_like_a_model(bytes: &[u8]) -> bool {
    matches!(bytes, [0x0a, length, 0x0a, ..] if *length < 0x80)
}

/// Reads a `.model` file. The position of a piece is its id.
///
/// # Errors
/// [`ImportError::Binary`] for bytes that are no such message; [`ImportError::UnsupportedKind`] for models of words or
/// characters; [`ImportError::DuplicateToken`]; [`ImportError::Token`].
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<NamedTokens, ImportError> {
    let model = Model::read(path, bytes)?;
    let kind = if model.is_unigram(path)? { "SentencePiece Unigram" } else { "SentencePiece BPE" };
    let mut table = TokenTable::new();
    let mut names = Vec::new();
    let mut seen = HashMap::new();
    for (id, Piece { offset, text, kind, .. }) in (0..).zip(model.pieces) {
        if let Some(first) = seen.insert(text, id) {
            let (path, token) = (path.into(), text.to_owned());
            return Err(ImportError::DuplicateToken { path, token, first, second: id });
        }
        let control = kind == PieceKind::Control;
        let token = if control { Ok(text.as_bytes().to_vec()) } else { piece::decode(kind, text) };
        let token = token.map_err(|source| ImportError::Binary {
            path: path.into(),
            offset: offset as u64,
            source,
        })?;
        table
            .insert(id, token, control)
            .map_err(|source| ImportError::Token { path: path.into(), source })?;
        if matches!(kind, PieceKind::Control | PieceKind::UserDefined | PieceKind::Unknown) {
            names.push((text.to_owned(), id));
        }
    }
    let mut tokens = NamedTokens::new(table, kind, piece::SPELLING, names);
    let special = |id: &TokenId| tokens.table.tokens()[*id as usize].special;
    let id = |piece: &str| seen.get(piece).copied().filter(special).into_iter().collect();
    let ByRole { eos, bos, pad } = model.roles;
    tokens.stated = ByRole { eos: id(eos), bos: id(bos), pad: id(pad) };
    Ok(tokens)
}

/// The surrogate of this model.
///
/// # Errors
/// As for [`read`].
pub(crate) fn surrogate(path: &Path, bytes: &[u8]) -> Result<serde_json::Value, ImportError> {
    let model = Model::read(path, bytes)?;
    let unigram = model.is_unigram(path)?;
    let piece =
        |piece: Piece<'_>| surrogate::Piece { text: piece.text.into(), kind: piece.kind, score: piece.score };
    let pieces = model.pieces.into_iter().map(piece).collect();
    let Normalizer { space_first, one_space } = model.normalizer;
    Ok(PieceModel { pieces, unigram, space_first, one_space }.into_json())
}

fn unsupported(path: &Path, kind: &str) -> ImportError {
    ImportError::UnsupportedKind { path: path.into(), kind: kind.into() }
}

/// The fields of a `ModelProto` that are read.
struct Model<'a> {
    pieces: Vec<Piece<'a>>,
    /// `trainer_spec.model_type`.
    kind: u64,
    /// `eos_piece`, `bos_piece` and `pad_piece` of `trainer_spec`; the ids there are only requests to the training.
    roles: ByRole<&'a str>,
    normalizer: Normalizer,
}

struct Piece<'a> {
    offset: usize,
    text: &'a str,
    kind: PieceKind,
    score: f32,
}

/// The fields of a `NormalizerSpec` that change the spaces of texts.
struct Normalizer {
    /// `add_dummy_prefix`
    space_first: bool,
    /// `remove_extra_whitespaces`
    one_space: bool,
}

impl<'a> Model<'a> {
    fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, ImportError> {
        Self::parse(bytes).map_err(|(offset, source)| ImportError::Binary {
            path: path.into(),
            offset: offset as u64,
            source,
        })
    }

    /// Whether it is a Unigram model; otherwise it is BPE.
    fn is_unigram(&self, path: &Path) -> Result<bool, ImportError> {
        match self.kind {
            1 => Ok(true),
            2 => Ok(false),
            3 => Err(unsupported(path, "SentencePiece model of words")),
            4 => Err(unsupported(path, "SentencePiece model of characters")),
            _ => Err(unsupported(path, "SentencePiece model of unknown type")),
        }
    }

    fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let normalizer = Normalizer { space_first: true, one_space: true };
        let roles = ByRole { eos: "</s>", bos: "<s>", pad: "<pad>" };
        let mut model = Self { pieces: Vec::new(), kind: 1, roles, normalizer };
        let mut fields = Fields::of(bytes);
        while let Some((offset, number, value)) = fields.next()? {
            match (number, value) {
                (1, Value::Message(piece)) => {
                    if model.pieces.len() as u64 >= ID_LIMIT {
                        return Err((
                            offset,
                            BinaryProblem::TooMany { given: ID_LIMIT + 1, limit: ID_LIMIT },
                        ));
                    }
                    model.pieces.push(parse_piece(offset, piece)?);
                }
                (2, Value::Message(mut trainer)) => {
                    while let Some((offset, number, value)) = trainer.next()? {
                        match (number, value) {
                            (3, Value::Varint(kind)) => model.kind = kind,
                            (46, Value::Message(text)) => model.roles.bos = text.text(offset)?,
                            (47, Value::Message(text)) => model.roles.eos = text.text(offset)?,
                            (48, Value::Message(text)) => model.roles.pad = text.text(offset)?,
                            _ => {}
                        }
                    }
                }
                (3, Value::Message(mut normalizer)) => {
                    while let Some((_, number, value)) = normalizer.next()? {
                        match (number, value) {
                            (3, Value::Varint(flag)) => model.normalizer.space_first = flag != 0,
                            (4, Value::Varint(flag)) => model.normalizer.one_space = flag != 0,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(model)
    }
}

fn parse_piece(offset: usize, mut fields: Fields<'_>) -> Result<Piece<'_>, Fault> {
    let (mut text, mut kind, mut score) = ("", PieceKind::Normal, 0.0);
    while let Some((offset, number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Message(bytes)) => text = bytes.text(offset)?,
            (2, Value::Fixed32(bits)) => {
                score = f32::from_bits(bits);
                if !score.is_finite() {
                    return Err((offset, BinaryProblem::Score));
                }
            }
            (3, Value::Varint(number)) => {
                kind = PieceKind::from_number(number).map_err(|problem| (offset, problem))?;
            }
            _ => {}
        }
    }
    if text.is_empty() {
        return Err((offset, BinaryProblem::Nameless));
    }
    Ok(Piece { offset, text, kind, score })
}
