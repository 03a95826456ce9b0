//! The names that Lark gives to terminals that stand in rules without one, and the order in which it meets them.

use super::super::super::syntax::{At, Item};

/// Texts that have a name of their own.
const SIGNS: [(&str, &str); 35] = [
    (".", "DOT"),
    (",", "COMMA"),
    (":", "COLON"),
    (";", "SEMICOLON"),
    ("+", "PLUS"),
    ("-", "MINUS"),
    ("*", "STAR"),
    ("/", "SLASH"),
    ("\\", "BACKSLASH"),
    ("|", "VBAR"),
    ("?", "QMARK"),
    ("!", "BANG"),
    ("@", "AT"),
    ("#", "HASH"),
    ("$", "DOLLAR"),
    ("%", "PERCENT"),
    ("^", "CIRCUMFLEX"),
    ("&", "AMPERSAND"),
    ("_", "UNDERSCORE"),
    ("<", "LESSTHAN"),
    (">", "MORETHAN"),
    ("=", "EQUAL"),
    ("\"", "DBLQUOTE"),
    ("'", "QUOTE"),
    ("`", "BACKQUOTE"),
    ("~", "TILDE"),
    ("(", "LPAR"),
    (")", "RPAR"),
    ("{", "LBRACE"),
    ("}", "RBRACE"),
    ("[", "LSQB"),
    ("]", "RSQB"),
    ("\n", "NEWLINE"),
    ("\r\n", "CRLF"),
    ("\t", "TAB"),
];

/// The name of a text, if it has one: that of a sign, or its own letters.
pub(super) fn anonymous(text: &str) -> Option<String> {
    if text == " " {
        return Some("SPACE".to_owned());
    }
    if let Some(sign) = SIGNS.iter().find(|sign| sign.0 == text) {
        return Some(sign.1.to_owned());
    }
    let goes_on = |char: char| char.is_alphanumeric() || char == '_';
    let begins = |char: char| char.is_alphabetic() || char == '_';
    (text.starts_with(begins) && text.chars().all(goes_on)).then(|| text.to_uppercase())
}

/// The parts of a body that are terminals without a name, the deepest first, and from left to right. Linear.
pub(super) fn depth_first(body: &At<Item>) -> Vec<&At<Item>> {
    let mut found: Vec<(u32, &At<Item>)> = Vec::new();
    let mut stack = vec![(0, body)];
    while let Some((depth, part)) = stack.pop() {
        match &part.what {
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::And(_)
            | Item::Not(_)
            | Item::Chain(_)
            | Item::Schema(_) => found.push((depth, part)),
            Item::Name(_) | Item::Valued(..) => {}
            Item::Concat(parts) | Item::Template(_, parts) => {
                stack.extend(parts.iter().rev().map(|part| (depth + 1, part)));
            }
            // The parts of alternatives are sequences, also where there is one part.
            Item::Alternate(parts) => stack.extend(parts.iter().rev().map(|part| {
                let is_sequence = matches!(part.what, Item::Concat(_));
                (depth + if is_sequence { 1 } else { 2 }, part)
            })),
            Item::Repeat(part, ..) | Item::Where(part, _) => stack.push((depth + 1, part)),
        }
    }
    found.sort_by_key(|of| std::cmp::Reverse(of.0));
    found.into_iter().map(|of| of.1).collect()
}
