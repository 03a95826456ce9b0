//! Groups, looks, flags.

use gobo_types::CompileError;

use super::super::syntax::{Direction, LOOK_LIMIT, Node};
use super::{Flavour, Last, Parser};

const BACK_REFERENCE: &str =
    "Write the repeated texts out, as in aa|bb for ([ab])\\1; no automaton compares two parts of a text.";

impl Parser<'_> {
    /// Flags at the beginning hold of the whole pattern.
    pub(super) fn global_flags(&mut self) -> Result<(), CompileError> {
        while self.flavour == Flavour::Python && self.rest().starts_with("(?") {
            let at = self.at;
            let letters: String = self.rest()[2..].chars().take_while(char::is_ascii_alphabetic).collect();
            if letters.is_empty() || !self.rest()[2 + letters.len()..].starts_with(')') {
                break;
            }
            self.set_flags(at + 2, &letters, true)?;
            self.at += letters.len() + 3;
        }
        Ok(())
    }

    fn set_flags(&mut self, at: usize, letters: &str, on: bool) -> Result<(), CompileError> {
        for (offset, letter) in letters.char_indices() {
            if letter == 'L' || letter == 'l' {
                return Err(self.malformed(at + offset, "the flag L is for patterns of bytes alone"));
            }
            if !self.flags.set(letter, on) {
                return Err(self.malformed(at + offset, format!("{letter} is no flag")));
            }
        }
        Ok(())
    }

    /// A group, after its parenthesis at `at`.
    pub(super) fn group(&mut self, at: usize) -> Result<(Option<Node>, Last), CompileError> {
        if !self.eat("?") {
            return self.inside(at).map(|node| (Some(node), Last::Item));
        }
        for (sign, direction, negated) in [
            ("=", Direction::Ahead, false),
            ("!", Direction::Ahead, true),
            ("<=", Direction::Behind, false),
            ("<!", Direction::Behind, true),
        ] {
            if self.eat(sign) {
                return self.look(at, direction, negated).map(|node| (Some(node), Last::Item));
            }
        }
        if self.eat("#") {
            let Some(end) = self.rest().find(')') else {
                return Err(self.malformed(at, "an unclosed comment"));
            };
            self.at += end + 1;
            return Ok((None, Last::Nothing));
        }
        let is_named = if self.flavour == Flavour::Python { self.eat("P<") } else { self.eat("<") };
        if is_named {
            let name = self.rest().find('>').map(|end| self.rest()[..end].to_owned());
            let is_name = |name: &String| {
                let mut chars = name.chars();
                chars.next().is_some_and(|char| char.is_alphabetic() || char == '_')
                    && chars.all(|char| char.is_alphanumeric() || char == '_')
            };
            let Some(name) = name.filter(is_name) else {
                return Err(self.malformed(at, "a group's name is letters, digits and underscores up to >"));
            };
            self.at += name.len() + 1;
            return self.inside(at).map(|node| (Some(node), Last::Item));
        }
        if self.eat("P=") || self.eat("(") {
            let reason = "what refers back to a group is not regular";
            return Err(self.unsupported(at, reason).advising(BACK_REFERENCE));
        }
        if self.eat(">") {
            let reason = "an atomic group has no plain meaning as a set of texts";
            return Err(self
                .unsupported(at, reason)
                .advising("Write (?:…) if other ways through it may stay."));
        }
        self.flagged(at).map(|node| (Some(node), Last::Item))
    }

    /// `(?:…)`, and `(?flags:…)`.
    fn flagged(&mut self, at: usize) -> Result<Node, CompileError> {
        let around = self.flags;
        let mut on = true;
        loop {
            let flag_at = self.at;
            match self.bump() {
                Some(':') => break,
                Some('-') if on && self.flavour == Flavour::Python => on = false,
                Some(letter) if letter.is_ascii_alphabetic() && self.flavour == Flavour::Python => {
                    self.set_flags(flag_at, letter.encode_utf8(&mut [0; 4]), on)?;
                }
                Some(')') if flag_at > at + 2 => {
                    let reason = "flags for the rest of a pattern stand at its beginning";
                    return Err(self.malformed(at, reason).advising("Write (?i:…) for a part of it."));
                }
                _ => return Err(self.malformed(at, "an unknown kind of group")),
            }
        }
        let node = self.inside(at);
        self.flags = around;
        node
    }

    /// The alternatives of a group and its end.
    fn inside(&mut self, at: usize) -> Result<Node, CompileError> {
        let around = self.flags;
        let node = self.deeper(at, Self::alternatives)?;
        self.flags = around;
        if !self.eat(")") {
            return Err(self.malformed(at, "an unclosed parenthesis"));
        }
        Ok(node)
    }

    fn look(&mut self, at: usize, direction: Direction, negated: bool) -> Result<Node, CompileError> {
        if self.flavour == Flavour::XGrammar {
            return Err(self.unsupported(at, "XGrammar has no look-around"));
        }
        if self.looks >= LOOK_LIMIT {
            return Err(self.unsupported(at, format!("looks nest deeper than {LOOK_LIMIT} levels")));
        }
        self.looks += 1;
        let node = self.inside(at)?;
        self.looks -= 1;
        if direction == Direction::Behind && node.width().is_none() {
            return Err(self.malformed(at, "a look-behind has texts of one length alone"));
        }
        Ok(Node::look(direction, negated, node))
    }
}
