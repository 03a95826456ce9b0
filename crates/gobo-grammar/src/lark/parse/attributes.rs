//! What llguidance writes between the name of a rule and its colon.

use gobo_automata::TokenItem;
use gobo_types::{CharCount, CompileError};

use super::super::syntax::{At, Attributes, End, Item, TokenBudget, is_terminal};
use super::Parser;
use crate::bnf::shown;
use crate::edges::NoEdge;

/// Attributes that mean nothing for texts.
const REMARKS: [&str; 3] = ["capture", "stop_capture", "temperature"];

impl Parser<'_, '_> {
    /// `::_` after the name of a rule with a parameter.
    pub(super) fn parametric(&mut self, name: &At<String>) -> Result<bool, CompileError> {
        if !self.scanner.eat("::") {
            return Ok(false);
        }
        if is_terminal(&name.what) {
            return Err(self.scanner.malformed(name.at, "a terminal has no parameter"));
        }
        if !self.scanner.eat("_") {
            let reason = "a rule with a parameter is written name::_: …";
            return Err(self.scanner.malformed(self.scanner.at, reason));
        }
        Ok(true)
    }

    /// `[lazy]`, `[suffix="…"]`, `[stop="…"]`, `[max_tokens=N]`, and attributes without a meaning; others are refused by name.
    pub(super) fn attributes(
        &mut self,
        of: &At<String>,
        is_parametric: bool,
        remarks: &mut Vec<&'static str>,
    ) -> Result<Attributes, CompileError> {
        let mut set = Attributes::default();
        if !self.scanner.eat("[") {
            return Ok(set);
        }
        loop {
            self.skip();
            let at = self.scanner.at;
            let Some(name) = self.scanner.name() else { return Err(self.unexpected()) };
            self.skip();
            let has_value = self.scanner.eat("=");
            self.skip();
            let is_budget = name.what == "max_tokens";
            let value = if has_value && !is_budget { Some(self.value()?) } else { None };
            let end = match (name.what.as_str(), value) {
                ("lazy", None) => Some(End::Lazy),
                ("suffix", Some(Some(text))) => Some(End::Suffix(Box::new(text))),
                ("stop", Some(Some(text))) => Some(End::Stop(Box::new(text))),
                ("lazy" | "suffix" | "stop", _) => {
                    let reason =
                        "it is [lazy], or [suffix=…] or [stop=…] with a text, a pattern or a terminal";
                    return Err(self.scanner.malformed(at, reason));
                }
                ("max_tokens", _) => {
                    if set.budget.replace(self.budget(at, has_value)?).is_some() {
                        return Err(self.scanner.malformed(at, "a rule has one max_tokens"));
                    }
                    None
                }
                (word, _) => {
                    let Some(remark) = REMARKS.into_iter().find(|remark| *remark == word) else {
                        let reason = format!("the attribute {} is not supported", shown(word));
                        return Err(self.scanner.unsupported(at, reason));
                    };
                    remarks.push(remark);
                    None
                }
            };
            if (end.is_some() || is_budget) && (is_terminal(&of.what) || is_parametric) {
                let what = if is_parametric { "a rule with a parameter" } else { "a terminal" };
                let reason = format!("{what} has no attribute {}", shown(&name.what));
                return Err(self.scanner.malformed(at, reason));
            }
            if let Some(end) = end {
                // Beside a suffix, lazy says nothing new.
                match (&set.end, &end) {
                    (None | Some(End::Lazy), _) => set.end = Some(end),
                    (Some(_), End::Lazy) => {}
                    (Some(_), _) => {
                        return Err(self.scanner.malformed(at, "a rule has one suffix or stop"));
                    }
                }
            }
            self.skip();
            if self.scanner.eat("]") {
                self.skip();
                return Ok(set);
            }
            if !self.scanner.eat(",") {
                return Err(self.unexpected());
            }
        }
    }

    /// The number of tokens that may begin in a rule; `at`: where its attribute stands.
    fn budget(&mut self, at: usize, has_value: bool) -> Result<TokenBudget, CompileError> {
        let digits = self.scanner.take_while(|char| char.is_ascii_alphanumeric());
        let number = digits.parse().ok().filter(|most| has_value && (1..CharCount::MAX_CHARS).contains(most));
        let Some(most) = number else {
            let reason = format!("a rule has [max_tokens=N], N from 1 to {}", CharCount::MAX_CHARS - 1);
            return Err(self.scanner.malformed(at, reason));
        };
        let scanner = &self.scanner;
        let spent = self.tokens.edge(vec![TokenItem::Spent], false, || (scanner.place(at), None));
        let spent = spent.ok_or(NoEdge::TooMany);
        spent
            .map(|spent| TokenBudget { most, spent })
            .map_err(|error| error.refusal(|kind, reason| scanner.refuse(kind, at, reason)))
    }

    /// The value of an attribute: a text, a pattern or a terminal; a number is none of these.
    fn value(&mut self) -> Result<Option<At<Item>>, CompileError> {
        let at = self.scanner.at;
        let what = match self.scanner.peek() {
            Some('"') => self.scanner.text()?,
            Some('/') => self.scanner.regex()?,
            Some('%') => super::super::embedded::part(&mut self.scanner)?,
            _ => match self.scanner.name() {
                Some(name) => Item::Name(name.what),
                None => {
                    self.scanner
                        .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '+'));
                    if self.scanner.at == at {
                        return Err(self.unexpected());
                    }
                    return Ok(None);
                }
            },
        };
        Ok(Some(At { what, at }))
    }
}
