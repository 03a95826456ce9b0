//! Tokens of SentencePiece-style BPE: text with a mark for the space, and `<0xNN>` for single bytes.

/// The bytes that a token adds to a text after a prompt. (At the very start of a text, decoders of this kind strip
/// one space; that is the matter of whoever starts there.)
pub(crate) fn decode(token: &str, space_mark: char) -> Vec<u8> {
    if let Some(byte) = single_byte(token) {
        return vec![byte];
    }
    let mut bytes = Vec::with_capacity(token.len());
    for (index, part) in token.split(space_mark).enumerate() {
        if index > 0 {
            bytes.push(b' ');
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// The byte of `<0xNN>`, upper or lower case, as the decoder of `tokenizers` reads it.
pub(crate) fn single_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let well_formed = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    well_formed.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_spaces_and_byte_tokens_are_bytes() {
        assert_eq!(decode("▁▁the▁", '▁'), b"  the ");
        assert_eq!(decode("é", '▁'), "é".as_bytes());
        assert_eq!(decode("<0xF0>", '▁'), [0xf0]);
        assert_eq!(decode("<0x0a>", '▁'), b"\n");
    }

    #[test]
    fn look_alikes_of_byte_tokens_are_text() {
        for token in ["<0x0>", "<0x00A>", "<0xG0>", "<0x+1>", "<0x>", "0x0A", "<0x0A> "] {
            assert_eq!(decode(token, '▁'), token.as_bytes());
        }
    }
}
