//! What definitions stand for.

use gobo_types::CompileError;

use super::super::embedded;
use super::super::syntax::{At, Body, Item};
use super::Parser;
use crate::regex::Node;

/// Deepest nesting of parentheses in a definition.
const NEST_LIMIT: u32 = 200;

/// Highest bound of a repetition.
const MAX_REPETITIONS: u32 = 100_000;

impl Parser<'_, '_> {
    /// Whether alternatives go on with a bar, perhaps at the beginning of a later line.
    fn eat_bar(&mut self) -> bool {
        self.skip();
        let at = self.scanner.at;
        if self.scanner.peek().is_some_and(|char| matches!(char, '\n' | '\r')) {
            self.scanner.skip(true);
        }
        if self.scanner.eat("|") {
            return true;
        }
        self.scanner.at = at;
        false
    }

    pub(super) fn alternatives(&mut self) -> Result<Body, CompileError> {
        self.skip();
        let at = self.scanner.at;
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(self.alternative()?);
            if !self.eat_bar() {
                break;
            }
        }
        let what = if alternatives.len() == 1 {
            alternatives.swap_remove(0).what
        } else {
            Item::Alternate(alternatives)
        };
        Ok(At { what, at })
    }

    /// Sequences between `&`, an alias, a condition.
    fn alternative(&mut self) -> Result<Body, CompileError> {
        self.skip();
        let at = self.scanner.at;
        let mut conjuncts = vec![self.sequence()?];
        while self.scanner.eat("&") {
            conjuncts.push(self.sequence()?);
        }
        if self.scanner.eat("->") {
            self.skip();
            if self.scanner.name().is_none() {
                return Err(self.unexpected());
            }
            self.skip();
        }
        let mut what =
            if conjuncts.len() == 1 { conjuncts.swap_remove(0).what } else { Item::And(conjuncts) };
        if self.scanner.eat("%if") {
            let condition = self.condition()?;
            what = Item::Where(Box::new(At { what, at }), condition);
        }
        Ok(At { what, at })
    }

    fn sequence(&mut self) -> Result<Body, CompileError> {
        self.skip();
        let at = self.scanner.at;
        let mut parts = Vec::new();
        loop {
            self.skip();
            match self.repeated()? {
                Some(part) => parts.push(part),
                None => break,
            }
        }
        let what = if parts.len() == 1 { parts.swap_remove(0).what } else { Item::Concat(parts) };
        Ok(At { what, at })
    }

    pub(super) fn deeper<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut Self) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if self.depth >= NEST_LIMIT {
            return Err(self.scanner.unsupported(at, format!("it nests deeper than {NEST_LIMIT} levels")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn repeated(&mut self) -> Result<Option<Body>, CompileError> {
        let Some(atom) = self.atom()? else { return Ok(None) };
        let at = atom.at;
        self.skip();
        let operator_at = self.scanner.at;
        let bounds = match self.scanner.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('~') if self.is_count() => {
                self.scanner.at += 1;
                self.skip();
                let min = self.scanner.number(MAX_REPETITIONS)?.unwrap_or(0);
                let max = if self.scanner.eat("..") {
                    let Some(max) = self.scanner.number(MAX_REPETITIONS)? else {
                        return Err(self.unexpected());
                    };
                    max
                } else {
                    min
                };
                return self.bounded(atom, operator_at, min, Some(max));
            }
            Some('{') => {
                self.scanner.at += 1;
                self.skip();
                let min = self.scanner.number(MAX_REPETITIONS)?;
                self.skip();
                let has_comma = self.scanner.eat(",");
                self.skip();
                let max = if has_comma { self.scanner.number(MAX_REPETITIONS)? } else { min };
                self.skip();
                if !self.scanner.eat("}") || (min, max) == (None, None) {
                    let reason = "a repetition is ~m, ~m..n, {m}, {m,}, {m,n} or {,n}";
                    return Err(self.scanner.malformed(operator_at, reason));
                }
                return self.bounded(atom, operator_at, min.unwrap_or(0), max);
            }
            _ => None,
        };
        let Some((min, max)) = bounds else { return Ok(Some(atom)) };
        self.scanner.at += 1;
        if matches!(self.scanner.peek(), Some('*' | '+' | '?')) {
            let reason = "a repetition of a repetition; write parentheses around the inner one";
            return Err(self.scanner.malformed(self.scanner.at, reason));
        }
        Ok(Some(At { what: Item::Repeat(Box::new(atom), min, max), at }))
    }

    /// Whether a tilde is followed by a number: it counts what stands before it, and negates nothing.
    fn is_count(&self) -> bool {
        self.scanner.rest()[1..]
            .trim_start_matches([' ', '\t'])
            .starts_with(|char: char| char.is_ascii_digit())
    }

    fn bounded(
        &mut self,
        atom: Body,
        operator_at: usize,
        min: u32,
        max: Option<u32>,
    ) -> Result<Option<Body>, CompileError> {
        if let Some(max) = max.filter(|max| *max < min) {
            let reason = format!("{min} to {max} times is never: {max} is below {min}");
            return Err(self.scanner.malformed(operator_at, reason));
        }
        let at = atom.at;
        Ok(Some(At { what: Item::Repeat(Box::new(atom), min, max), at }))
    }

    fn atom(&mut self) -> Result<Option<Body>, CompileError> {
        let at = self.scanner.at;
        let of = |what| Ok(Some(At { what, at }));
        let Some(char) = self.scanner.peek() else { return Ok(None) };
        self.charge()?;
        match char {
            '(' | '[' => {
                self.scanner.at += 1;
                self.open += 1;
                let inner = self.deeper(at, Self::alternatives)?;
                self.open -= 1;
                let end = if char == '(' { ")" } else { "]" };
                self.scanner.skip(true);
                if !self.scanner.eat(end) {
                    let is_unclosed = matches!(self.scanner.peek(), None | Some(':'));
                    return Err(if is_unclosed {
                        self.scanner.malformed(at, "this is never closed")
                    } else {
                        self.unexpected()
                    });
                }
                if char == '(' {
                    // A group is alternatives of its own, perhaps of one: Lark tells `(a)+` from `a+`.
                    let what = match inner.what {
                        Item::Alternate(_) => inner.what,
                        _ => Item::Alternate(vec![inner]),
                    };
                    return Ok(Some(At { what, at }));
                }
                let inner = match inner.what {
                    Item::Alternate(_) => inner,
                    _ => At { at: inner.at, what: Item::Alternate(vec![inner]) },
                };
                of(Item::Repeat(Box::new(inner), 0, Some(1)))
            }
            // It binds tighter than a repetition.
            '~' => {
                self.scanner.at += 1;
                self.skip();
                let Some(inner) = self.deeper(at, Self::atom)? else { return Err(self.unexpected()) };
                of(Item::Not(Box::new(inner)))
            }
            '<' => self.token(at).and_then(of),
            '"' => self.scanner.text().and_then(of),
            '/' => self.scanner.regex().and_then(of),
            '%' if self.scanner.rest().starts_with("%if") => Ok(None),
            '%' => embedded::part(&mut self.scanner).and_then(of),
            '*' | '+' | '?' | '{' => {
                Err(self.scanner.malformed(at, format!("there is nothing in front of {char} to repeat")))
            }
            _ => {
                let Some(name) = self.scanner.name() else { return Ok(None) };
                let rest = self.scanner.rest();
                let is_usage = rest.starts_with('{')
                    && !rest[1..].trim_start().starts_with(|char: char| char.is_ascii_digit() || char == ',');
                if self.scanner.eat("::") {
                    self.skip();
                    let value = self.parameter()?;
                    return of(Item::Valued(name.what, value));
                }
                if !is_usage {
                    return of(Item::Name(name.what));
                }
                self.scanner.at += 1;
                self.open += 1;
                let arguments = self.deeper(at, Self::arguments)?;
                self.open -= 1;
                of(Item::Template(name.what, arguments))
            }
        }
    }

    /// A token edge, or a class of tokens.
    fn token(&mut self, at: usize) -> Result<Item, CompileError> {
        let scanner = &self.scanner;
        // Places in imported grammars are none in the constraint's own text.
        let place = |len| (scanner.place(at), scanner.document.is_empty().then(|| at..at + len));
        let read = self.tokens.bracketed(scanner.rest(), false, place);
        let (parts, len) =
            read.map_err(|error| error.refusal(|kind, reason| scanner.refuse(kind, at, reason)))?;
        self.scanner.at += len;
        let nodes = parts.into_iter().map(|(set, min, max)| match (min, max) {
            (1, Some(1)) => Node::Chars(set),
            _ => Node::Chars(set).repeat(min, max),
        });
        Ok(Item::Tokens(Node::concat(nodes.collect())))
    }

    fn arguments(&mut self) -> Result<Vec<Body>, CompileError> {
        let mut arguments = Vec::new();
        loop {
            self.skip();
            let Some(mut argument) = self.atom()? else { return Err(self.unexpected()) };
            if let Item::Alternate(alone) = &mut argument.what
                && alone.len() == 1
            {
                argument = alone.swap_remove(0);
            }
            arguments.push(argument);
            self.skip();
            if self.scanner.eat("}") {
                return Ok(arguments);
            }
            if !self.scanner.eat(",") {
                return Err(self.unexpected());
            }
        }
    }
}
