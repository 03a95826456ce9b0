//! Tokens of SentencePiece kind: text with a mark for the space, and `<0xNN>` for single bytes.

/// The bytes that a token adds to a text after a prompt. (At the very start of a text, decoders of this kind strip one space,
/// which is a matter of the constraint.) `byte_tokens`: whether `<0xNN>` is a byte or text.
pub(crate) fn decode(token: &str, space_mark: char, byte_tokens: bool) -> Vec<u8> {
    match single_byte(token) {
        Some(byte) if byte_tokens => vec![byte],
        _ => with_spaces(token, space_mark),
    }
}

/// The bytes of a text with marks for its spaces.
pub(crate) fn with_spaces(token: &str, space_mark: char) -> Vec<u8> {
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
        assert_eq!(decode("▁▁the▁", '▁', true), b"  the ");
        assert_eq!(decode("é", '▁', true), "é".as_bytes());
        assert_eq!(decode("<0xF0>", '▁', true), [0xf0]);
        assert_eq!(decode("<0x0a>", '▁', true), b"\n");
        assert_eq!(decode("<0x0a>", '▁', false), b"<0x0a>");
    }

    #[test]
    fn look_alikes_of_byte_tokens_are_text() {
        for token in ["<0x0>", "<0x00A>", "<0xG0>", "<0x+1>", "<0x>", "0x0A", "<0x0A> "] {
            assert_eq!(decode(token, '▁', true), token.as_bytes());
        }
    }
}
