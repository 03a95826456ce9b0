//! Statements, by recursive descent.

mod attributes;
mod body;
mod values;

use gobo_types::{Budget, CompileError};

use super::embedded;
use super::scan::Scanner;
use crate::edges::TokenSets;

use super::syntax::{At, Definition, Home, Import, Mode, Statement, is_terminal};

const PHASE: &str = "reading the grammar";

/// Bytes that a part of a body is charged.
const ITEM_BYTES: u64 = 96;

/// Reads all statements. Linear in the text.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(super) fn parse(
    document: &str,
    text: &str,
    home: Home,
    tokens: &mut TokenSets<'_>,
    budget: &Budget,
) -> Result<Vec<Statement>, CompileError> {
    let scanner = Scanner { text, at: 0, home, document };
    let mut parser = Parser { scanner, tokens, budget, depth: 0, open: 0 };
    if let Some(at) = text.find('\0') {
        return Err(parser.scanner.malformed(at, "a raw NUL character; write \\x00 to match one"));
    }
    let mut statements = Vec::new();
    loop {
        parser.scanner.skip(true);
        if parser.scanner.rest().is_empty() {
            return Ok(statements);
        }
        parser.statement(&mut statements)?;
    }
}

struct Parser<'a, 'b> {
    scanner: Scanner<'a>,
    /// The token sets of all grammars.
    tokens: &'a mut TokenSets<'b>,
    budget: &'a Budget,
    /// Levels around this place.
    depth: u32,
    /// Brackets around it, in which a line end is a blank.
    open: u32,
}

impl Parser<'_, '_> {
    fn skip(&mut self) {
        self.scanner.skip(self.open > 0);
    }

    fn charge(&self) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, ITEM_BYTES)
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<(), CompileError> {
        let at = self.scanner.at;
        self.charge()?;
        if self.scanner.peek() != Some('%') {
            let definition = self.definition()?;
            statements.push(Statement::Define(Mode::New, definition));
            return self.end_of_statement();
        }
        self.scanner.at += 1;
        let word = self.scanner.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
        self.skip();
        match word {
            "ignore" => {
                let body = self.alternatives()?;
                statements.push(Statement::Ignore(body));
            }
            "import" => self.import(statements)?,
            "declare" => {
                let mut is_first = true;
                while let Some(name) = self.scanner.name() {
                    is_first = false;
                    statements.push(Statement::Declare(name));
                    self.skip();
                    self.scanner.eat(",");
                    self.skip();
                }
                if is_first {
                    return Err(self.scanner.malformed(self.scanner.at, "%declare is followed by names"));
                }
            }
            "override" => {
                let definition = self.definition()?;
                statements.push(Statement::Define(Mode::Override, definition));
            }
            "extend" => {
                let definition = self.definition()?;
                statements.push(Statement::Define(Mode::Extend, definition));
            }
            "llguidance" => {
                let skips = embedded::initial_skip(&mut self.scanner)?;
                statements.extend(skips.map(Statement::InitialSkip));
            }
            "lark" => {
                return Err(self
                    .scanner
                    .unsupported(at, "grammars within grammars (%lark) are not supported"));
            }
            _ => {
                return Err(self.scanner.malformed(
                    at,
                    "an unknown statement; there are %ignore, %import, %declare, %override, %extend",
                ));
            }
        }
        self.end_of_statement()
    }

    fn end_of_statement(&mut self) -> Result<(), CompileError> {
        self.skip();
        match self.scanner.peek() {
            None | Some('\n' | '\r') => Ok(()),
            Some(_) => Err(self.unexpected()),
        }
    }

    fn unexpected(&self) -> CompileError {
        let at = self.scanner.at;
        let rest = self.scanner.rest();
        let (reason, help) = match rest.chars().next() {
            None => ("the text ends here too early".to_owned(), ""),
            Some(')' | ']') => (
                "this is closed and was never opened".to_owned(),
                "Leave it out, or put it in double quotes.",
            ),
            Some('\'') => ("texts stand in double quotes".to_owned(), "Write \"…\"."),
            Some(';' | '=') => (
                "a rule is written name: … and ends with its line".to_owned(),
                "Write a colon after the name, and nothing at the end of the line.",
            ),
            Some('<') => (
                "<…> is a token edge of llguidance's dialect".to_owned(),
                "Give --lexer longest or none (the field lexer).",
            ),
            Some('@') => ("grammars by name (@…) are not supported".to_owned(), ""),
            Some(other) => {
                (format!("unexpected {other:?}"), "Write texts that are to be matched in double quotes.")
            }
        };
        let error = if rest.starts_with(['<', '@']) {
            self.scanner.unsupported(at, reason)
        } else {
            self.scanner.malformed(at, reason)
        };
        error.advising(help)
    }

    fn import(&mut self, statements: &mut Vec<Statement>) -> Result<(), CompileError> {
        let at = self.scanner.at;
        let is_relative = self.scanner.eat(".");
        if is_relative && self.scanner.peek() == Some('.') {
            return Err(self.scanner.malformed(at, "the import leaves its directory"));
        }
        let mut path = Vec::new();
        loop {
            let Some(name) = self.scanner.name() else {
                return Err(self
                    .scanner
                    .malformed(self.scanner.at, "an import is a path of names, as in common.INT"));
            };
            path.push(name.what);
            if !self.scanner.eat(".") {
                break;
            }
        }
        self.skip();
        let of = |path: &[String], name: String, alias: String, at| {
            Statement::Import(Import { is_relative, path: path.to_vec(), name, alias, at })
        };
        if self.scanner.eat("(") {
            self.open += 1;
            loop {
                self.skip();
                let Some(name) = self.scanner.name() else { return Err(self.unexpected()) };
                statements.push(of(&path, name.what.clone(), name.what, name.at));
                self.charge()?;
                self.skip();
                if self.scanner.eat(")") {
                    self.open -= 1;
                    return Ok(());
                }
                if !self.scanner.eat(",") {
                    return Err(self.unexpected());
                }
            }
        }
        let name = path.pop().unwrap_or_default();
        if path.is_empty() {
            return Err(self
                .scanner
                .malformed(at, "an import names a grammar and a name in it, as in common.INT"));
        }
        let mut alias = name.clone();
        if self.scanner.eat("->") {
            self.skip();
            let Some(other) = self.scanner.name() else { return Err(self.unexpected()) };
            if is_terminal(&other.what) != is_terminal(&name) {
                return Err(self
                    .scanner
                    .malformed(other.at, "a rule has a lower-case name, a terminal an upper-case one"));
            }
            alias = other.what;
        }
        statements.push(of(&path, name, alias, at));
        Ok(())
    }

    /// `name: …`, with modifiers, parameters and priority.
    fn definition(&mut self) -> Result<Definition, CompileError> {
        let at = self.scanner.at;
        self.scanner.take_while(|char| matches!(char, '?' | '!'));
        let Some(name) = self.scanner.name() else {
            self.scanner.at = at;
            return Err(self.unexpected());
        };
        let bare = name.what.trim_start_matches('_');
        let is_one_case = if is_terminal(&name.what) {
            !bare.contains(|char: char| char.is_ascii_lowercase())
        } else {
            !bare.contains(|char: char| char.is_ascii_uppercase())
        };
        if !is_one_case {
            let reason = "a rule has a lower-case name, a terminal an upper-case one";
            return Err(self.scanner.malformed(name.at, reason));
        }
        let is_parametric = self.parametric(&name)?;
        let parameters = self.parameters(&name)?;
        self.skip();
        let mut remarks = Vec::new();
        let mut attributes = self.attributes(&name, is_parametric, &mut remarks)?;
        let mut priority = 0;
        if self.scanner.eat(".") {
            remarks.push("priority");
            let is_negative = self.scanner.eat("-");
            let Some(number) = self.scanner.number(u32::MAX)? else {
                return Err(self.scanner.malformed(self.scanner.at, "a priority is a number"));
            };
            priority = if is_negative { -i64::from(number) } else { i64::from(number) };
            self.skip();
        }
        if !attributes.are_set() {
            attributes = self.attributes(&name, is_parametric, &mut remarks)?;
        }
        if !self.scanner.eat(":") {
            let reason = format!("a colon is missing after {}", name.what);
            return Err(self
                .scanner
                .malformed(self.scanner.at, reason)
                .advising("A definition is written name: …"));
        }
        let body = self.alternatives()?;
        Ok(Definition { name, parameters, is_parametric, attributes, remarks, priority, body })
    }

    fn parameters(&mut self, name: &At<String>) -> Result<Vec<String>, CompileError> {
        let mut parameters = Vec::new();
        if !self.scanner.eat("{") {
            return Ok(parameters);
        }
        if is_terminal(&name.what) {
            return Err(self.scanner.unsupported(name.at, "templates of terminals are not supported"));
        }
        loop {
            self.skip();
            let Some(parameter) = self.scanner.name() else { return Err(self.unexpected()) };
            if parameters.contains(&parameter.what) {
                return Err(self.scanner.malformed(parameter.at, "this parameter stands here twice"));
            }
            parameters.push(parameter.what);
            self.skip();
            if self.scanner.eat("}") {
                return Ok(parameters);
            }
            if !self.scanner.eat(",") {
                return Err(self.unexpected());
            }
        }
    }
}
