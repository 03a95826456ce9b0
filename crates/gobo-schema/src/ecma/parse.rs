//! Parses a pattern of ECMA-262 (section 22.2.1 and Annex B.1.2) by recursive descent.

use gobo_automata::{CharSet, MAX_PATTERN_BYTES, NEST_LIMIT};
use gobo_grammar::regex::Direction;
use gobo_types::{Budget, CompileError, RefusalKind, Table};

use super::classes;
use super::syntax::{Look, LookId, Node, Pattern};

const PHASE: &str = "parsing";

const BACK_REFERENCE: &str =
    "Write the repeated texts out, as in aa|bb for ([ab])\\1; no automaton compares two parts of a text.";
const FLAGS: &str =
    "Leave the flags out: write both cases of a letter, as in [aA], and [^] for any character.";

/// Signs after `(?` that begin something in other dialects, what it is there, and what to write in its place.
const OTHER_GROUPS: [(&str, &str, &str); 8] = [
    ("P>", "a call of a group", "Write the group out where it is called."),
    ("&", "a call of a group", "Write the group out where it is called."),
    ("R", "a call of the pattern", "Write the nested texts out, as deep as they nest."),
    ("#", "a comment", "Leave the comment out, or write it in $comment."),
    (">", "a group without backtracking", "Write (?:…), and what the group must not give back as a class."),
    ("|", "a group whose alternatives share numbers", "Write (?:…)."),
    ("(", "a condition on a group", "Write the cases as alternatives."),
    ("'", "a named group", "Write (?<name>…)."),
];

/// Bytes that a node is charged.
const NODE_BYTES: u64 = 64;

/// Bytes that a Unicode property is charged before it is looked up: the largest have some 800 ranges.
const PROPERTY_BYTES: u64 = 8 << 10;

/// Parses a pattern. Two grammars of the standard are combined: a code point is one character, as with the flag `u`; syntax
/// that this flag excludes and Annex B allows, as `\-` or a lone `{`, has the meaning of Annex B.
///
/// # Errors
/// A refusal whose place is `offset N`; [`CompileError::OverBudget`].
pub(super) fn parse(pattern: &str, budget: &Budget) -> Result<Pattern, CompileError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        let reason = format!("the pattern has {} bytes, the limit is {MAX_PATTERN_BYTES}", pattern.len());
        return Err(unsupported(MAX_PATTERN_BYTES, reason));
    }
    let mut parser = Parser { pattern, at: 0, depth: 0, looks: Table::new(), budget };
    let node = parser.alternation()?;
    if parser.at < pattern.len() {
        return Err(malformed(parser.at, "a ) that closes no group"));
    }
    Ok(Pattern { node, looks: parser.looks })
}

struct Parser<'a> {
    pattern: &'a str,
    /// Byte offset of the next character.
    at: usize,
    /// Groups that are open.
    depth: u32,
    looks: Table<LookId, Look>,
    budget: &'a Budget,
}

/// The meaning of an escape.
enum Escape {
    /// A code point, possibly a surrogate.
    Point(u32),
    Class(CharSet),
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    fn charge(&self, bytes: u64) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, 1 + bytes / 8)?;
        self.budget.charge_bytes(PHASE, bytes)
    }

    /// Everything up to the end of the group.
    fn alternation(&mut self) -> Result<Node, CompileError> {
        let first = self.concatenation()?;
        if self.peek() != Some('|') {
            return Ok(first);
        }
        // One empty alternative is enough, because every closure visits each of them.
        let mut has_empty = matches!(first, Node::Empty);
        let mut parts = vec![first];
        while self.eat("|") {
            self.charge(NODE_BYTES)?;
            let part = self.concatenation()?;
            let is_empty = matches!(part, Node::Empty);
            if !(is_empty && has_empty) {
                parts.push(part);
            }
            has_empty |= is_empty;
        }
        Ok(Node::Alternate(parts))
    }

    fn concatenation(&mut self) -> Result<Node, CompileError> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            self.charge(NODE_BYTES)?;
            match self.term()? {
                // A group of a concatenation is part of the concatenation around it.
                Node::Concat(inner) => {
                    self.budget.charge_steps(PHASE, inner.len() as u64)?;
                    parts.extend(inner);
                }
                node => parts.push(node),
            }
        }
        Ok(match parts.len() {
            0 => Node::Empty,
            1 => parts.remove(0),
            _ => Node::Concat(parts),
        })
    }

    /// An atom with its quantifier.
    fn term(&mut self) -> Result<Node, CompileError> {
        let is_assertion = ["^", "$", "\\b", "\\B"].iter().any(|sign| self.rest().starts_with(sign));
        let node = self.atom()?;
        let before = self.at;
        let Some((min, max)) = self.quantifier()? else { return Ok(node) };
        if is_assertion {
            return Err(malformed(before, "nothing to repeat"));
        }
        Ok(if max == Some(0) { Node::Empty } else { Node::Repeat { node: Box::new(node), min, max } })
    }

    fn atom(&mut self) -> Result<Node, CompileError> {
        let start = self.at;
        match self.next().expect("concatenations look first") {
            '^' => Ok(Node::Start),
            '$' => Ok(Node::End),
            '.' => Ok(Node::Class(classes::dot())),
            '(' => self.group(start),
            '[' => self.class(start),
            '\\' => self.atom_escape(start),
            '*' | '+' | '?' => Err(malformed(start, "nothing to repeat")),
            '{' => {
                self.at = start;
                if self.counts()?.is_some() {
                    return Err(malformed(start, "nothing to repeat"));
                }
                self.at = start + 1;
                Ok(Node::Char('{'))
            }
            char => Ok(Node::Char(char)),
        }
    }

    /// The least and greatest number of repetitions, if a quantifier comes next.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, CompileError> {
        let counts = match self.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('{') => {
                let Some(counts) = self.counts()? else { return Ok(None) };
                // Lazy quantifiers match the same texts.
                self.eat("?");
                return Ok(Some(counts));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        self.eat("?");
        Ok(counts)
    }

    /// The quantifier in braces that comes next; if there is none, nothing is read.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, CompileError> {
        let start = self.at;
        self.at += 1;
        let read = |parser: &mut Self| {
            let min = parser.number()?;
            let max = if parser.eat(",") { parser.number() } else { Some(min) };
            parser.eat("}").then_some((min, max))
        };
        let counts = read(self);
        match counts {
            None => self.at = start,
            Some((min, Some(max))) if max < min => {
                return Err(malformed(start, format!("at least {min} times and at most {max}")));
            }
            Some(_) => {}
        }
        Ok(counts)
    }

    /// A decimal number, saturating.
    fn number(&mut self) -> Option<u32> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits]
            .bytes()
            .fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
        self.at += digits;
        (digits > 0).then_some(number)
    }

    /// The group after the parenthesis at `start`.
    fn group(&mut self, start: usize) -> Result<Node, CompileError> {
        let look = if !self.eat("?") || self.eat(":") {
            None
        } else if self.eat("=") {
            Some((Direction::Ahead, false))
        } else if self.eat("!") {
            Some((Direction::Ahead, true))
        } else if self.eat("<=") {
            Some((Direction::Behind, false))
        } else if self.eat("<!") {
            Some((Direction::Behind, true))
        } else if self.eat("<") || self.eat("P<") {
            // Python and RE2 put a P before the name.
            self.group_name(start)?;
            None
        } else {
            return Err(self.bad_group(start));
        };
        let body = self.group_body(start)?;
        let Some((direction, is_negated)) = look else { return Ok(body) };
        let needs_context = body.needs_context(|look| self.looks[look].needs_context);
        Ok(Node::Look(self.looks.push(Look { body, direction, is_negated, needs_context })))
    }

    fn group_body(&mut self, start: usize) -> Result<Node, CompileError> {
        if self.depth == NEST_LIMIT {
            return Err(unsupported(start, format!("it nests deeper than {NEST_LIMIT} levels")));
        }
        self.depth += 1;
        let body = self.alternation()?;
        self.depth -= 1;
        if self.eat(")") { Ok(body) } else { Err(malformed(start, "a group that is not closed")) }
    }

    fn group_name(&mut self, start: usize) -> Result<(), CompileError> {
        let end = self.rest().find('>');
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$');
        match end.map(|end| &self.rest()[..end]) {
            Some(name) if name.chars().all(is_part) && name.starts_with(|char: char| !char.is_numeric()) => {
                self.at += name.len() + 1;
                Ok(())
            }
            _ => Err(malformed(start, "a group whose name is no identifier")),
        }
    }

    /// The refusal of a group that begins with an unknown sign: those of other dialects are named.
    fn bad_group(&self, start: usize) -> CompileError {
        if self.rest().starts_with("P=") {
            return unsupported(start, "(?P=name) is a back-reference, which is not regular")
                .advising(BACK_REFERENCE);
        }
        for (sign, what, help) in OTHER_GROUPS {
            if self.rest().starts_with(sign) {
                return malformed(start, format!("(?{sign} begins {what}, which ECMA-262 does not have"))
                    .advising(help);
            }
        }
        let flags = self.rest().trim_start_matches(['i', 'm', 's', '-']);
        if flags.len() < self.rest().len() {
            if flags.starts_with(':') {
                return unsupported(start, "flags of a group are not enforced").advising(FLAGS);
            }
            if flags.starts_with(')') {
                return malformed(start, "flags without a group").advising(FLAGS);
            }
        }
        let help = "ECMA-262 has (?:…), (?=…), (?!…), (?<=…), (?<!…) and (?<name>…).";
        malformed(start, "a group that begins with (? and nothing known").advising(help)
    }

    /// The class after the bracket at `start`.
    fn class(&mut self, start: usize) -> Result<Node, CompileError> {
        let is_negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            self.charge(NODE_BYTES)?;
            let at = self.at;
            let first = self.class_atom(start)?;
            if !self.rest().starts_with('-') || self.rest().starts_with("-]") {
                push(&mut ranges, first);
                continue;
            }
            self.at += 1;
            match (first, self.class_atom(start)?) {
                (Escape::Point(first), Escape::Point(last)) if first <= last => {
                    push_range(&mut ranges, first, last);
                }
                (Escape::Point(_), Escape::Point(_)) => {
                    return Err(malformed(at, "a range whose end is before its start"));
                }
                // A class is no end of a range, so the hyphen is literal.
                (first, last) => {
                    push(&mut ranges, first);
                    push(&mut ranges, last);
                    push(&mut ranges, Escape::Point(u32::from('-')));
                }
            }
        }
        let class = CharSet::new(ranges);
        Ok(Node::Class(if is_negated { class.complement() } else { class }))
    }

    /// One member of the class that begins at `start`, or one end of a range.
    fn class_atom(&mut self, start: usize) -> Result<Escape, CompileError> {
        let at = self.at;
        match self.next() {
            None => Err(malformed(start, "a class that is not closed")),
            Some('\\') if self.eat("b") => Ok(Escape::Point(8)),
            Some('\\') if self.peek().is_some_and(|char| matches!(char, '1'..='9')) => {
                Err(malformed(at, "a number behind a backslash in a class"))
            }
            Some('\\') => self.escape(at),
            Some(char) => Ok(Escape::Point(u32::from(char))),
        }
    }

    /// The escape after the backslash at `start`, outside classes.
    fn atom_escape(&mut self, start: usize) -> Result<Node, CompileError> {
        match self.peek() {
            Some('b' | 'B') => Ok(Node::Boundary { is_negated: self.next() == Some('B') }),
            Some('1'..='9') => {
                Err(unsupported(start, "a back-reference is not regular").advising(BACK_REFERENCE))
            }
            Some('k') if self.rest().starts_with("k<") => {
                Err(unsupported(start, "a back-reference is not regular").advising(BACK_REFERENCE))
            }
            _ => Ok(match self.escape(start)? {
                // No text contains a lone surrogate.
                Escape::Point(point) => {
                    char::from_u32(point).map_or_else(|| Node::Class(CharSet::new([])), Node::Char)
                }
                Escape::Class(class) => Node::Class(class),
            }),
        }
    }

    /// The escape after the backslash at `start`, of those with the same meaning inside and outside classes.
    fn escape(&mut self, start: usize) -> Result<Escape, CompileError> {
        let Some(char) = self.next() else {
            return Err(malformed(start, "a backslash at the end"));
        };
        if let Some(class) = classes::escaped(char) {
            return Ok(Escape::Class(class));
        }
        Ok(Escape::Point(match char {
            't' => 0x09,
            'n' => 0x0A,
            'v' => 0x0B,
            'f' => 0x0C,
            'r' => 0x0D,
            '0' if self.peek().is_some_and(|char| char.is_ascii_digit()) => {
                return Err(malformed(start, "an octal escape; write \\xHH"));
            }
            '0' => 0,
            'c' => match self.peek() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    self.at += 1;
                    u32::from(letter) % 32
                }
                _ => return Err(malformed(start, "\\c without a letter")),
            },
            'x' => self.hex(2).unwrap_or(u32::from('x')),
            'u' if self.eat("{") => self.braced_point(start)?,
            'u' => self.hex(4).map_or(u32::from('u'), |unit| self.with_low_surrogate(unit)),
            'p' | 'P' => return self.property(start, char == 'P').map(Escape::Class),
            // All other characters are literal, also letters without a meaning.
            char => u32::from(char),
        }))
    }

    /// A number of exactly `digits` hexadecimal digits; if they are not there, nothing is read.
    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text =
            self.rest().get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let number = u32::from_str_radix(text, 16).ok()?;
        self.at += digits;
        Some(number)
    }

    /// A code unit, joined with the escaped unit after it if they are a surrogate pair.
    fn with_low_surrogate(&mut self, unit: u32) -> u32 {
        let before = self.at;
        if (0xD800..0xDC00).contains(&unit) && self.eat("\\u") {
            if let Some(low @ 0xDC00..0xE000) = self.hex(4) {
                return 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            }
            self.at = before;
        }
        unit
    }

    /// The code point before the closing brace.
    fn braced_point(&mut self, start: usize) -> Result<u32, CompileError> {
        let bad = || malformed(start, "\\u{} without the number of a code point");
        let length = self.rest().find('}').ok_or_else(bad)?;
        let digits = &self.rest()[..length];
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let point = match digits.trim_start_matches('0') {
            "" => 0,
            digits => u32::from_str_radix(digits, 16).map_err(|_| bad())?,
        };
        self.at += length + 1;
        if point <= u32::from(char::MAX) { Ok(point) } else { Err(bad()) }
    }

    fn property(&mut self, start: usize, is_negated: bool) -> Result<CharSet, CompileError> {
        let end = self.rest().find('}').filter(|_| self.rest().starts_with('{'));
        let Some(end) = end else {
            return Err(malformed(start, "\\p and \\P want the name of a property in braces"));
        };
        self.charge(PROPERTY_BYTES)?;
        let name = &self.rest()[1..end];
        let Some(class) = classes::property(name) else {
            return Err(unsupported(start, format!("no Unicode property {name:?} is known")));
        };
        self.at += end + 1;
        Ok(if is_negated { class.complement() } else { class })
    }
}

fn push(ranges: &mut Vec<(char, char)>, escape: Escape) {
    match escape {
        Escape::Point(point) => push_range(ranges, point, point),
        Escape::Class(class) => ranges.extend(class.char_ranges()),
    }
}

/// Adds the characters of a range of code points, surrogates apart.
fn push_range(ranges: &mut Vec<(char, char)>, first: u32, last: u32) {
    for (first, last) in [(first, last.min(0xD7FF)), (first.max(0xE000), last)] {
        if let (true, Some(first), Some(last)) = (first <= last, char::from_u32(first), char::from_u32(last))
        {
            ranges.push((first, last));
        }
    }
}

fn malformed(offset: usize, reason: impl Into<String>) -> CompileError {
    CompileError::refuse(RefusalKind::Malformed, format!("offset {offset}"), reason)
}

fn unsupported(offset: usize, reason: impl Into<String>) -> CompileError {
    CompileError::refuse(RefusalKind::Unsupported, format!("offset {offset}"), reason)
}
