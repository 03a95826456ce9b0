//! Macros of `XGrammar`: `Regex("…")`, `Substring("…")`, `Token(…)`, `ExcludeToken(…)`, and those that are refused.

use gobo_automata::{Expr, Language};
use gobo_types::{Budget, CompileError, RefusalKind};

use super::{Form, Reader, shown};
use crate::regex::{Flags, Flavour, alone, parse};

/// Macros that speak of texts up to a tag.
const REFUSED: [&str; 2] = ["TagDispatch", "TokenTagDispatch"];

impl<'a> Reader<'a> {
    /// The macro whose name was read at `at`; `None` if it is the name of a rule.
    pub(super) fn macro_call(&mut self, name: &'a str, at: usize) -> Result<Option<Expr>, CompileError> {
        let Form::Ebnf(budget) = self.form else { return Ok(None) };
        let is_refused = REFUSED.contains(&name);
        let is_token = matches!(name, "Token" | "ExcludeToken");
        if !is_refused && !is_token && !matches!(name, "Regex" | "Substring") {
            return Ok(None);
        }
        let name_end = self.at;
        self.skip_whitespace(true);
        if !self.eat("(") {
            self.at = name_end;
            return Ok(None);
        }
        if is_refused {
            let reason = format!("the macro {name} is not supported");
            return Err(self.refuse(RefusalKind::Unsupported, at, reason).spanning(at..name_end));
        }
        self.skip_whitespace(true);
        if is_token {
            return self.token_arguments(name, at).map(Some);
        }
        let text_at = self.at;
        if self.peek() != Some('"') {
            return Err(self.malformed(text_at, format!("{name} takes one text in double quotes")));
        }
        let Expr::Text(text) = self.literal()? else { unreachable!("a literal is a text") };
        let text_end = self.at;
        self.skip_whitespace(true);
        if !self.eat(")") {
            return Err(self.malformed(self.at, format!("{name} takes one text in double quotes")));
        }
        let Some(budget) = budget else { return Ok(Some(Expr::text(""))) };
        if name == "Substring" {
            return substring(&text, budget).map(Some);
        }
        let node = parse(&text, Flags::default(), Flavour::XGrammar, budget);
        let language = node.and_then(|parsed| alone(&parsed.node, budget)).map_err(|error| match error {
            CompileError::Refused(refusal) => {
                let reason = format!("in {} ({}): {}", shown(&text), refusal.place, refusal.reason);
                let refused = self.refuse(refusal.kind, text_at, reason).spanning(text_at..text_end);
                refused.advising(refusal.help.to_string())
            }
            other => other,
        })?;
        language.to_expr(|chars| Expr::Chars(chars.clone()), budget).map(Some)
    }
}

/// All parts of a text, the empty one too. Linear.
fn substring(text: &str, budget: &Budget) -> Result<Expr, CompileError> {
    let chars: Vec<String> = text.chars().map(String::from).collect();
    Language::substrings(&chars, budget)?.to_expr(|chars| Expr::Chars(chars.clone()), budget)
}
