//! The alphabet of byte-level BPE: every byte as one printable character, so that any bytes make a JSON key.

/// The byte that a character stands for, `None` outside the alphabet.
///
/// GPT-2's `bytes_to_unicode`: printable ASCII and most of Latin-1 stand for themselves; the other 68 bytes, in
/// ascending order, are U+0100 and up (space is `Ġ`, line feed `Ċ`).
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// The character that stands for a byte.
fn char_of(byte: u8) -> char {
    let code = match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => u32::from(byte),
        0..=0x20 => u32::from(byte) + 0x100,
        0x7f..=0xa0 => u32::from(byte) - 0x7f + 0x121,
        0xad => 0x143,
    };
    char::from_u32(code).expect("all of the alphabet are characters")
}

/// Bytes written in the alphabet.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char_of).collect()
}

/// The bytes of a token written in the alphabet.
///
/// # Errors
/// The first character outside the alphabet.
pub(crate) fn decode(token: &str) -> Result<Vec<u8>, char> {
    // No token has more bytes than its text. Collected into a `Result`, the bytes would be moved several times.
    let mut bytes = Vec::with_capacity(token.len());
    for character in token.chars() {
        bytes.push(byte_of(character).ok_or(character)?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_exactly_one_character() {
        // GPT-2's own definition, the other way round.
        let stands_for_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        let mut next = 0x100;
        for byte in 0..=255_u8 {
            let character = if stands_for_itself(byte) {
                char::from(byte)
            } else {
                next += 1;
                char::from_u32(next - 1).unwrap()
            };
            assert_eq!(byte_of(character), Some(byte), "{byte}");
            assert_eq!(char_of(byte), character, "{byte}");
        }
        let covered = ('\0'..=char::MAX).filter(|&character| byte_of(character).is_some()).count();
        assert_eq!(covered, 256);
    }

    #[test]
    fn tokens_decode_or_name_the_character() {
        assert_eq!(decode("Ġthe"), Ok(b" the".to_vec()));
        assert_eq!(decode("ĠÃ©"), Ok(" é".as_bytes().to_vec()));
        assert_eq!(decode("a b"), Err(' '));
        assert_eq!(decode("日"), Err('日'));
    }
}
