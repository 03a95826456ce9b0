//! Compares a vocabulary with the tokenizer's own decoder, id by id, and sends texts through its encoder and back.

use std::collections::BTreeMap;

use gobo_types::TokenId;

use super::{EncodeError, Encoder};

/// Texts that a lossless tokenizer encodes and decodes to themselves: code, JSON, many scripts, emoji, whitespace.
pub const CORPUS: [(&str, &str); 24] = [
    ("word", "hello"),
    ("word behind a space", " hello"),
    ("sentence", "Hello, world! The quick brown fox's 12345678 jumps."),
    ("rust", "fn main() {\n    let x = vec![1, 2, 3];\n\tprintln!(\"{x:?}\");\n}\n"),
    ("python", "def f(a, *b, **c):\n    return {k: v for k, v in c.items() if k != '__x__'}\n"),
    ("compact json", r#"{"a":[1,-2.5e+3,{"b":"\u00e9\n"}],"c":null}"#),
    ("indented json", "{\n  \"x\": [\n    true,\n    \"y\"\n  ]\n}"),
    ("punctuation", ".,;:!?-_()[]{}'\"`~@#$%^&*+=|\\/<>"),
    ("typography", "jumps — “quoted” … don’t"),
    ("latin", "Straße, naïve, żółć, ĿġĊ"),
    ("japanese", "日本語のテキストです。漢字かな交じり文"),
    ("chinese", "你好,世界!"),
    ("korean", "한국어 텍스트"),
    ("russian", "Привет, мир"),
    ("hebrew", "שלום עולם"),
    ("arabic", "مرحبا بالعالم"),
    ("hindi", "नमस्ते दुनिया"),
    ("thai", "สวัสดีชาวโลก"),
    ("emoji", "🙂👨‍👩‍👧‍👦🏳️‍🌈🇩🇪"),
    ("rare planes", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈"),
    ("spaces", "a  b       c   "),
    ("lines and tabs", "\n\n\n  indented\r\n\t\ttabs\t\n"),
    ("names of special tokens", "<|endoftext|></s><s>[INST]<eos><|im_end|> <0x0A> <unk>"),
    ("dates and addresses", "2024-02-29T23:59:60Z 192.168.0.1 a.b+c@example.org"),
];

/// An id whose bytes differ from the output of the source's own decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The id.
    pub id: TokenId,
    /// The bytes of the vocabulary, lossily as text.
    pub ours: String,
    /// The output of the decoder for the id after other text.
    pub theirs: String,
}

/// How one text of [`CORPUS`] went through the source's encoder and the vocabulary's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoundTrip {
    /// The bytes of the encoder's ids are the text.
    Equal,
    /// The source itself does not give the text back: it normalizes it, or cannot write it.
    SourceLossy,
    /// The source gives the text back and the vocabulary's bytes do not: a fault of the import.
    Lost,
}

/// The result of [`Encoder::conformance`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conformance {
    /// Ordinary ids whose bytes were compared with the source's decoder.
    pub compared: u32,
    /// Those among them whose bytes cannot be completed to whole characters by single-byte tokens, such as 0xff: decoders write
    /// U+FFFD for them, and only that is compared.
    pub as_replacement: u32,
    /// Ordinary ids that occur only in the configuration beside the tokenizer file: no decoder knows them.
    pub beside: u32,
    /// Ids that differ.
    pub mismatches: Vec<Mismatch>,
    /// Each name of [`CORPUS`] with how it went.
    pub round_trips: BTreeMap<&'static str, RoundTrip>,
}

impl Conformance {
    /// Whether all differences are losses of the source itself.
    pub fn passes(&self) -> bool {
        self.compared > 0
            && self.mismatches.is_empty()
            && !self.round_trips.values().any(|trip| *trip == RoundTrip::Lost)
    }
}

impl Encoder {
    /// Compares a vocabulary of `len` ids with the source's own decoder, id by id, and sends [`CORPUS`] through the
    /// source's encoder. `bytes_of` is as for [`Encoder::encode_continuation`]. O(ids).
    ///
    /// Each id is decoded after an ordinary letter, and the output for the letter alone is removed: this is text after a prompt,
    /// not the start of a text. An id with a part of a character is put between single-byte tokens that complete the
    /// character, so that it is compared byte for byte too.
    ///
    /// # Errors
    /// [`EncodeError`] if the library fails.
    pub fn conformance<'v>(
        &self,
        len: u32,
        bytes_of: impl Fn(TokenId) -> Option<&'v [u8]>,
    ) -> Result<Conformance, EncodeError> {
        let mut found = Conformance::default();
        let mut singles = [None; 256];
        for id in 0..len {
            if let Some([byte]) = bytes_of(id) {
                singles[usize::from(*byte)] = Some(id);
            }
        }
        if let Some(anchor) = anchor(len, &bytes_of) {
            let before = self.decode(&[anchor])?;
            for id in 0..len {
                let Some(bytes) = bytes_of(id) else { continue };
                if self.is_beside(id) {
                    found.beside += 1;
                    continue;
                }
                found.compared += 1;
                let (ids, ours) = whole_characters(id, bytes, &singles).unwrap_or_else(|| {
                    found.as_replacement += 1;
                    (vec![id], String::from_utf8_lossy(bytes).into_owned())
                });
                let theirs = self.decode(&[&[anchor], &*ids].concat())?;
                if theirs.strip_prefix(&before) != Some(&*ours) {
                    found.mismatches.push(Mismatch { id, ours, theirs });
                }
            }
        }
        for (name, text) in CORPUS {
            let trip = if self.encode_continuation(text, &bytes_of)?.is_some() {
                RoundTrip::Equal
            } else if self.gives_back(text)? {
                RoundTrip::Lost
            } else {
                RoundTrip::SourceLossy
            };
            found.round_trips.insert(name, trip);
        }
        Ok(found)
    }
}

/// A token to put before others: an `a`, or else a letter, with or without a space. The last one, because byte-fallback
/// tokenizers spell letters twice, first as bytes, and adjacent bytes are decoded as one character.
fn anchor<'v>(len: u32, bytes_of: impl Fn(TokenId) -> Option<&'v [u8]>) -> Option<TokenId> {
    let letter = |id| match bytes_of(id)? {
        [letter] | [b' ', letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    let last = |wanted: fn(u8) -> bool| (0..len).rev().find(|&id| letter(id).is_some_and(wanted));
    last(|letter| letter == b'a').or_else(|| last(|_| true))
}

/// `id`, between single-byte tokens that complete its bytes to whole characters, and the text of all of them. `None` if there is
/// no such text.
fn whole_characters(
    id: TokenId,
    bytes: &[u8],
    singles: &[Option<TokenId>; 256],
) -> Option<(Vec<TokenId>, String)> {
    // Lead bytes after which one, two or three continuation bytes are free; and enough of them after any lead byte.
    const BEFORE: [&[u8]; 4] = [b"", b"\xc3", b"\xe1", b"\xf1"];
    const AFTER: [&[u8]; 6] = [b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xa0\x80", b"\x90\x80\x80"];
    let spelled =
        |bytes: &[u8]| bytes.iter().map(|&byte| singles[usize::from(byte)]).collect::<Option<Vec<_>>>();
    BEFORE.iter().flat_map(|before| AFTER.map(|after| (*before, after))).find_map(|(before, after)| {
        let text = String::from_utf8([before, bytes, after].concat()).ok()?;
        Some(([spelled(before)?, vec![id], spelled(after)?].concat(), text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which a token can begin or end inside a character.
    #[test]
    fn parts_of_characters_are_made_whole() {
        let singles: [Option<TokenId>; 256] = std::array::from_fn(|byte| TokenId::try_from(byte).ok());
        for text in ["aé", "日b", "🙂", "ߐࠀ\u{d7ff}\u{10000}\u{10ffff}", "é日🙂"] {
            let bytes = text.as_bytes();
            for from in 0..bytes.len() {
                for to in from + 1..=bytes.len() {
                    let part = &bytes[from..to];
                    let (ids, whole) = whole_characters(999, part, &singles).unwrap();
                    let at = ids.iter().position(|&id| id == 999).unwrap();
                    assert_eq!(&whole.as_bytes()[at..][..part.len()], part);
                    assert_eq!(ids.len() + part.len() - 1, whole.len());
                }
            }
        }
        for never in [&b"\xff"[..], b"\xc0", b"a\xf5", b"\x80\x80\x80\x80", b"\xc3a", b"\xed\xa0"] {
            assert_eq!(whole_characters(999, never, &singles), None, "{never:?}");
        }
        assert_eq!(whole_characters(999, b"\xc3", &[None; 256]), None);
    }

    #[test]
    fn a_letter_stands_before() {
        let find = |tokens: &[&'static [u8]]| {
            let len = TokenId::try_from(tokens.len()).unwrap();
            anchor(len, |id| Some(tokens[id as usize]))
        };
        assert_eq!(find(&[b"b", b"a", b" a", b"ab", b"z"]), Some(2));
        assert_eq!(find(&[b"1", b"b", b" c", b"cd"]), Some(2));
        assert_eq!(find(&[b"1", b"cd"]), None);
    }
}
