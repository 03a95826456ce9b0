//! Rules that count tokens: `name[max_tokens=N] ::= …`, as `XGrammar` has it.
//!
//! So many tokens may begin in a text of the rule; then it ends as soon as it can. The texts of such a rule are a regular language: calls in
//! it are written out, and a rule that calls itself is refused.

use std::collections::HashMap;

use gobo_automata::{Expr, Language, RuleId, TokenItem};
use gobo_types::{CharCount, CompileError, DenseId as _, RefusalKind};

use super::{Form, RULE_OPTIONS, Reader, shown};
use crate::outline::place;

/// Deepest nesting of calls in a rule that counts tokens.
const MAX_CALLS: usize = 16;

/// A rule that counts tokens: its number, its texts, and how many tokens may begin there.
type Budgeted = (usize, Expr, u32);

impl Reader<'_> {
    /// The option of a rule, which begins here.
    pub(super) fn budget(&mut self) -> Result<(u32, usize), CompileError> {
        let at = self.at;
        self.eat("[");
        self.skip_whitespace(false);
        if !self.eat("max_tokens") {
            return Err(self.refuse(RefusalKind::Unsupported, at, RULE_OPTIONS));
        }
        self.skip_whitespace(false);
        let has_sign = self.eat("=");
        self.skip_whitespace(false);
        let digits = self.take_while(|char| char.is_ascii_alphanumeric());
        self.skip_whitespace(false);
        let number: Option<u32> = digits.parse().ok().filter(|_| has_sign && self.eat("]"));
        self.skip_whitespace(true);
        match number.filter(|most| (1..CharCount::MAX_CHARS).contains(most)) {
            Some(most) => Ok((most, at)),
            None => {
                let most = CharCount::MAX_CHARS - 1;
                let reason = format!("a rule has [max_tokens=N], N from 1 to {most}");
                Err(self.malformed(at, reason))
            }
        }
    }

    /// The rules that count tokens.
    pub(super) fn within_budgets(&mut self) -> Result<Vec<Budgeted>, CompileError> {
        let Form::Ebnf(Some(budget)) = self.form else { return Ok(Vec::new()) };
        let mut written: HashMap<RuleId, Expr> = HashMap::new();
        let mut all = Vec::new();
        for rule in RuleId::range(0..self.rules.len()) {
            let Some((most, at)) = self.rules[rule.index()].budget else { continue };
            let expr = self.written_out(rule, (at, rule), 0, &mut written)?;
            let text = self.text;
            let spent = self.tokens.edge(vec![TokenItem::Spent], false, || (place(text, at), None));
            let spent = spent.map(Expr::Chars).ok_or_else(|| self.unexpected())?;
            let language = Language::expr(&expr, budget)?;
            all.push((rule.index(), language.spent(&spent, budget)?, most));
        }
        Ok(all)
    }

    /// The texts of a rule without calls; `of`: where a rule says that it counts tokens, and that rule.
    fn written_out(
        &self,
        rule: RuleId,
        of: (usize, RuleId),
        depth: usize,
        written: &mut HashMap<RuleId, Expr>,
    ) -> Result<Expr, CompileError> {
        if let Some(known) = written.get(&rule) {
            return Ok(known.clone());
        }
        let (at, first) = of;
        let name = shown(self.rules[first.index()].name);
        let refuse = |why: &str| {
            Err(self.refuse(RefusalKind::Unsupported, at, format!("{name} has max_tokens, {why}")))
        };
        if depth > 0 && rule == first {
            return refuse("and calls itself");
        }
        if depth > 0 && self.rules[rule.index()].budget.is_some() {
            return refuse("and so has a rule that it calls");
        }
        if depth == MAX_CALLS {
            return refuse(&format!("and calls nest deeper than {MAX_CALLS} levels in it"));
        }
        let Some(body) = &self.rules[rule.index()].body else { return refuse("and is not defined") };
        let expr = self.without_calls(body, of, depth, written)?.shared();
        written.insert(rule, expr.clone());
        Ok(expr)
    }

    fn without_calls(
        &self,
        expr: &Expr,
        of: (usize, RuleId),
        depth: usize,
        written: &mut HashMap<RuleId, Expr>,
    ) -> Result<Expr, CompileError> {
        let mut all = |parts: &[Expr]| -> Result<Vec<Expr>, CompileError> {
            parts.iter().map(|part| self.without_calls(part, of, depth, written)).collect()
        };
        Ok(match expr {
            Expr::Call(rule) => self.written_out(*rule, of, depth + 1, written)?,
            Expr::Concat(parts) => Expr::Concat(all(parts)?),
            Expr::Alternate(parts) => Expr::Alternate(all(parts)?),
            Expr::Repeat { expr, min, max } => {
                self.without_calls(expr, of, depth, written)?.repeat(*min, *max)
            }
            Expr::Shared(expr) => self.without_calls(expr, of, depth, written)?,
            Expr::Text(_) | Expr::Chars(_) | Expr::Machine(_) => expr.clone(),
        })
    }
}
