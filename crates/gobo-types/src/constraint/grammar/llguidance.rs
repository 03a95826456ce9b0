//! Whether a grammar in Lark has what only llguidance has: which lexer it means where none is named hangs on that, and with it the digest,
//! so it is decided here and nowhere else.
//!
//! A grammar is cut into words, and that alone is read of it which tells the two apart:
//!
//! | what | where |
//! |---|---|
//! | `%json`, `%regex`, `%lark`, `%llguidance`, `%if` | anywhere |
//! | `&`, and `~` without a number after it | between parts |
//! | `::`, `<…>`, `@name` | anywhere |
//! | `{m,n}` | after a part: Lark's templates have names there |
//! | `name[…]:`, `name-with-hyphens` | attributes of a rule, names |
//! | `""`, and terminals with the empty text | where a lexer would have to find them |
//!
//! A grammar that is malformed is of either home. Linear in the text, and names of terminals are followed once each.

use std::collections::HashMap;

/// A word of a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    Name(&'a str),
    /// A text or a pattern, and whether it has the empty text.
    Leaf(bool),
    Number,
    Sign(char),
    LineEnd,
}

/// Deepest nesting of parentheses that is followed.
const NEST_LIMIT: u32 = 200;

/// Whether a grammar has what Lark refuses and llguidance takes.
pub(in crate::constraint) fn is_of_llguidance(grammar: &str) -> bool {
    let Some(words) = words(grammar) else { return true };
    has_signs(&words) || has_empty_terminals(&words)
}

/// The words of a grammar; `None` once one of them is llguidance's alone.
fn words(grammar: &str) -> Option<Vec<Word<'_>>> {
    let mut words = Vec::new();
    let mut rest = grammar;
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    while let Some(char) = rest.chars().next() {
        let begins = rest.trim_start_matches('_').starts_with(|char: char| char.is_ascii_alphabetic());
        let len = match char {
            '\n' => {
                words.push(Word::LineEnd);
                1
            }
            '"' => {
                let len = closed(rest, '"');
                words.push(Word::Leaf(len == 2));
                len
            }
            '/' | '#' if char == '#' || rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' => {
                let len = closed(rest, '/');
                words.push(Word::Leaf(
                    Pattern { rest: rest.get(1..len - 1).unwrap_or_default(), depth: 0 }.may_be_empty(),
                ));
                // Flags.
                len + rest[len..].find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len() - len)
            }
            '%' => {
                let word = &rest[1..];
                let len = word.find(|char| !is_name(char)).unwrap_or(word.len());
                if matches!(&word[..len], "json" | "regex" | "lark" | "llguidance" | "if") {
                    return None;
                }
                if &word[..len] == "import" {
                    // Paths are no parts of bodies.
                    rest.find('\n').unwrap_or(rest.len())
                } else {
                    words.push(Word::Sign('%'));
                    1 + len
                }
            }
            _ if begins => {
                let len = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
                words.push(Word::Name(&rest[..len]));
                len
            }
            _ if char.is_ascii_digit() => {
                words.push(Word::Number);
                rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len())
            }
            _ if char.is_whitespace() => char.len_utf8(),
            // A line that goes on.
            '\\' => rest.find('\n').map_or(rest.len(), |at| at + 1),
            _ => {
                words.push(Word::Sign(char));
                char.len_utf8()
            }
        };
        let hyphen = matches!(words.last(), Some(Word::Name(_)) if begins)
            && rest[len..].starts_with('-')
            && !rest[len..].starts_with("->");
        if hyphen {
            return None;
        }
        rest = &rest[len..];
    }
    Some(words)
}

/// The bytes of what a text opens and `end` closes.
fn closed(text: &str, end: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            char if char == end => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether some sign between parts is llguidance's.
fn has_signs(words: &[Word<'_>]) -> bool {
    let is_sign = |pair: &[Word<'_>]| match pair {
        [Word::Sign('~'), after] => *after != Word::Number,
        [Word::Sign('{'), after] => matches!(after, Word::Number | Word::Sign(',')),
        [Word::Sign(':'), Word::Sign(':')] | [Word::Sign('&' | '@' | '<'), _] => true,
        _ => false,
    };
    words.windows(2).any(is_sign) || has_attributes(words)
}

/// Whether a rule has attributes: brackets between the name at the beginning of a line and its colon.
fn has_attributes(words: &[Word<'_>]) -> bool {
    words.split(|word| *word == Word::LineEnd).any(|line| {
        let is_modifier = |word: &&Word<'_>| matches!(word, Word::Sign('?' | '!'));
        let mut line = line.iter().skip_while(is_modifier);
        matches!((line.next(), line.next()), (Some(Word::Name(_)), Some(Word::Sign('['))))
    })
}

/// A definition: its name, and the words of its body.
type Definition<'a, 'b> = (&'a str, &'b [Word<'a>]);

/// The definitions, and what is ignored, each up to where the next one begins.
fn definitions<'a, 'b>(words: &'b [Word<'a>]) -> Vec<Definition<'a, 'b>> {
    let mut found: Vec<(&str, usize, usize)> = Vec::new();
    let mut line = 0;
    for (at, word) in words.iter().enumerate() {
        if *word == Word::LineEnd {
            line = at + 1;
            continue;
        }
        let begins = match word {
            // `%ignore` and other statements.
            Word::Sign('%') => Some("%"),
            // A second colon in a line begins nothing.
            Word::Sign(':') => words.get(line..at).unwrap_or_default().iter().find_map(|word| match word {
                Word::Name(name) => Some(*name),
                _ => None,
            }),
            _ => None,
        };
        if let Some(name) = begins {
            found.push((name, line, at + 1));
            line = words.len();
        }
    }
    let ends = found.iter().skip(1).map(|of| of.1).chain([words.len()]);
    found.iter().zip(ends).map(|(of, end)| (of.0, words.get(of.2..end).unwrap_or_default())).collect()
}

fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|char: char| char.is_ascii_uppercase())
}

/// Whether rules, or what is ignored, name a terminal that has the empty text.
fn has_empty_terminals(words: &[Word<'_>]) -> bool {
    let definitions = definitions(words);
    let bodies: HashMap<&str, &[Word<'_>]> = definitions.iter().copied().collect();
    let mut terminals = Terminals { bodies: &bodies, known: HashMap::new() };
    let of_lexer = definitions.iter().filter(|of| !is_terminal(of.0));
    of_lexer.flat_map(|of| of.1).any(|word| match word {
        Word::Leaf(may_be_empty) => *may_be_empty,
        Word::Name(name) => is_terminal(name) && terminals.may_be_empty(name),
        _ => false,
    })
}

/// Which terminals have the empty text.
struct Terminals<'a> {
    bodies: &'a HashMap<&'a str, &'a [Word<'a>]>,
    known: HashMap<&'a str, bool>,
}

impl<'a> Terminals<'a> {
    fn may_be_empty(&mut self, name: &str) -> bool {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let Some((&name, &body)) = self.bodies.get_key_value(name) else { return false };
        // While it is looked at, and where it refers to itself, it has none.
        self.known.insert(name, false);
        let mut rest = body;
        let empty = self.alternatives(&mut rest, 0);
        self.known.insert(name, empty);
        empty
    }

    fn alternatives(&mut self, rest: &mut &'a [Word<'a>], depth: u32) -> bool {
        let mut is_any = false;
        let mut is_all = true;
        while let Some((word, after)) = rest.split_first() {
            *rest = after;
            let part = match word {
                Word::Sign('|') => {
                    is_any |= is_all;
                    is_all = true;
                    continue;
                }
                Word::Sign(')' | ']') => break,
                Word::Sign('(' | '[') if depth < NEST_LIMIT => {
                    self.alternatives(rest, depth + 1) || *word == Word::Sign('[')
                }
                Word::Sign('-') => {
                    // An alias, whose name is no part.
                    *rest = rest.get(2..).unwrap_or_default();
                    continue;
                }
                Word::LineEnd | Word::Number | Word::Sign(_) => continue,
                Word::Leaf(may_be_empty) => *may_be_empty,
                Word::Name(name) => is_terminal(name) && self.may_be_empty(name),
            };
            let is_optional = matches!(rest.first(), Some(Word::Sign('?' | '*')));
            is_all &= part || is_optional;
        }
        is_any | is_all
    }
}

/// A regular expression that is read for whether it has the empty text.
struct Pattern<'a> {
    rest: &'a str,
    depth: u32,
}

impl Pattern<'_> {
    /// Alternatives, up to the end or the parenthesis that closes them.
    fn may_be_empty(&mut self) -> bool {
        let (mut is_any, mut is_all) = (false, true);
        while let Some(char) = self.rest.chars().next() {
            self.rest = &self.rest[char.len_utf8()..];
            let part = match char {
                '|' => {
                    is_any |= is_all;
                    is_all = true;
                    continue;
                }
                ')' => break,
                '^' | '$' => true,
                '\\' => {
                    let escaped = self.rest.chars().next();
                    self.rest = &self.rest[escaped.map_or(0, char::len_utf8)..];
                    matches!(escaped, Some('b' | 'B' | 'A' | 'Z' | 'z'))
                }
                '[' => {
                    self.class();
                    false
                }
                '(' => {
                    let reads_nothing =
                        ["?=", "?!", "?<=", "?<!"].iter().any(|look| self.rest.starts_with(look));
                    if let Some(options) = self.rest.strip_prefix('?') {
                        let end = options.find([':', ')', '>', '=', '!']).unwrap_or(options.len());
                        // Flags for the rest end with the parenthesis itself.
                        let skips = usize::from(!options[end..].starts_with(')'));
                        self.rest = options.get(end + skips..).unwrap_or_default();
                    }
                    if self.depth >= NEST_LIMIT {
                        return false;
                    }
                    self.depth += 1;
                    let group = self.may_be_empty();
                    self.depth -= 1;
                    group || reads_nothing
                }
                _ => false,
            };
            is_all &= self.repeated() || part;
        }
        is_any | is_all
    }

    /// Whether what was read may be left out, because a repetition of it stands here.
    fn repeated(&mut self) -> bool {
        let rest = self.rest;
        let (len, is_optional) = match rest.chars().next() {
            Some('*' | '?') => (1, true),
            Some('+') => (1, false),
            Some('{') => {
                let end = rest.find('}').map_or(0, |end| end + 1);
                let bounds = rest.get(1..end.saturating_sub(1)).unwrap_or_default();
                let is_bounds =
                    !bounds.is_empty() && bounds.chars().all(|char| char.is_ascii_digit() || char == ',');
                let least = bounds.split(',').next().unwrap_or_default();
                (if is_bounds { end } else { 0 }, is_bounds && least.chars().all(|digit| digit == '0'))
            }
            _ => (0, false),
        };
        self.rest = &rest[len..];
        if len > 0 && self.rest.starts_with(['?', '+']) {
            self.rest = &self.rest[1..];
        }
        is_optional
    }

    /// Reads on after a class.
    fn class(&mut self) {
        let mut chars = self.rest.char_indices();
        let mut is_first = true;
        while let Some((at, char)) = chars.next() {
            match char {
                '^' if at == 0 => continue,
                '\\' => drop(chars.next()),
                ']' if !is_first => break,
                _ => {}
            }
            is_first = false;
        }
        self.rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_llguidance_has_is_seen() {
        for grammar in [
            "start: %json {}",
            "start: %regex {\"substring_chars\": \"ab\"}",
            "%llguidance {}\nstart: \"a\"",
            "start: A\nA: /a+/ & /b/",
            "start: ~/a/",
            "start: a::0\na::_: \"b\"",
            "start: \"b\" %if lt(_, 1)",
            "start: <|eot|>",
            "start: @other",
            "start: ab{3,5}\nab: \"a\"",
            "start: ab{,5}\nab: \"a\"",
            "start: t\nt[lazy]: /a+/",
            "?t[suffix=\"b\"]: /a+/\nstart: t",
            "my-rule: \"a\"\nstart: my-rule",
            "start: \"\" | \"a\"",
            "start: /a*/",
            "start: /(?s:.)*/ \"b\"",
            "start: A\nA: /[ab]/?",
            "start: B\nA: \"a\"*\nB: A | \"b\"",
            "start: \"a\"\n%ignore / */",
            "start: /a{0,3}/",
            "start: /x|(a|b*)/",
        ] {
            assert!(is_of_llguidance(grammar), "{grammar:?}");
        }
    }

    #[test]
    fn what_lark_has_is_no_sign() {
        for grammar in [
            "start: \"a\" : \"b\" : c\n: d :",
            "start: \"a\" // a & b :: %json\n# ~ <x>\n",
            "start: \"&~<>@::{1}\" /&~<>@::x{1,2}/",
            "start: list{item, \",\"} item~2 item~2..3\nitem: \"a\"\nlist{a, b}: a (b a)*",
            "?start: a -> b\n | c\na: [\"x\"]\nc.2: \"y\"?",
            "start: A\nA: /a*b/ | \"a\"? \"b\"\n%import common.WS\n%ignore WS",
            "_SIGN: /[+-]?/\nstart: INT\nINT: _SIGN /[0-9]+/",
            "start: /[*]/ /\\*/ /(?=a)b/ /a{1,3}/ /[]*]+/ /{a}/",
            "start: _NL?\n%declare _NL",
            "%import .near.name (a, b)\nstart: a\n",
            "start: a\\\n | b\na: \"a\"\nb: \"b\"*",
        ] {
            assert!(!is_of_llguidance(grammar), "{grammar:?}");
        }
    }
}
