//! Surrogates: a `tokenizer.json` for a source of another format, so that the `tokenizers` library encodes and decodes for it.
//! It is made from the file's own texts (or the bytes of its ranks), not from the vocabulary that is compared with it. Control
//! tokens are left out: no text reaches them.
//!
//! Where a source is silent, or the library does not know its settings, the surrogate may cut texts into other tokens than the
//! model's own tokenizer; the bytes of the tokens are the same.

use std::collections::HashMap;

use gobo_types::TokenId;
use serde_json::{Value, json};

use crate::bytes::byte_level;
use crate::bytes::piece::PieceKind;

/// The surrogate of a byte-level model: ids with their texts in the byte alphabet; `merges` in their order; the regex by which
/// texts are split first, that of GPT-2 if none is known. A text that is a token as a whole needs no merges.
pub(crate) fn of_byte_level(
    texts: &[(String, TokenId)],
    merges: &[(String, String)],
    pattern: Option<&str>,
) -> Value {
    let byte_level = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
    let split = match pattern {
        Some(pattern) => json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            byte_level(false),
        ]}),
        None => byte_level(true),
    };
    let vocab: serde_json::Map<String, Value> =
        texts.iter().map(|(text, id)| (text.clone(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "post_processor": null, "pre_tokenizer": split, "decoder": byte_level(true),
        "model": {"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": true},
    })
}

/// The surrogate of ranks: tokens in the order of their ranks, which is that of their ids.
pub(crate) fn of_ranks<'b>(ranks: impl Iterator<Item = (&'b [u8], TokenId)>, pattern: Option<&str>) -> Value {
    let texts: Vec<(String, TokenId)> = ranks.map(|(bytes, id)| (byte_level::encode(bytes), id)).collect();
    let merges = merges_of(&texts.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>());
    of_byte_level(&texts, &merges, pattern)
}

/// A piece of a SentencePiece model, from its own file or from GGUF.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) kind: PieceKind,
    pub(crate) score: f32,
}

/// A model of pieces with marks for their spaces. The position of a piece is its id. SentencePiece's own table of
/// normalization is left out: the library trusts its offsets, and would panic at a damaged one.
#[derive(Debug)]
pub(crate) struct PieceModel {
    pub(crate) pieces: Vec<Piece>,
    /// Else BPE.
    pub(crate) unigram: bool,
    /// Whether a space is put before every text.
    pub(crate) space_first: bool,
    /// Whether runs of spaces are one.
    pub(crate) one_space: bool,
}

impl PieceModel {
    pub(crate) fn into_json(self) -> Value {
        let has_bytes = self.pieces.iter().any(|piece| piece.kind == PieceKind::Byte);
        let mut normalizers = Vec::new();
        if self.one_space {
            normalizers.push(json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}));
        }
        if self.space_first {
            normalizers.push(json!({"type": "Prepend", "prepend": " "}));
        }
        normalizers.push(json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"}));
        let mut decoders = vec![json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})];
        if has_bytes {
            decoders.push(json!({"type": "ByteFallback"}));
        }
        decoders.push(json!({"type": "Fuse"}));
        if self.space_first {
            decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        }
        let model = if self.unigram { self.unigram_model(has_bytes) } else { self.bpe_model(has_bytes) };
        json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "pre_tokenizer": null,
            "post_processor": null, "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "decoder": {"type": "Sequence", "decoders": decoders}, "model": model,
        })
    }

    fn unigram_model(&self, byte_fallback: bool) -> Value {
        let vocab: Vec<Value> = (0..)
            .zip(&self.pieces)
            .map(|(id, Piece { text, kind, score })| match kind {
                // Keeps the position, under a name that no text has: U+FDD0 is no character.
                PieceKind::Control | PieceKind::Unused => json!([format!("\u{fdd0}{id}"), score]),
                _ => json!([text, score]),
            })
            .collect();
        let unknown = self.pieces.iter().position(|piece| piece.kind == PieceKind::Unknown);
        json!({"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": byte_fallback})
    }

    fn bpe_model(&self, byte_fallback: bool) -> Value {
        let (mut vocab, mut merged) = (serde_json::Map::new(), Vec::new());
        let mut unknown = Value::Null;
        for (id, Piece { text, kind, score }) in (0_u32..).zip(&self.pieces) {
            match kind {
                PieceKind::Control | PieceKind::Unused => continue,
                PieceKind::Unknown => unknown = json!(text),
                PieceKind::Byte => {}
                PieceKind::Normal | PieceKind::UserDefined => merged.push((text.as_str(), *score, id)),
            }
            vocab.insert(text.clone(), json!(id));
        }
        // Of two possible pieces, the one with the higher score is made.
        merged.sort_by(|(_, a, id_of_a), (_, b, id_of_b)| b.total_cmp(a).then(id_of_a.cmp(id_of_b)));
        let texts: Vec<&str> = merged.into_iter().map(|(text, _, _)| text).collect();
        json!({
            "type": "BPE", "unk_token": unknown, "fuse_unk": true, "byte_fallback": byte_fallback,
            "vocab": vocab, "merges": merges_of(&texts),
        })
    }
}

/// The merges that make `texts`, the first ones first: every way to join one from two others.
pub(crate) fn merges_of(texts: &[&str]) -> Vec<(String, String)> {
    let order: HashMap<&str, usize> = texts.iter().enumerate().map(|(order, text)| (*text, order)).collect();
    let mut merges = Vec::new();
    for text in texts {
        let cuts = text.char_indices().skip(1).map(|(at, _)| text.split_at(at));
        let mut ways: Vec<(usize, usize)> = cuts
            .filter_map(|(left, right)| order.get(left).copied().zip(order.get(right).copied()))
            .collect();
        ways.sort_unstable();
        merges
            .extend(ways.into_iter().map(|(left, right)| (texts[left].to_owned(), texts[right].to_owned())));
    }
    merges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_come_in_the_order_of_their_products() {
        let found = merges_of(&["a", "b", "ab", "ba", "aba", "é"]);
        let expected = [("a", "b"), ("b", "a"), ("a", "ba"), ("ab", "a")];
        assert_eq!(found, expected.map(|(left, right)| (left.to_owned(), right.to_owned())));
    }
}
