//! Token edges: `<[7]>`, `<think>`, `!<think>` of llama.cpp, and `Token(…)` and `ExcludeToken(…)` of `XGrammar`.

use gobo_automata::{Expr, TokenItem};
use gobo_types::{CompileError, RefusalKind};

use super::{Reader, shown};
use crate::edges::{Bracketed, FORMS, MAX_TOKEN_SETS, NoIds, bracketed};
use crate::outline::place;

impl<'a> Reader<'a> {
    /// An edge in angle brackets at `at`, after `!` or not.
    pub(super) fn token(&mut self, at: usize) -> Result<Expr, CompileError> {
        let is_negated = self.eat("!");
        let read = bracketed(self.rest());
        let Bracketed { items, is_complement, len } =
            read.map_err(|NoIds(why)| self.malformed(at, why).advising(FORMS))?;
        self.at += len;
        self.edge(at, items, is_complement != is_negated)
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
        let edge = self.tokens.edge(items, is_complement, (|| place(text, at), Some(at..self.at)));
        edge.map(Expr::Chars).ok_or_else(|| {
            let reason = format!("the grammar has more than {MAX_TOKEN_SETS} different token edges");
            self.refuse(RefusalKind::Unsupported, at, reason)
        })
    }
}
