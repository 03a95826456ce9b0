//! Token edges: `<[7]>`, `<think>`, `!<think>` of llama.cpp, `<class:NAME>`, and `Token(…)` and `ExcludeToken(…)` of `XGrammar`.

use gobo_automata::{Expr, TokenItem};
use gobo_types::CompileError;

use super::{Reader, shown};
use crate::edges::NoEdge;
use crate::outline::place;

impl<'a> Reader<'a> {
    /// An edge in angle brackets at `at`, after `!` or not, or a class of tokens.
    pub(super) fn token(&mut self, at: usize) -> Result<Expr, CompileError> {
        let is_negated = self.eat("!");
        let (text, begin) = (self.text, self.at);
        let read =
            self.tokens.bracketed(&text[begin..], is_negated, |len| (place(text, at), Some(at..begin + len)));
        let (parts, len) =
            read.map_err(|error| error.refusal(|kind, reason| self.refuse(kind, at, reason)))?;
        self.at += len;
        Ok(Expr::Concat(parts.into_iter().map(|(set, min, max)| Expr::Chars(set).repeat(min, max)).collect()))
    }

    /// The arguments of `Token` or `ExcludeToken`, whose name was read at `at`: ids, and texts in double quotes.
    pub(super) fn token_arguments(&mut self, name: &'a str, at: usize) -> Result<Expr, CompileError> {
        let mut items = Vec::new();
        while !self.eat(")") {
            let item_at = self.at;
            if !items.is_empty() && !self.eat(",") {
                return Err(
                    self.malformed(self.at, format!("{name} takes ids and texts with commas between"))
                );
            }
            self.skip_whitespace(true);
            if self.peek() == Some('"') {
                let Expr::Text(text) = self.literal()? else { unreachable!("a literal is a text") };
                items.push(TokenItem::Name(text));
            } else {
                let digits = self.take_while(|char| char.is_ascii_alphanumeric());
                let id = digits.parse().map_err(|_| {
                    let reason =
                        format!("{name} takes ids and texts in double quotes, not {:?}", shown(digits));
                    self.malformed(item_at, reason)
                })?;
                items.push(TokenItem::Ids(id, id));
            }
            self.skip_whitespace(true);
        }
        if items.is_empty() && name == "Token" {
            return Err(self.malformed(at, "Token without a token reads nothing"));
        }
        self.edge(at, items, name == "ExcludeToken")
    }

    fn edge(&mut self, at: usize, items: Vec<TokenItem>, is_complement: bool) -> Result<Expr, CompileError> {
        let text = self.text;
        let edge = self.tokens.edge(items, is_complement, || (place(text, at), Some(at..self.at)));
        let edge = edge.ok_or(NoEdge::TooMany);
        edge.map(Expr::Chars).map_err(|error| error.refusal(|kind, reason| self.refuse(kind, at, reason)))
    }
}
