//! Rewrites a JSON text with single spaces after separators and characters raw, without reading its numbers.

use serde_json::Value;

/// A JSON text as Python's `json.dumps(…, ensure_ascii=False)` spaces and escapes it, which is how corpora of instances and
/// most models write: one space after each comma and colon, characters raw unless JSON has them escaped. Properties stay in
/// their order and numbers in their spelling.
pub fn plain_text(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(char) = rest.chars().next() {
        let length = if char == '"' { string_length(rest) } else { char.len_utf8() };
        let (token, after) = rest.split_at(length);
        rest = after;
        match char {
            '"' => match serde_json::from_str(token) {
                Ok(text) => out.push_str(&Value::String(text).to_string()),
                // A lone surrogate is no character: its escape is kept.
                Err(_) => out.push_str(token),
            },
            ',' | ':' => {
                out.push(char);
                out.push(' ');
            }
            ' ' | '\t' | '\n' | '\r' => {}
            _ => out.push(char),
        }
    }
    out
}

/// Length in bytes of the string literal at the front, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_written_with_single_spaces() {
        for (read, written) in [
            (
                r#"{"b":[1,2.50, -0 ,1E+05,1e5,123456789012345678901234567890],"a":{}}"#,
                r#"{"b": [1, 2.50, -0, 1E+05, 1e5, 123456789012345678901234567890], "a": {}}"#,
            ),
            ("[ [ ] , null,\r\n\ttrue ]", "[[], null, true]"),
            (r#""\u00e9\/\u007f\u001F\n\"\\\ud83d\ude00""#, "\"é/\u{7f}\\u001f\\n\\\"\\\\😀\""),
            (r#"{"é,:":{"b\\":"[ , ]"}}"#, r#"{"é,:": {"b\\": "[ , ]"}}"#),
            (r#"["\ud800","a"]"#, r#"["\ud800", "a"]"#),
            (r#"["a\""#, r#"["a\""#),
        ] {
            assert_eq!(plain_text(read), written);
        }
    }
}
