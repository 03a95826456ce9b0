use std::collections::BTreeMap;

use gobo_types::TokenId;

use crate::encoder::{EncodeError, Encoder};

/// Texts that a tokenizer without loss encodes and decodes to themselves: code, JSON, many scripts, emoji, white space.
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

/// An id whose bytes are not what the source's own decoder writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The id.
    pub id: TokenId,
    /// The bytes of the vocabulary, lossily as text.
    pub ours: String,
    /// What the decoder writes for the id behind other text.
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

/// What [`Encoder::conformance`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conformance {
    /// Ordinary ids whose bytes were compared with the source's decoder.
    pub compared: u32,
    /// Those that differ. Bytes that are no whole characters are compared as the replacement character.
    pub mismatches: Vec<Mismatch>,
    /// Each name of [`CORPUS`] with how it went.
    pub round_trips: BTreeMap<&'static str, RoundTrip>,
}

impl Conformance {
    /// Whether nothing differs that the source does not lose itself.
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
    /// Each id is decoded behind an ordinary `a`, and what the decoder writes for the `a` alone is taken off: text after
    /// a prompt, which the start of a text is not.
    ///
    /// # Errors
    /// [`EncodeError`] if the library behind fails.
    pub fn conformance<'v>(
        &self,
        len: u32,
        bytes_of: impl Fn(TokenId) -> Option<&'v [u8]>,
    ) -> Result<Conformance, EncodeError> {
        let mut found = Conformance::default();
        // The last such id: byte-fallback tokenizers spell an `a` twice, first as a byte, and bytes side by side are decoded
        // as one character or not at all.
        let anchor =
            (0..len).rev().find(|&id| bytes_of(id).is_some_and(|bytes| bytes == b"a" || bytes == b" a"));
        if let Some(anchor) = anchor {
            let before = self.decode(&[anchor])?;
            for id in 0..len {
                let Some(bytes) = bytes_of(id) else { continue };
                found.compared += 1;
                let both = self.decode(&[anchor, id])?;
                let ours = String::from_utf8_lossy(bytes);
                if both.strip_prefix(&before) != Some(&*ours) {
                    found.mismatches.push(Mismatch { id, ours: ours.into_owned(), theirs: both });
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
