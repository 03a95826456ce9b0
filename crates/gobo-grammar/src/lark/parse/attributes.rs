//! What llguidance writes between the name of a rule and its colon.

use gobo_types::CompileError;

use super::super::syntax::{At, End, Item, is_terminal};
use super::Parser;
use crate::bnf::shown;

/// Attributes that mean nothing for texts.
const REMARKS: [&str; 3] = ["capture", "stop_capture", "temperature"];

impl Parser<'_> {
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

    /// `[lazy]`, `[suffix="…"]`, `[stop="…"]`, and attributes without a meaning; others are refused by name.
    pub(super) fn attributes(
        &mut self,
        of: &At<String>,
        is_parametric: bool,
        remarks: &mut Vec<&'static str>,
    ) -> Result<Option<End>, CompileError> {
        let mut end = None;
        if !self.scanner.eat("[") {
            return Ok(end);
        }
        loop {
            self.skip();
            let at = self.scanner.at;
            let Some(name) = self.scanner.name() else { return Err(self.unexpected()) };
            self.skip();
            let value = if self.scanner.eat("=") {
                self.skip();
                Some(self.value()?)
            } else {
                None
            };
            let set = match (name.what.as_str(), value) {
                ("lazy", None) => Some(End::Lazy),
                ("suffix", Some(Some(text))) => Some(End::Suffix(Box::new(text))),
                ("stop", Some(Some(text))) => Some(End::Stop(Box::new(text))),
                ("lazy" | "suffix" | "stop", _) => {
                    let reason =
                        "it is [lazy], or [suffix=…] or [stop=…] with a text, a pattern or a terminal";
                    return Err(self.scanner.malformed(at, reason));
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
            if let Some(set) = set {
                if is_terminal(&of.what) || is_parametric {
                    let what = if is_parametric { "a rule with a parameter" } else { "a terminal" };
                    let reason = format!("{what} has no attribute {}", shown(&name.what));
                    return Err(self.scanner.malformed(at, reason));
                }
                // Beside a suffix, lazy says nothing new.
                match (&end, &set) {
                    (None | Some(End::Lazy), _) => end = Some(set),
                    (Some(_), End::Lazy) => {}
                    (Some(_), _) => {
                        return Err(self.scanner.malformed(at, "a rule has one suffix or stop"));
                    }
                }
            }
            self.skip();
            if self.scanner.eat("]") {
                self.skip();
                return Ok(end);
            }
            if !self.scanner.eat(",") {
                return Err(self.unexpected());
            }
        }
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
