//! The text of a value as every policy allows it (`docs/json-schema.md`, *Texts of a value*): one space after each comma
//! and each colon, characters raw or else in their shortest escape, numbers without an exponent.

use std::fmt::Write as _;

use serde_json::Value;

/// Longest shift of a point that is written out; numbers with a larger exponent stay as they are.
const MAX_SHIFT: i64 = 4096;

/// The text of a value. O(length of the text).
pub fn spelled(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => number_without_exponent(&number.to_string()),
        Value::String(text) => string(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(spelled).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{}: {}", string(name), spelled(value));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                write!(out, "\\u{:04x}", u32::from(char)).expect("a string takes everything");
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

/// A JSON number with its point where the exponent puts it, without zeros that change nothing.
fn number_without_exponent(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else { return text.to_owned() };
    if exponent.abs() >= MAX_SHIFT {
        return text.to_owned();
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    // Enough zeros on both sides that the point falls between two digits.
    let digits = format!("{}{whole}{fraction}{}", zeros(-exponent), zeros(exponent));
    let point = whole.len() + usize::try_from(exponent.max(0)).expect("it is small");
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    match (whole, fraction) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_exponents() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("-0e7", "0"),
            ("12", "12"),
            ("-1.50", "-1.5"),
            ("1.50e2", "150"),
            ("1e-3", "0.001"),
            ("12.5E+1", "125"),
            ("-12.5e-3", "-0.0125"),
            ("120e-1", "12"),
            ("0.001e3", "1"),
            ("9223372036854776001", "9223372036854776001"),
            ("1e4096", "1e4096"),
            ("1e99999999999999999999", "1e99999999999999999999"),
        ] {
            assert_eq!(number_without_exponent(text), expected, "{text}");
        }
    }

    #[test]
    fn characters_have_their_shortest_form() {
        let value: Value =
            serde_json::from_str(r#"{"\u0061\/": ["\u00e9\n\u001F\u007f\"\\", null, true]}"#).unwrap();
        assert_eq!(spelled(&value), "{\"a/\": [\"é\\n\\u001f\u{7f}\\\"\\\\\", null, true]}");
    }
}
