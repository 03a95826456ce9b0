//! Classes of characters in brackets.

use gobo_automata::CharSet;
use gobo_types::CompileError;

use super::super::classes;
use super::super::syntax::Node;
use super::{Flavour, Parser};

/// A member of a class.
enum Member {
    Char(char),
    Set(CharSet),
}

impl Parser<'_> {
    /// A class, after its bracket at `at`.
    pub(super) fn class(&mut self, at: usize) -> Result<Node, CompileError> {
        let is_negated = self.eat("^");
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut is_first = self.flavour == Flavour::Python;
        loop {
            if !std::mem::take(&mut is_first) && self.eat("]") {
                break;
            }
            let member_at = self.at;
            let first = match self.member(at)? {
                Member::Char(char) => char,
                Member::Set(set) => {
                    if self.rest().starts_with('-') && !self.rest().starts_with("-]") {
                        return Err(self.malformed(member_at, "a class is no end of a range"));
                    }
                    ranges.extend(set.char_ranges());
                    continue;
                }
            };
            let mut last = first;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") && self.rest().len() > 1 {
                self.bump();
                match self.member(at)? {
                    Member::Char(char) => last = char,
                    Member::Set(_) => return Err(self.malformed(member_at, "a class is no end of a range")),
                }
            }
            if last < first {
                let reason = format!("{first:?} comes after {last:?}: the range is empty");
                return Err(self.malformed(member_at, reason));
            }
            self.charge()?;
            ranges.push((first, last));
        }
        let set = self.cased(CharSet::new(ranges))?;
        Ok(Node::Chars(if is_negated { set.complement() } else { set }))
    }

    /// A member of the class that was opened at `opened`.
    fn member(&mut self, opened: usize) -> Result<Member, CompileError> {
        let at = self.at;
        match self.bump() {
            None => Err(self.malformed(opened, "an unclosed character class")),
            Some('\\') => {
                if let Some(set) = self.peek().and_then(|letter| classes::escaped(letter, self.is_ascii())) {
                    self.charge_class()?;
                    self.bump();
                    return Ok(Member::Set(set));
                }
                if self.eat("b") {
                    return Ok(Member::Char('\u{8}'));
                }
                self.escaped_char(at).map(Member::Char)
            }
            Some(char) => Ok(Member::Char(char)),
        }
    }
}
