//! Encodes a text as the continuation of another one.

use gobo_types::TokenId;
use gobo_vocab::TokenTable;

use super::{EncodeError, Encoder};

/// Texts put before the one to encode, and cut off again, so that it is encoded as text after a prompt: decoders and prefix
/// spaces treat the start of a text differently.
///
/// Tried in this order until one leaves a token boundary at the cut. Most answers follow a line feed, and almost every split
/// regex cuts after it, except before whitespace; the others are for that case, and for vocabularies with merges across lines.
const SENTINELS: [&str; 7] = ["a\n", "a", "1", ".", "\u{2}", "\u{1f642}", "\u{4e00}"];

impl Encoder {
    /// The ids of `text` where it follows other text. Names of special tokens in it are text like any other.
    ///
    /// ```
    /// # #[cfg(feature = "builtin")] {
    /// use gobo_tokenizer::{Encoder, builtin, ordinary_bytes};
    ///
    /// let gpt2 = builtin("r50k_base").expect("a built-in name");
    /// let encoder = Encoder::builtin("r50k_base").expect("a built-in name");
    /// let ids = encoder.encode_continuation(" the cat", ordinary_bytes(&gpt2.table))?;
    /// assert_eq!(ids, Some(vec![262, 3797]));
    /// # }
    /// # Ok::<(), gobo_tokenizer::EncodeError>(())
    /// ```
    ///
    /// `bytes_of` gives the bytes of an ordinary token, and `None` for special tokens and holes; it must be of the
    /// same tokenizer. The ids returned are ordinary, and their bytes are exactly those of `text`. `Ok(None)`: the
    /// tokenizer cannot encode this text faithfully (it normalizes it, or has no token for a part of it), or never
    /// puts a token boundary before it.
    ///
    /// # Errors
    /// [`EncodeError::HuggingFace`] and [`EncodeError::Split`] if the library fails.
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
}

/// The bytes of a table's ordinary tokens, for [`Encoder::encode_continuation`].
pub fn ordinary_bytes<'a>(table: &'a TokenTable) -> impl Fn(TokenId) -> Option<&'a [u8]> {
    move |id| {
        let token = table.tokens().get(id as usize)?;
        (!token.special && !token.bytes.is_empty()).then_some(&*token.bytes)
    }
}

/// The number of tokens that spell `sentinel` and no more, perhaps after a space that the tokenizer puts before
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
    fn cuts_fall_on_token_boundaries_after_the_sentinel_only() {
        assert_eq!(cut(&[4, 3], "a\n", "b", bytes_of), Some(1));
        assert_eq!(cut(&[6, 2, 3], "a\n", "b", bytes_of), Some(2), "a prefix space belongs to the sentinel");
        assert_eq!(cut(&[1, 5], "a\n", "b", bytes_of), None, "no boundary");
        assert_eq!(cut(&[4, 1], "a\n", "b", bytes_of), None, "another text");
        assert_eq!(cut(&[1, 4, 3], "a\n", "b", bytes_of), None, "another sentinel");
        assert_eq!(cut(&[4, 3, 99], "a\n", "b", bytes_of), None, "a special token or a hole");
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
