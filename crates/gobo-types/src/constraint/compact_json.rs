//! The canonical text of a schema: JSON without whitespace between its tokens.

/// A JSON text without the whitespace between its tokens; everything else stays as it is. A text that is no JSON stays no
/// JSON. O(bytes).
pub fn compact_json(text: &str) -> String {
    let is_blank = |byte: &u8| b" \t\n\r".contains(byte);
    let is_word = |char: char| char.is_alphanumeric() || "+-.".contains(char);
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    // Whole runs are copied, because this is done to every schema of a request. Whitespace, quotes and backslashes are bytes of
    // no other character.
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' {
            at = end_of_string(bytes, at + 1);
        } else if is_blank(byte) {
            out.push_str(&text[kept..at]);
            at += bytes[at..].iter().take_while(|byte| is_blank(byte)).count();
            kept = at;
            // Two words with whitespace between them are no JSON, and must not become JSON.
            if out.chars().next_back().is_some_and(is_word) && text[at..].chars().next().is_some_and(is_word)
            {
                out.push(' ');
            }
        } else {
            at += 1;
        }
    }
    out.push_str(&text[kept..]);
    out
}

/// The position after the quote that ends a string, or the end of a text without one.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|byte| b"\"\\".contains(byte)))
    {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // The byte after a backslash ends nothing.
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whitespace_between_tokens_is_dropped() {
        for (text, expected) in [
            (" { \"a b\" :\t[1 , 2.0e1,\r\n\"\\\" \\\\\" , true ] } ", r#"{"a b":[1,2.0e1,"\" \\",true]}"#),
            ("1 2", "1 2"),
            ("tr ue", "tr ue"),
            ("- 1", "- 1"),
            (" \"a\\", "\"a\\"),
            (" \"a\\\"", "\"a\\\""),
            (" \"\\é \" é é", "\"\\é \"é é"),
            ("\\\" \" \" ", "\\\" \"\" "),
        ] {
            assert_eq!(compact_json(text), expected);
            assert_eq!(compact_json(expected), expected);
        }
    }
}
