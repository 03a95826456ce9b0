//! `tokenizer.json` of Hugging Face: byte-level BPE, byte-fallback BPE, Unigram and `WordPiece`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use foldhash::HashSet;
use gobo_types::{TokenId, beside};
use gobo_vocab::{BytePairEncoder, Symbols, TokenTable};
use serde::Deserialize;

use super::pipeline::{Component, UnknownStep};
use crate::ImportError;
use crate::bytes::{Spelling, WordPieces, byte_fallback, byte_level};
use crate::checked::{Capped, ID_LIMIT, Index, Merge, Vocab, index, merges};
use crate::named_tokens::NamedTokens;

/// A `tokenizer.json`. Fields that do not touch token bytes (`post_processor`, `truncation` …) are skipped unread.
#[derive(Debug, Deserialize)]
struct TokenizerJson<'a> {
    added_tokens: Option<Capped<AddedToken>>,
    normalizer: Option<Component>,
    pre_tokenizer: Option<Component>,
    decoder: Option<Component>,
    #[serde(borrow)]
    model: Model<'a>,
}

/// A token beside the model: its text is matched before the model sees the input.
#[derive(Debug, Deserialize)]
struct AddedToken {
    id: u64,
    content: String,
    special: bool,
}

#[derive(Debug, Deserialize)]
struct Model<'a> {
    /// Missing in files of old versions.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    vocab: Option<Vocab<'a>>,
    #[serde(borrow)]
    merges: Option<Capped<Merge<'a>>>,
    unk_token: Option<String>,
    /// Of Unigram: a position in its vocabulary.
    unk_id: Option<u64>,
    byte_fallback: Option<bool>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    ignore_merges: Option<bool>,
    dropout: Option<f64>,
}

/// Reads the tokens of a `tokenizer.json`.
///
/// # Errors
/// Every variant of [`ImportError`] that concerns JSON, kinds, ids and the byte-level alphabet.
pub(crate) fn read(path: &Path, text: &str) -> Result<NamedTokens, ImportError> {
    let mut file: TokenizerJson<'_> =
        serde_json::from_str(text).map_err(|source| ImportError::from_json(path, text, source))?;
    let unsupported = |kind: &str| ImportError::UnsupportedKind { path: path.into(), kind: kind.to_owned() };
    let model_kind = file.model.kind().to_owned();
    let texts = match (model_kind.as_str(), file.model.vocab.take()) {
        ("BPE" | "WordPiece", Some(Vocab::Ids(map))) | ("Unigram", Some(Vocab::List(map))) => {
            map.into_texts(path)?
        }
        ("BPE", _) => return Err(unsupported("BPE without an object of ids")),
        ("WordPiece", _) => return Err(unsupported("WordPiece without an object of ids")),
        ("Unigram", _) => return Err(unsupported("Unigram without a list of pieces")),
        (kind, _) => return Err(unsupported(kind)),
    };
    let ids = index(path, &texts)?;
    let (kind, spelling) = match model_kind.as_str() {
        "BPE" => file.bpe_spelling(&texts).map_err(unsupported)?,
        "Unigram" => ("Unigram", file.unigram_spelling().map_err(unsupported)?),
        _ => ("WordPiece", file.word_piece_spelling().map_err(unsupported)?),
    };
    let cuts = file.cuts(&model_kind);
    let merges = file.model.merges.take().filter(|_| model_kind == "BPE");
    let items = merges.as_ref().map_or(0, |_| texts.len());
    let check_merges = || {
        let text = |id: usize| texts.get(id)?.as_deref();
        let check =
            |merges: Capped<Merge<'_>>| merges::check(path, &merges.all(path, "model.merges")?, text, &ids);
        merges.map(check).transpose()
    };
    let named = || {
        let unknown = match file.model.unk_id {
            Some(id) if model_kind == "Unigram" => {
                let piece = usize::try_from(id).ok().and_then(|id| texts.get(id)?.as_deref());
                Some(piece.ok_or_else(|| ImportError::unknown_beyond(path, id, texts.len()))?.to_owned())
            }
            _ => file.model.unk_token,
        };
        let added =
            by_id(path, file.added_tokens.map_or(Ok(Vec::new()), |added| added.all(path, "added_tokens"))?)?;
        let mut names: Vec<_> = added.iter().map(|(&id, token)| (token.content.clone(), id)).collect();
        let unknown_id = unknown.as_deref().and_then(|name| ids.get(name));
        if let (Some(id), Some(name)) = (unknown_id.filter(|id| !added.contains_key(id)), &unknown) {
            names.push((name.clone(), id));
        }
        // A control token of the model whose added entry claims another id is still no spelling.
        let special =
            added.values().filter(|token| token.special).filter_map(|token| ids.get(&token.content));
        let special = special.collect();
        let literals = added.iter().filter(|(_, token)| !token.special).map(|(&id, _)| id).collect();
        let tokens = Tokens { path, texts: &texts, added, special, unknown, unknown_id, spelling: &spelling };
        Ok((tokens.into_table()?, names, literals))
    };
    // The check of the merges takes about as long as all the rest. Its errors are reported first.
    let (named, checked) = beside(items, named, check_merges);
    let merges = checked?;
    let (mut table, names, literals) = named?;
    table.set_encoder(
        cuts.and_then(|cuts| cuts.encoder(merges.unwrap_or_default(), literals, &ids, &spelling)),
    );
    Ok(NamedTokens::new(table, kind, spelling, names))
}

/// How a BPE model cuts texts, beside its merges.
struct Cuts {
    pattern: Option<String>,
    /// Whether bytes spell the characters that have no token; else they are the unknown token.
    has_byte_fallback: bool,
    is_composing: bool,
    has_whole_chunks: bool,
}

impl Cuts {
    /// The encoder with these merges.
    fn encoder(
        self,
        merges: Vec<gobo_vocab::Merge>,
        literals: Vec<TokenId>,
        ids: &Index<'_>,
        spelling: &Spelling,
    ) -> Result<BytePairEncoder, UnknownStep> {
        let symbols = match spelling {
            Spelling::ByteLevel => Symbols::Bytes,
            Spelling::Marked { .. } if !self.has_byte_fallback => {
                return Err(
                    "characters without a token are not spelled by bytes (byte_fallback is off)".into()
                );
            }
            Spelling::Marked { space_mark, .. } => {
                let byte_tokens = (0..=u8::MAX).map(|byte| ids.get(&format!("<0x{byte:02X}>"))).collect();
                Symbols::Chars { byte_tokens, space_mark: *space_mark }
            }
            Spelling::WordPieces(_) => return Err("no byte-pair encoding".into()),
        };
        let composing = "in NFC, into which the tokenizer turns all texts";
        Ok(BytePairEncoder {
            merges: (0..).zip(merges).collect(),
            symbols,
            pattern: self.pattern,
            has_whole_chunks: self.has_whole_chunks,
            literals,
            only: self.is_composing.then(|| composing.to_owned()),
        })
    }
}

impl TokenizerJson<'_> {
    /// How texts are cut, or why that is not known.
    fn cuts(&self, model_kind: &str) -> Result<Cuts, UnknownStep> {
        if model_kind != "BPE" {
            return Err(format!("{model_kind} is no byte-pair encoding"));
        }
        if self.model.dropout.is_some_and(|dropout| dropout > 0.0) {
            return Err("merges are left out at random (dropout)".into());
        }
        let mut patterns = Vec::new();
        if let Some(pre_tokenizer) = &self.pre_tokenizer {
            pre_tokenizer.chunk_patterns(&mut patterns)?;
        }
        if patterns.len() > 1 {
            return Err(format!("chunks are cut by {} patterns, one after the other", patterns.len()));
        }
        let is_composing = self.normalizer.as_ref().map_or(Ok(false), Component::composes)?;
        let has_whole_chunks = self.model.ignore_merges == Some(true);
        let has_byte_fallback = self.model.byte_fallback == Some(true);
        Ok(Cuts { pattern: patterns.pop(), has_byte_fallback, is_composing, has_whole_chunks })
    }

    /// The name of the kind and its spelling, else the name of a kind that is not supported.
    fn bpe_spelling(&self, texts: &[Option<Cow<'_, str>>]) -> Result<(&'static str, Spelling), &'static str> {
        // Such vocabularies have two forms of most texts: inside a word, and at its border.
        for (affix, kind) in [
            (&self.model.continuing_subword_prefix, "BPE with continuing-subword prefix"),
            (&self.model.end_of_word_suffix, "BPE with end-of-word suffix"),
        ] {
            if affix.as_ref().is_some_and(|affix| !affix.is_empty()) {
                return Err(kind);
            }
        }
        if self.before_model().chain(&self.decoder).any(Component::is_byte_level) {
            return Ok(("byte-level BPE", Spelling::ByteLevel));
        }
        let has_byte_tokens =
            || texts.iter().flatten().any(|token| byte_fallback::single_byte(token).is_some());
        match self.space_mark() {
            Some(space_mark) if self.model.byte_fallback == Some(true) || has_byte_tokens() => {
                Ok(("byte-fallback BPE", Spelling::Marked { space_mark, byte_tokens: true }))
            }
            _ => Err("BPE over characters, without byte-level alphabet or byte fallback"),
        }
    }

    fn unigram_spelling(&self) -> Result<Spelling, &'static str> {
        let space_mark = self.space_mark().ok_or("Unigram without a mark for the space")?;
        let byte_tokens = self.model.byte_fallback == Some(true)
            || self.decoder.as_ref().is_some_and(Component::is_byte_fallback);
        Ok(Spelling::Marked { space_mark, byte_tokens })
    }

    /// Without its decoder, nothing says whether and where the texts of such a tokenizer have spaces.
    fn word_piece_spelling(&self) -> Result<Spelling, &'static str> {
        let (prefix, cleanup) = self
            .decoder
            .as_ref()
            .and_then(Component::word_pieces)
            .ok_or("WordPiece without a WordPiece decoder")?;
        if prefix.is_empty() {
            return Err("WordPiece without a prefix for pieces inside a word");
        }
        Ok(Spelling::WordPieces(WordPieces { prefix: prefix.to_owned(), cleanup }))
    }

    fn before_model(&self) -> impl Iterator<Item = &Component> {
        self.pre_tokenizer.iter().chain(&self.normalizer)
    }

    fn space_mark(&self) -> Option<char> {
        let read = self.decoder.as_ref().and_then(Component::mark_read_as_space);
        read.or_else(|| self.before_model().find_map(Component::mark_put_for_space))
    }
}

impl Model<'_> {
    /// The kind of model. Files of old versions do not name it: it is inferred in the order in which `tokenizers` tries
    /// the kinds.
    fn kind(&self) -> &str {
        match (&self.kind, &self.vocab, &self.merges) {
            (Some(kind), _, _) => kind,
            (None, Some(Vocab::Ids(_)), Some(_)) => "BPE",
            (None, Some(Vocab::Ids(_)), None) if self.continuing_subword_prefix.is_some() => "WordPiece",
            (None, Some(Vocab::Ids(_)), None) => "WordLevel",
            (None, Some(Vocab::List(_)), _) => "Unigram",
            (None, None, _) => "unknown (a model without type and vocabulary)",
        }
    }
}

/// The added tokens by id. Those without text are skipped, as `tokenizers` does.
fn by_id(path: &Path, added: Vec<AddedToken>) -> Result<BTreeMap<TokenId, AddedToken>, ImportError> {
    let mut tokens = BTreeMap::<TokenId, AddedToken>::new();
    for token in added.into_iter().filter(|token| !token.content.is_empty()) {
        let id = match TokenId::try_from(token.id) {
            Ok(id) if token.id < ID_LIMIT => id,
            _ => {
                let AddedToken { id, content: token, .. } = token;
                return Err(ImportError::IdTooLarge { path: path.into(), token, id, limit: ID_LIMIT });
            }
        };
        if let Some(first) = tokens.get(&id) {
            let (first, second) = (first.content.clone(), token.content);
            return Err(ImportError::DuplicateId { path: path.into(), id, first, second });
        }
        tokens.insert(id, token);
    }
    Ok(tokens)
}

/// All data that determine the bytes of an id.
struct Tokens<'a> {
    path: &'a Path,
    /// The model's own, by id.
    texts: &'a [Option<Cow<'a, str>>],
    added: BTreeMap<TokenId, AddedToken>,
    /// The ids of the model whose texts are those of special tokens.
    special: HashSet<TokenId>,
    /// The text of the unknown token.
    unknown: Option<String>,
    /// Its id in the model.
    unknown_id: Option<TokenId>,
    spelling: &'a Spelling,
}

impl Tokens<'_> {
    fn into_table(self) -> Result<TokenTable, ImportError> {
        let length = self.added.last_key_value().map_or(0, |(&id, _)| id as usize + 1).max(self.texts.len());
        let mut table = TokenTable::with_capacity(length);
        let mut added = self.added.iter().peekable();
        for id in 0..TokenId::try_from(length).expect("ids are below the limit") {
            // An id in both is one token: the added definition says what it is.
            let (bytes, special) = if let Some((_, token)) = added.next_if(|(added, _)| **added == id) {
                self.added_token(token)
            } else if let Some(Some(token)) = self.texts.get(id as usize) {
                if self.special.contains(&id) {
                    (token.as_bytes().to_vec(), true)
                } else {
                    (self.model_token(id, token)?, false)
                }
            } else {
                continue;
            };
            table
                .insert(id, bytes, special)
                .map_err(|source| ImportError::Token { path: self.path.into(), source })?;
        }
        Ok(table)
    }

    fn added_token(&self, token: &AddedToken) -> (Vec<u8>, bool) {
        // The unknown token has no text of its own.
        if self.unknown.as_ref() == Some(&token.content) && *self.spelling != Spelling::ByteLevel {
            return (Vec::new(), false);
        }
        if token.special {
            return (token.content.as_bytes().to_vec(), true);
        }
        (self.spelling.added(&token.content), false)
    }

    fn model_token(&self, id: TokenId, token: &str) -> Result<Vec<u8>, ImportError> {
        if self.unknown_id == Some(id) {
            return Ok(Vec::new());
        }
        match self.spelling {
            Spelling::Marked { space_mark, byte_tokens } => {
                Ok(byte_fallback::decode(token, *space_mark, *byte_tokens))
            }
            Spelling::WordPieces(pieces) => Ok(pieces.decode(token)),
            Spelling::ByteLevel => byte_level::decode(token).map_err(|character| {
                let (path, token) = (self.path.into(), token.to_owned());
                ImportError::OutsideAlphabet { path, id, token, character }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE_LEVEL: &str = r#""pre_tokenizer": {"type": "ByteLevel"}"#;
    const METASPACE: &str = r#""decoder": {"type": "Metaspace", "replacement": "▁"}"#;

    fn file(parts: &str, added: &str, model: &str) -> String {
        format!(r#"{{"added_tokens": [{added}], {parts}, "model": {{{model}}}}}"#)
    }

    fn table(json: &str) -> Result<Vec<(Vec<u8>, bool)>, ImportError> {
        let table = read(Path::new("t"), json)?.table;
        Ok(table.tokens().iter().map(|token| (token.bytes.clone(), token.special)).collect())
    }

    fn text(text: &str) -> (Vec<u8>, bool) {
        (text.as_bytes().to_vec(), false)
    }

    fn special(text: &str) -> (Vec<u8>, bool) {
        (text.as_bytes().to_vec(), true)
    }

    #[test]
    fn byte_level_with_added_tokens_as_raw_text() {
        let added = r#"{"id": 5, "content": "<|end|>", "special": true, "normalized": false},
            {"id": 3, "content": "  é", "special": false}, {"id": 1, "content": "Ġ", "special": false}"#;
        let model = r#""type": "BPE", "vocab": {"Ġa": 0, "Ġ": 1, "Ã": 2}, "merges": []"#;
        let found = table(&file(BYTE_LEVEL, added, model)).unwrap();
        // Id 1 is given twice, and the added definition wins; 4 is a hole.
        assert_eq!(
            found,
            [text(" a"), text("Ġ"), (vec![0xc3], false), text("  é"), text(""), special("<|end|>")]
        );
    }

    #[test]
    fn a_model_without_type_is_bpe_if_it_has_merges() {
        let model = r#""vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]"#;
        assert_eq!(table(&file(BYTE_LEVEL, "", model)).unwrap(), [text("a"), text("b"), text("ab")]);
    }

    #[test]
    fn byte_fallback_with_marks_bytes_and_unknown() {
        let added = r#"{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "</s>", "special": true},
            {"id": 6, "content": "▁▁", "special": false}"#;
        let model = r#""type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": [],
            "vocab": {"<unk>": 0, "</s>": 1, "<0xE2>": 2, "▁a": 3, "<0x41>": 4, "<eot>": 5, "▁▁": 6}"#;
        let expected = [
            text(""),
            special("</s>"),
            (vec![0xe2], false),
            text(" a"),
            text("A"),
            text("<eot>"),
            text("  "),
        ];
        assert_eq!(table(&file(METASPACE, added, model)).unwrap(), expected);
        // The same without the flag, which some files lack although they have the byte tokens.
        let model = model.replace(r#""byte_fallback": true,"#, "");
        assert_eq!(table(&file(METASPACE, added, &model)).unwrap(), expected);
    }

    #[test]
    fn an_unknown_token_at_the_end_keeps_the_vocabulary_length() {
        let model = r#""type": "BPE", "unk_token": "?", "byte_fallback": true, "vocab": {"a": 0, "?": 3}"#;
        assert_eq!(table(&file(METASPACE, "", model)).unwrap(), [text("a"), text(""), text(""), text("")]);
    }

    #[test]
    fn unigram_pieces_are_text_with_marks() {
        let added = r#"{"id": 0, "content": "<pad>", "special": true}, {"id": 1, "content": "<unk>", "special": true},
            {"id": 5, "content": "<extra_id_0>", "special": true}"#;
        let model =
            r#""unk_id": 1, "vocab": [["<pad>", 0], ["<unk>", 0], ["▁", -1], ["▁a", -2], ["<0x41>", -3]]"#;
        let found = read(Path::new("t"), &file(METASPACE, added, model)).unwrap();
        assert_eq!(found.kind, "Unigram");
        let expected =
            [special("<pad>"), text(""), text(" "), text(" a"), text("<0x41>"), special("<extra_id_0>")];
        assert_eq!(table(&file(METASPACE, added, model)).unwrap(), expected);
        let with_bytes = format!(r#""type": "Unigram", "byte_fallback": true, {model}"#);
        assert_eq!(table(&file(METASPACE, added, &with_bytes)).unwrap()[4], text("A"));
        let by_decoder = r#""normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}]}"#;
        assert_eq!(table(&file(by_decoder, added, model)).unwrap()[4], text("A"));
        let error = table(&file(METASPACE, "", r#""unk_id": 7, "vocab": [["a", 0]]"#)).unwrap_err();
        assert!(matches!(&error, ImportError::Field { field, .. } if field == "model.unk_id"), "{error:?}");
    }

    #[test]
    fn word_pieces_begin_with_a_space_or_go_on() {
        let added = r#"{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true}"#;
        let model = r###""unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "vocab": {"[UNK]": 0, "[CLS]": 1, "play": 2, "##ing": 3, ".": 4}"###;
        let parts = r###""decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}"###;
        let found = read(Path::new("t"), &file(parts, added, model)).unwrap();
        assert_eq!(found.kind, "WordPiece");
        let mut expected = [text(""), special("[CLS]"), text(" play"), text("ing"), text(".")];
        assert_eq!(table(&file(parts, added, model)).unwrap(), expected);
        expected[4] = text(" .");
        let parts = parts.replace("true", "false");
        assert_eq!(table(&file(&parts, added, model)).unwrap(), expected);
    }

    #[test]
    fn a_control_token_is_special_also_under_the_id_of_the_model() {
        let added = r#"{"id": 9, "content": "</s>", "special": true}"#;
        let model = r#""type": "BPE", "vocab": {"</s>": 0, "a": 1}, "merges": []"#;
        let found = table(&file(BYTE_LEVEL, added, model)).unwrap();
        assert_eq!((&found[0], &found[9]), (&special("</s>"), &special("</s>")));
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        for (parts, model, kind) in [
            (METASPACE, r#""type": "Unigram", "vocab": {"a": 0}"#, "Unigram without a list"),
            (r#""decoder": null"#, r#""vocab": [["a", -1.5]]"#, "Unigram without a mark"),
            (METASPACE, r#""type": "BPE", "vocab": [["a", -1.5]]"#, "BPE without an object"),
            (METASPACE, r#""type": "WordPiece", "vocab": {"a": 0}"#, "without a WordPiece decoder"),
            (METASPACE, r###""continuing_subword_prefix": "##", "vocab": {"a": 0}"###, "WordPiece"),
            (METASPACE, r#""vocab": {"a": 0}"#, "WordLevel"),
            (BYTE_LEVEL, r#""type": "Mystery""#, "Mystery"),
            (BYTE_LEVEL, r#""type": "BPE", "end_of_word_suffix": "</w>", "vocab": {}"#, "end-of-word suffix"),
            (METASPACE, r#""type": "BPE", "vocab": {"a": 0}, "merges": []"#, "over characters"),
            (
                r#""decoder": null"#,
                r#""type": "BPE", "byte_fallback": true, "vocab": {"a": 0}"#,
                "over characters",
            ),
        ] {
            match table(&file(parts, "", model)) {
                Err(ImportError::UnsupportedKind { kind: found, .. }) => {
                    assert!(found.contains(kind), "{found}");
                }
                other => panic!("{kind}: {other:?}"),
            }
        }
    }

    #[test]
    fn characters_outside_the_byte_alphabet_name_token_and_id() {
        let model = r#""type": "BPE", "vocab": {"a": 0, "a b": 7}, "merges": []"#;
        let error = table(&file(BYTE_LEVEL, "", model)).unwrap_err();
        assert!(matches!(&error, ImportError::OutsideAlphabet { id: 7, character: ' ', .. }), "{error:?}");
        assert!(error.to_string().contains("\"a b\""));
    }

    #[test]
    fn added_tokens_are_checked_like_the_others() {
        let model = r#""type": "BPE", "vocab": {"a": 0}, "merges": []"#;
        let twice =
            r#"{"id": 3, "content": "x", "special": true}, {"id": 3, "content": "y", "special": true}"#;
        let error = table(&file(BYTE_LEVEL, twice, model)).unwrap_err();
        assert!(matches!(error, ImportError::DuplicateId { id: 3, .. }));
        let far = r#"{"id": 4294967296, "content": "x", "special": true}"#;
        let error = table(&file(BYTE_LEVEL, far, model)).unwrap_err();
        assert!(matches!(error, ImportError::IdTooLarge { id: 4_294_967_296, .. }));
        let nameless = r#"{"id": 3, "special": true}"#;
        let error = table(&file(BYTE_LEVEL, nameless, model)).unwrap_err();
        assert!(matches!(error, ImportError::WrongShape { .. }));
    }

    #[test]
    fn tokens_too_long_for_a_vocabulary_are_named() {
        let model = format!(r#""type": "BPE", "vocab": {{"{}": 4}}, "merges": []"#, "a".repeat(5000));
        let error = table(&file(BYTE_LEVEL, "", &model)).unwrap_err();
        assert!(matches!(error, ImportError::Token { .. }));
        assert_eq!(error.kind(), gobo_types::ErrorKind::Limit);
    }

    #[test]
    fn broken_json_says_where() {
        let whole = file(BYTE_LEVEL, "", r#""type": "BPE", "vocab": {"a": 0}, "merges": []"#);
        for end in 0..whole.len() {
            let error = table(&whole[..end]).unwrap_err();
            assert!(
                matches!(&error, ImportError::Truncated { length_bytes, .. } if *length_bytes == end),
                "{error:?}"
            );
        }
        let error = table(&whole.replace(r#""a": 0"#, r#""a"; 0"#)).unwrap_err();
        let position = whole.find(": 0}").unwrap();
        assert!(matches!(&error, ImportError::NotJson { offset, .. } if *offset == position), "{error:?}");
        assert!(matches!(table(r#"{"a": 1}"#), Err(ImportError::WrongShape { .. })));
        assert!(matches!(table(&whole.replace('0', "[]")), Err(ImportError::WrongShape { .. })));
        let twice = format!(r#"{{"model": {{}}, {}"#, &whole[1..]);
        assert!(matches!(table(&twice), Err(ImportError::WrongShape { .. })));
        assert!(matches!(table(&format!("{whole} x")), Err(ImportError::NotJson { .. })));
    }
}
