//! Values as YAML in block style: one text for each value.
//!
//! A member of a mapping and an item of a sequence have a line each, two spaces further in for each level. An item begins with `- `, and a mapping or
//! sequence within it begins on the same line. Empty ones are `{}` and `[]`. So a value is written in one of two *parts*: in the line where it is
//! asked for, or as a block of lines.
//!
//! A string is *plain*, without quotes, where YAML 1.1 and 1.2 both read the plain text as that string, at any depth, and a name besides without colon;
//! else it is in double quotes with the escapes of JSON, which are YAML's too. What is not plain: texts that either version reads as something else
//! (`no`, `1_000`, `12:30`, `2001-01-01`, `<<`), that begin with an indicator, or hold `: `, ` #`, characters that are not printed, or a line
//! end. Readers would take a backslash too, and a colon within a name: such strings are in quotes, because plain ones are counted beside the
//! states as JSON's are, where a backslash begins an escape, and because a colon ends a name.
//!
//! Sources: *YAML Ain't Markup Language* 1.2.2, sections 5.1 (characters), 5.3 (indicators), 7.3 (flow scalars), 10.3.2 (core schema); YAML 1.1 and its
//! *Language-Independent Types* (bool, int, float, merge, null, timestamp, value).

use std::sync::LazyLock;

use gobo_automata::{CharSet, Expr, Language};
use gobo_grammar::json::strings::{char_in, escape};
use gobo_grammar::regex::rust_regex;
use gobo_types::{Budget, CompileError, CompileLimits, MatchMode, NamedClasses, Spelling};

use crate::read::parse::parse_json;
use crate::read::value::Json;
use crate::text::values::Values;

/// Spaces of a level.
const INDENT: usize = 2;

/// Most characters of a name that no schema lists. A reader looks for its end within 1,024 characters, quotes and escapes of six characters
/// included.
pub(crate) const MAX_NAME: u32 = 128;

/// Most characters that the text of any name may have.
const MAX_NAME_TEXT: usize = 1024;

/// Where a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// In the line: scalars, and empty collections.
    Line,
    /// As lines: collections that are not empty.
    Block,
}

impl Part {
    /// The part of a value.
    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Array(items) if !items.is_empty() => Self::Block,
            Json::Object(properties) if !properties.is_empty() => Self::Block,
            _ => Self::Line,
        }
    }
}

/// The characters that a plain text may have: printable ones, without line ends of either version, byte order mark and backslash.
const PLAIN_CHARS: &str = r"[\x21-\x5B\x5D-\x7E\u{A0}-\u{2027}\u{202A}-\u{D7FF}\u{E000}-\u{FEFE}\u{FF00}-\u{FFFD}\u{10000}-\u{10FFFF}]";

/// Of them those that a plain text may begin with, whatever follows.
const FIRST_CHARS: &str = r"[$()+./0-9;<=A-Z\^_a-z~\u{A0}-\u{2027}\u{202A}-\u{D7FF}\u{E000}-\u{FEFE}\u{FF00}-\u{FFFD}\u{10000}-\u{10FFFF}]";

/// Texts of plain characters that a reader would end before, or take for an end of the document.
const ENDED: &str = r"(?s:.*)(?:: | #|:$| $)(?s:.*)|(?:---|\.\.\.)(?: (?s:.*))?";

/// Texts that one of the versions reads as something else than a string.
const READ_AS_OTHERS: [&str; 6] = [
    // null, bool, merge, value.
    r"~|null|Null|NULL|[yY]|yes|Yes|YES|[nN]|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|<<|=",
    // Integers: of base 2, 8, 10, 16 and 60.
    r"[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?[0-9][0-9_]*|[-+]?0x[0-9a-fA-F_]+|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+",
    // Floats of either version, then those of base 60 and those that are no numbers.
    r"[-+]?(?:[0-9][0-9_]*)?\.[0-9._]*(?:[eE][-+][0-9]+)?|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
    r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    // Timestamps.
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]| +)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?: *(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?",
];

/// Numbers that both versions read as JSON does: in 1.1 an exponent has a sign, behind a number with a point.
const NUMBERS: &str = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+][0-9]+)?)?";

/// Characters that stand in quotes only as escapes, beside those of JSON.
static UNPRINTED: LazyLock<CharSet> = LazyLock::new(|| {
    CharSet::new([
        ('\u{7F}', '\u{9F}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{FEFF}', '\u{FEFF}'),
        ('\u{FFFE}', '\u{FFFF}'),
    ])
});

/// The strings that are written plain.
pub(crate) static PLAIN: LazyLock<Language> = LazyLock::new(|| {
    let shaped = format!("(?:{FIRST_CHARS}|[-?:]{PLAIN_CHARS})(?:{PLAIN_CHARS}| )*");
    let mut parts = vec![constant(&shaped), constant(ENDED)];
    parts.extend(READ_AS_OTHERS.map(constant));
    let parts: Vec<&Language> = parts.iter().collect();
    let is_plain = |is_in: &[bool]| is_in[0] && !is_in[1..].contains(&true);
    Language::combine(&parts, is_plain, &Budget::new(CompileLimits::default())).expect("some hundred states")
});

/// The names that are written plain: strings without a colon.
pub(crate) static PLAIN_NAME: LazyLock<Language> = LazyLock::new(|| {
    let budget = Budget::new(CompileLimits::default());
    PLAIN.intersection(&constant("[^:]*"), &budget).expect("some hundred states")
});

static NUMBER: LazyLock<Language> = LazyLock::new(|| constant(NUMBERS));

fn constant(pattern: &str) -> Language {
    let budget = Budget::new(CompileLimits::default());
    rust_regex(pattern, MatchMode::Full, NamedClasses::NONE, &budget).expect("a pattern of ours")
}

/// One character of a set, between double quotes.
pub(crate) fn char_in_quotes(set: &CharSet) -> Expr {
    let unprinted = set.and(&UNPRINTED);
    if unprinted.is_empty() {
        return char_in(set, Spelling::Canonical);
    }
    let of = |range: (u32, u32)| (range.0..=range.1).filter_map(char::from_u32);
    let mut ways: Vec<Expr> = unprinted.ranges().flat_map(of).map(|char| Expr::text(unit(char))).collect();
    let printed = set.without(&UNPRINTED);
    if !printed.is_empty() {
        ways.push(char_in(&printed, Spelling::Canonical));
    }
    Expr::Alternate(ways)
}

fn unit(char: char) -> String {
    format!("\\u{:04x}", u32::from(char))
}

/// The text of a string.
pub(crate) fn string_text(text: &str) -> String {
    text_in(&PLAIN, text)
}

/// A text as it is if it is one of some, else in quotes.
fn text_in(plain: &Language, text: &str) -> String {
    if plain.accepts(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    for char in escape(text).chars() {
        if UNPRINTED.has(char) { out += &unit(char) } else { out.push(char) }
    }
    format!("\"{out}\"")
}

/// The text of a name; `None` where a reader would not find the end of the name.
pub(crate) fn name_text(name: &str) -> Option<String> {
    Some(text_in(&PLAIN_NAME, name)).filter(|text| text.chars().count() < MAX_NAME_TEXT)
}

/// Of the texts of numbers those that both versions read as numbers.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn numbers(texts: &Expr, budget: &Budget) -> Result<Expr, CompileError> {
    let texts = Language::expr(texts, budget)?.intersection(&NUMBER, budget)?;
    texts.to_expr(|chars| Expr::Chars(chars.clone()), budget)
}

/// The beginning of a line at a depth.
pub(crate) fn line(depth: u32) -> String {
    format!("\n{}", " ".repeat(INDENT * depth as usize))
}

/// What stands behind a name, before a value in a part; `depth`: that of the value.
pub(crate) fn before_value(part: Part, depth: u32) -> Expr {
    Expr::text(match part {
        Part::Line => ": ".to_owned(),
        Part::Block => format!(":{}", line(depth)),
    })
}

/// What stands before an item.
pub(crate) fn before_item() -> Expr {
    Expr::text("- ")
}

/// The texts of one value at nesting depth `depth`, its properties in their order; `None` where a reader would not find the end of a name.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn value_text(
    values: Values,
    value: &Json,
    depth: u32,
    budget: &Budget,
) -> Result<Option<Expr>, CompileError> {
    let inside =
        |value: &Json| value_text(values.beside(std::slice::from_ref(value)), value, depth + 1, budget);
    let mut lines = Vec::new();
    match value {
        Json::Null | Json::Bool(_) => return Ok(Some(values.text(value, depth))),
        Json::Number(of) => return numbers(&values.numbers.of(of), budget).map(Some),
        Json::String(text) => return Ok(Some(Expr::text(string_text(text)))),
        Json::Array(items) if items.is_empty() => return Ok(Some(Expr::text("[]"))),
        Json::Object(properties) if properties.is_empty() => return Ok(Some(Expr::text("{}"))),
        Json::Array(items) => {
            for item in items.iter() {
                let Some(text) = inside(item)? else { return Ok(None) };
                lines.push(vec![before_item(), text]);
            }
        }
        Json::Object(properties) => {
            for (name, value) in properties.iter() {
                let Some((name, text)) = name_text(name).zip(inside(value)?) else { return Ok(None) };
                lines.push(vec![Expr::text(name), before_value(Part::of(value), depth + 1), text]);
            }
        }
    }
    Ok(Some(Expr::Concat(lines.join(&Expr::text(line(depth))))))
}

/// The text of a JSON text as YAML, as `schema` writes it under [`gobo_types::Notation::Yaml`]: properties in their order, numbers without an
/// exponent. What is no JSON stays as it is.
///
/// ```
/// use gobo_schema::yaml_text;
///
/// let json = r#"{"name": "no", "tags": ["a b", []], "of": {"size": 1.50}}"#;
/// assert_eq!(yaml_text(json), "name: \"no\"\ntags:\n  - a b\n  - []\nof:\n  size: 1.5");
/// ```
pub fn yaml_text(json: &str) -> String {
    let Ok(value) = parse_json(json) else { return json.to_owned() };
    let mut out = String::new();
    write(&value, 0, &mut std::iter::empty(), &mut out);
    out
}

/// As [`yaml_text`], with the numbers as they stand in the JSON text, unless they have an exponent: `12.0` is no integer to everybody.
///
/// ```
/// assert_eq!(gobo_schema::yaml_text_as_written(r#"{"1": [1.0, 1e3]}"#), "\"1\":\n  - 1.0\n  - 1000");
/// ```
pub fn yaml_text_as_written(json: &str) -> String {
    let Ok(value) = parse_json(json) else { return json.to_owned() };
    let mut out = String::new();
    write(&value, 0, &mut numerals(json), &mut out);
    out
}

/// The numbers of a JSON text as they are written, in their order.
fn numerals(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|char: char| char == '"' || char == '-' || char.is_ascii_digit())?;
            rest = &rest[at..];
            if !rest.starts_with('"') {
                let of_number = |char: char| matches!(char, '+' | '-' | '.' | 'e' | 'E' | '0'..='9');
                let end = rest.find(|char| !of_number(char)).unwrap_or(rest.len());
                let (number, behind) = rest.split_at(end);
                rest = behind;
                return Some(number);
            }
            let mut is_escaped = false;
            let end = rest[1..].find(|char: char| {
                let ends = char == '"' && !is_escaped;
                is_escaped = char == '\\' && !is_escaped;
                ends
            });
            rest = &rest[end? + 2..];
        }
    })
}

/// `numerals`: the texts of the numbers, in their order; plain ones where there are none.
fn write(value: &Json, depth: u32, numerals: &mut dyn Iterator<Item = &str>, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Json::Number(number) => match numerals.next().filter(|numeral| !numeral.contains(['e', 'E'])) {
            Some(numeral) => out.push_str(numeral),
            None => out.push_str(&number.to_plain()),
        },
        Json::String(text) => out.push_str(&string_text(text)),
        Json::Array(items) if items.is_empty() => out.push_str("[]"),
        Json::Object(properties) if properties.is_empty() => out.push_str("{}"),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(&line(depth));
                }
                out.push_str("- ");
                write(item, depth + 1, numerals, out);
            }
        }
        Json::Object(properties) => {
            for (at, (name, value)) in properties.iter().enumerate() {
                if at > 0 {
                    out.push_str(&line(depth));
                }
                out.push_str(&text_in(&PLAIN_NAME, name));
                match Part::of(value) {
                    Part::Line => out.push_str(": "),
                    Part::Block => {
                        out.push(':');
                        out.push_str(&line(depth + 1));
                    }
                }
                write(value, depth + 1, numerals, out);
            }
        }
    }
}
