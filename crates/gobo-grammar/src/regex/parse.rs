//! Parses a pattern by recursive descent: Python's syntax (*Regular expression operations* of its library reference), or the part
//! of ECMAScript's that `XGrammar` takes.

mod class;
mod escape;
mod group;

use std::sync::Arc;

use gobo_automata::CharSet;
use gobo_types::{Budget, CompileError, RefusalKind};

use super::classes;
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "parsing a regular expression";

/// Bytes that a node is charged.
const NODE_BYTES: u64 = 64;

/// Bytes that a class with Unicode tables is charged.
const CLASS_BYTES: u64 = 8 << 10;

/// Deepest nesting of groups, looks and repetitions.
const NEST_LIMIT: u32 = 200;

/// Highest bound of a repetition.
const MAX_REPETITIONS: u32 = 100_000;

/// Whose syntax and classes a pattern has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Python's `re`, in `str` patterns.
    Python,
    /// The macro `Regex` of `XGrammar`: classes of ASCII, no look-around.
    XGrammar,
}

/// A flag of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// `i`: cases do not matter.
    IgnoresCase,
    /// `m`: `^` and `$` are at the ends of lines.
    MultiLine,
    /// `s`: `.` is any character.
    DotAll,
    /// `x`: blanks and comments are skipped.
    Verbose,
    /// `a`: classes and cases of ASCII.
    Ascii,
}

/// The flags that are on: a bit for each, in the order of [`Flag`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flags(u8);

impl Flags {
    pub(crate) fn has(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// How many flags are on.
    pub(crate) fn count(self) -> u64 {
        u64::from(self.0.count_ones())
    }

    /// The flags as a pattern in Rust's syntax begins with them; empty without any.
    pub(crate) fn in_rust(self) -> String {
        let flags =
            [(Flag::IgnoresCase, 'i'), (Flag::MultiLine, 'm'), (Flag::DotAll, 's'), (Flag::Verbose, 'x')];
        let letters: String = flags.iter().filter(|flag| self.has(flag.0)).map(|flag| flag.1).collect();
        if letters.is_empty() { letters } else { format!("(?{letters})") }
    }

    /// Whether all of these are among `others`.
    pub(crate) fn are_in(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Sets the flag of a letter; `false` if there is none. `u` is what holds anyway.
    pub(crate) fn set(&mut self, letter: char, on: bool) -> bool {
        let (flag, on) = match letter {
            'i' => (Flag::IgnoresCase, on),
            'm' => (Flag::MultiLine, on),
            's' => (Flag::DotAll, on),
            'x' => (Flag::Verbose, on),
            'a' => (Flag::Ascii, on),
            'u' => (Flag::Ascii, !on),
            _ => return false,
        };
        let bit = 1 << flag as u8;
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
        true
    }
}

/// Parses a pattern.
///
/// # Errors
/// A refusal whose place is `offset N` and whose span is in bytes of the pattern; [`CompileError::OverBudget`].
pub(crate) fn parse(
    pattern: &str,
    flags: Flags,
    flavour: Flavour,
    budget: &Budget,
) -> Result<Parsed, CompileError> {
    let mut parser = Parser { pattern, at: 0, flags, flavour, depth: 0, looks: 0, is_lazy: false, budget };
    parser.global_flags()?;
    let node = parser.alternatives()?;
    if parser.at < pattern.len() {
        return Err(parser.malformed(parser.at, "a parenthesis is closed that was never opened"));
    }
    Ok(Parsed { node, is_lazy: parser.is_lazy })
}

/// A pattern that was parsed.
pub(crate) struct Parsed {
    pub(crate) node: Node,
    /// Whether a repetition prefers to end early.
    pub(crate) is_lazy: bool,
}

/// What was read last, for a repetition after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// `^`, `$`, `\b` and the like: nothing that is repeated.
    Anchor,
    Item,
    Repetition,
}

struct Parser<'a> {
    pattern: &'a str,
    at: usize,
    /// Those that are on here. They last to the end of the group that sets them.
    flags: Flags,
    flavour: Flavour,
    depth: u32,
    /// Looks around this place.
    looks: u32,
    is_lazy: bool,
    budget: &'a Budget,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn refuse(&self, kind: RefusalKind, at: usize, reason: impl Into<String>) -> CompileError {
        let width = self.pattern[at..].chars().next().map_or(0, char::len_utf8);
        CompileError::refuse(kind, format!("offset {at}"), reason).spanning(at..at + width)
    }

    fn malformed(&self, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Malformed, at, reason)
    }

    fn unsupported(&self, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Unsupported, at, reason)
    }

    fn charge(&self) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)
    }

    fn charge_class(&self) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, CLASS_BYTES / 8)?;
        self.budget.charge_bytes(PHASE, CLASS_BYTES)
    }

    /// A set, with the other cases of its characters where cases do not matter.
    fn cased(&self, set: CharSet) -> Result<CharSet, CompileError> {
        if !self.flags.has(Flag::IgnoresCase) {
            return Ok(set);
        }
        let chars: u64 = set.ranges().map(|(first, last)| u64::from(last - first) + 1).sum();
        self.budget.charge_steps(PHASE, 1 + chars / 16)?;
        Ok(classes::with_cases(&set, self.flags.has(Flag::Ascii)))
    }

    /// One level more, around what `read` reads.
    fn deeper<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut Self) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if self.depth >= NEST_LIMIT {
            return Err(self.unsupported(at, format!("it nests deeper than {NEST_LIMIT} levels")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn alternatives(&mut self) -> Result<Node, CompileError> {
        let mut alternatives = vec![self.sequence()?];
        while self.eat("|") {
            alternatives.push(self.sequence()?);
        }
        Ok(Node::alternate(alternatives))
    }

    fn sequence(&mut self) -> Result<Node, CompileError> {
        let mut parts: Vec<Node> = Vec::new();
        let mut last = Last::Nothing;
        loop {
            if self.flags.has(Flag::Verbose) && self.skip_verbose() {
                continue;
            }
            let at = self.at;
            let Some(char) = self.peek() else { break };
            if matches!(char, '|' | ')') {
                break;
            }
            self.charge()?;
            if matches!(char, '*' | '+' | '?' | '{')
                && let Some((min, max)) = self.bounds()?
            {
                match last {
                    Last::Item => {}
                    Last::Repetition => return Err(self.malformed(at, "a repetition of a repetition")),
                    Last::Nothing | Last::Anchor => {
                        return Err(
                            self.malformed(at, format!("there is nothing in front of {char} to repeat"))
                        );
                    }
                }
                let node = parts.pop().unwrap_or_else(Node::empty);
                parts.push(self.repetition(at, node, min, max)?);
                last = Last::Repetition;
                continue;
            }
            let (node, what) = self.item()?;
            if let Some(node) = node {
                parts.push(node);
                last = what;
            }
        }
        Ok(Node::concat(parts))
    }

    /// Blanks and comments of the flag `x`.
    fn skip_verbose(&mut self) -> bool {
        match self.peek() {
            Some(' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') => drop(self.bump()),
            Some('#') => {
                let rest = self.rest();
                self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
            }
            _ => return false,
        }
        true
    }

    /// The bounds of a repetition, if the text here is one: braces may be characters.
    fn bounds(&mut self) -> Result<Option<(u32, Option<u32>)>, CompileError> {
        let at = self.at;
        match self.bump() {
            Some('*') => return Ok(Some((0, None))),
            Some('+') => return Ok(Some((1, None))),
            Some('?') => return Ok(Some((0, Some(1)))),
            _ => {}
        }
        if self.peek() == Some('}') {
            self.at = at;
            return Ok(None);
        }
        let min = self.number()?;
        let max = if self.eat(",") { self.number()? } else { min };
        if !self.eat("}") {
            self.at = at;
            return Ok(None);
        }
        let min = min.unwrap_or(0);
        if let Some(max) = max.filter(|max| *max < min) {
            return Err(self.malformed(at, format!("{{{min},{max}}} is empty: {max} is below {min}")));
        }
        Ok(Some((min, max)))
    }

    fn number(&mut self) -> Result<Option<u32>, CompileError> {
        let at = self.at;
        while self.peek().is_some_and(|char| char.is_ascii_digit()) {
            self.bump();
        }
        let digits = &self.pattern[at..self.at];
        if digits.is_empty() {
            return Ok(None);
        }
        let bound = digits.parse().ok().filter(|bound| *bound <= MAX_REPETITIONS);
        bound.map(Some).ok_or_else(|| {
            let shown = &digits[..digits.len().min(20)];
            self.unsupported(at, format!("{shown} repetitions, the limit is {MAX_REPETITIONS}"))
        })
    }

    /// A repetition of a node, after its bounds.
    fn repetition(
        &mut self,
        at: usize,
        node: Node,
        min: u32,
        max: Option<u32>,
    ) -> Result<Node, CompileError> {
        let is_lazy = self.eat("?");
        self.is_lazy |= is_lazy;
        if is_lazy {
            return Ok(node.repeat(min, max).preferring_fewer());
        }
        if !self.eat("+") {
            return Ok(node.repeat(min, max));
        }
        if self.flavour == Flavour::XGrammar {
            return Err(self.malformed(at, "a repetition of a repetition"));
        }
        let set = match &node {
            Node::Chars(set) => set.clone(),
            Node::Text(text) if text.chars().count() == 1 => {
                CharSet::new(text.chars().map(|char| (char, char)))
            }
            _ => {
                let reason = "a possessive repetition of more than one character has no plain meaning as a set of texts";
                return Err(self.unsupported(at, reason).advising("Leave out the + after the repetition."));
            }
        };
        // It takes what it can get: the most, or all up to another character.
        let no_more = Node::Look(Arc::new(Look {
            direction: Direction::Ahead,
            negated: true,
            whole: false,
            soft: true,
            node: Node::Chars(set),
        }));
        let up_to = |most| Node::Concat(vec![node.clone().repeat(min, most), no_more]);
        Ok(match max {
            None => up_to(None),
            Some(max) if max == min => node.clone().repeat(min, Some(max)),
            Some(max) => {
                let most = node.clone().repeat(max, Some(max));
                Node::Alternate(vec![up_to(Some(max - 1)), most])
            }
        })
    }

    /// What a repetition binds to; nothing for comments.
    fn item(&mut self) -> Result<(Option<Node>, Last), CompileError> {
        let at = self.at;
        let Some(char) = self.bump() else { return Ok((None, Last::Nothing)) };
        Ok(match char {
            '(' => return self.group(at),
            '[' => (Some(self.class(at)?), Last::Item),
            '\\' => {
                let (node, last) = self.escape(at)?;
                (Some(node), last)
            }
            '.' => {
                let set = if self.flags.has(Flag::DotAll) { classes::any() } else { classes::dot() };
                (Some(Node::Chars(set)), Last::Item)
            }
            '^' => (Some(self.line_start()), Last::Anchor),
            '$' => (Some(self.line_end()), Last::Anchor),
            other => (Some(self.literal(other)?), Last::Item),
        })
    }

    fn literal(&self, char: char) -> Result<Node, CompileError> {
        if !self.flags.has(Flag::IgnoresCase) {
            return Ok(Node::Text(char.to_string()));
        }
        self.cased(classes::one(char)).map(Node::Chars)
    }

    fn line_start(&self) -> Node {
        let text_start = Node::whole(Direction::Behind, Node::empty());
        if !self.flags.has(Flag::MultiLine) {
            return text_start;
        }
        Node::Alternate(vec![text_start, Node::look(Direction::Behind, false, Node::Text("\n".to_owned()))])
    }

    fn line_end(&self) -> Node {
        let text_end = Node::whole(Direction::Ahead, Node::empty());
        let line_feed = Node::Text("\n".to_owned());
        match (self.flags.has(Flag::MultiLine), self.flavour) {
            (true, _) => Node::Alternate(vec![text_end, Node::look(Direction::Ahead, false, line_feed)]),
            (false, Flavour::Python) => Node::whole(Direction::Ahead, line_feed.repeat(0, Some(1))),
            (false, Flavour::XGrammar) => text_end,
        }
    }

    /// Where one side is a character of a word and the other is not; negated elsewhere.
    fn boundary(&self, is_negated: bool) -> Node {
        let word = || Node::Chars(classes::word(self.flags.has(Flag::Ascii)));
        let both = |before: bool, after: bool| {
            let behind = Node::look(Direction::Behind, !before, word());
            Node::Concat(vec![behind, Node::look(Direction::Ahead, !after, word())])
        };
        if is_negated {
            Node::Alternate(vec![both(true, true), both(false, false)])
        } else {
            Node::Alternate(vec![both(true, false), both(false, true)])
        }
    }
}
