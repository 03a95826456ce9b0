//! `WordPiece` tokens: a word's first piece as it is, the others after a prefix, `##`.

/// How the decoder of a `WordPiece` tokenizer puts pieces together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordPieces {
    /// The prefix of pieces inside a word; no part of the text.
    pub(crate) prefix: String,
    /// Whether spaces before punctuation and English contractions are taken out again.
    pub(crate) cleanup: bool,
}

/// The replacements of `cleanup`, in this order, in every piece by itself. From `tokenizers`, `decoders/wordpiece.rs`.
const CLEANUP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

impl WordPieces {
    /// The bytes that a piece adds to a text after a prompt, exactly as the decoder writes a piece that is not the
    /// first: one inside a word is its text, any other begins with a space, unless the clean-up takes it away.
    pub(crate) fn decode(&self, piece: &str) -> Vec<u8> {
        let mut text = String::with_capacity(1 + piece.len());
        match piece.strip_prefix(&*self.prefix) {
            Some(rest) => text.push_str(rest),
            None => text.extend([" ", piece]),
        }
        // Only a space before one of these is replaced, and most pieces have no such space.
        let may_change = |pair: &[u8]| pair[0] == b' ' && b".?!,'nd".contains(&pair[1]);
        if self.cleanup && text.as_bytes().windows(2).any(may_change) {
            for (from, to) in CLEANUP {
                if text.contains(from) {
                    text = text.replace(from, to);
                }
            }
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::Decoder as _;
    use tokenizers::decoders::wordpiece::WordPiece;

    use super::*;

    #[test]
    fn pieces_are_what_the_decoder_writes_after_another() {
        let pieces = [
            "the",
            "##ing",
            "##",
            "#",
            "###",
            "##.",
            ".",
            "?",
            "!",
            ",",
            "'",
            "n't",
            "'m",
            "do not",
            "'s",
            "'ve",
            "'re",
            "'ll",
            "...",
            "a .b",
            "é",
            "[unused0]",
            "-",
        ];
        for cleanup in [false, true] {
            let own = WordPieces { prefix: "##".into(), cleanup };
            let decoder = WordPiece::new("##".into(), cleanup);
            for piece in pieces {
                let decoded = decoder.decode_chain(vec!["a".into(), piece.into()]).unwrap();
                assert_eq!(own.decode(piece), decoded[1].as_bytes(), "{piece}, {cleanup}");
            }
        }
    }
}
