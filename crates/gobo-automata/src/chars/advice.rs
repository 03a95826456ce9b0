//! What to do next where a pattern is refused.
//!
//! Patterns come from other dialects: PCRE, POSIX, JavaScript literals. What those have beside the syntax of `regex-syntax` is
//! recognised by how it begins.

use regex_syntax::ast::ErrorKind;

/// Where look-around is refused.
pub(super) const LOOK_AROUND: &str = "Say the same without it, with classes and alternatives.";

/// Where a byte that is no character is asked for.
pub(super) const UNICODE: &str =
    "Leave (?-u) out, and write classes such as [0-9A-Za-z] where ASCII alone is meant.";

/// Where a property of Unicode is not known.
pub(super) const PROPERTY: &str =
    "Write a property of Unicode by its name, as in \\p{L}, \\p{Lu} or \\p{Greek}.";

/// Where a backreference is refused.
const BACKREFERENCE: &str =
    "Write the repeated texts out, as in aa|bb for ([ab])\\1; no automaton compares two parts of a text.";

/// What to do about a pattern that cannot be parsed; `at` is the place of the error.
pub(super) fn advice(error: &ErrorKind, pattern: &str, at: usize) -> String {
    let rest = &pattern[at..];
    let fixed = match error {
        ErrorKind::UnsupportedBackreference => BACKREFERENCE,
        ErrorKind::UnsupportedLookAround => LOOK_AROUND,
        ErrorKind::RepetitionCountDecimalEmpty | ErrorKind::RepetitionCountUnclosed => {
            return repetition(rest);
        }
        ErrorKind::RepetitionMissing => "Write a backslash before it to match the character itself.",
        ErrorKind::EscapeUnrecognized => return escape(rest),
        ErrorKind::FlagUnrecognized | ErrorKind::FlagUnexpectedEof => group(pattern, at),
        ErrorKind::GroupUnclosed => "Close it with ), or write \\( to match a parenthesis.",
        ErrorKind::GroupUnopened => "Leave it out, or write \\) to match a parenthesis.",
        ErrorKind::ClassUnclosed => "Close it with ], or write \\[ to match a bracket.",
        ErrorKind::ClassRangeInvalid => "Write the lower character first, or \\- to match a hyphen.",
        ErrorKind::NestLimitExceeded(_) => "Write it with fewer groups inside each other.",
        _ => "",
    };
    fixed.to_owned()
}

fn repetition(rest: &str) -> String {
    let bound: String =
        rest.chars().skip_while(|char| !char.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    if bound.is_empty() {
        return "Write {m}, {m,} or {m,n}, or \\{ to match a brace.".to_owned();
    }
    format!("Write {{0,{bound}}} for at most {bound} times, or \\{{ to match a brace.")
}

/// Escapes of other dialects. `rest` begins with the backslash.
fn escape(rest: &str) -> String {
    let char = rest.chars().nth(1);
    let fixed = match char {
        Some('Z') => "Write \\z for the end of the text, or leave it out: a whole text is matched.",
        Some('h') => "Write [ \\t] for a blank.",
        Some('H') => "Write [^ \\t].",
        Some('R') => "Write (?:\\r\\n|[\\n\\r]) for a line end.",
        Some('N') => "Write [^\\n].",
        Some('e') => "Write \\x1B for the escape character.",
        Some('K' | 'G') => "Leave it out: a whole text is matched, not a part of one.",
        Some('Q' | 'E') => "Write a backslash before each character that is to be matched as itself.",
        Some('X') => "Write \\P{M}\\p{M}* for a character with its marks.",
        Some('k' | 'g') => BACKREFERENCE,
        Some('c') => "Write a control character by its number, as in \\x01.",
        _ => {
            return "Write the character without a backslash, or \\\\ to match a backslash.".to_owned();
        }
    };
    fixed.to_owned()
}

/// Groups of other dialects that begin with `(?`.
fn group(pattern: &str, at: usize) -> &'static str {
    let start = pattern[..at].rfind("(?").map_or(at, |open| open + 2);
    match pattern[start..].chars().next() {
        Some('>') => "Write (?:…): what an atomic group would leave untried is matched here too.",
        Some('#') => "Leave the comment out, or write it after # under the flag x.",
        Some('|') => "Write (?:…).",
        Some('R' | '&' | '0'..='9' | '+') => {
            "A pattern that calls itself is no regular expression: write a grammar (--grammar)."
        }
        Some('(') => "Write the alternatives of the condition out.",
        Some('P') => "Name a group as in (?P<name>…); what refers to one is not supported.",
        _ => "The flags are i, m, s, x, U, u and R, as in (?i) or (?i:…).",
    }
}
