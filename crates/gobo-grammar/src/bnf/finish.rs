//! The whole grammar, once all its rules are read.

use gobo_automata::{Expr, Grammar, Rule, RuleId};
use gobo_types::{CompileError, DenseId as _, LengthRange, RefusalKind};

use super::{Reader, SHOWN_NAMES, Seen, shown};
use crate::near::near;

impl<'a> Reader<'a> {
    /// The grammar whose start rule has this name.
    ///
    /// # Errors
    /// A refusal of a rule that is not there.
    pub(crate) fn finish(mut self, start: &str) -> Result<Grammar, CompileError> {
        if self.rules.is_empty() {
            return Err(self.malformed(0, "a grammar without rules"));
        }
        if let Some(missing) = self.rules.iter().find(|rule| rule.body.is_none()) {
            let help = match near(missing.name, self.names()) {
                Some(near) => format!("Did you mean {near}?"),
                None => "Define it, or write it in double quotes if it is a text to match.".to_owned(),
            };
            let reason = format!("the rule {} is not defined", shown(missing.name));
            let span = missing.at..missing.at + missing.name.len();
            return Err(self.malformed(missing.at, reason).spanning(span).advising(help));
        }
        let Some(&start) = self.ids.get(start) else {
            let names: Vec<String> = self.names().take(SHOWN_NAMES).map(shown).collect();
            let more = if self.rules.len() > SHOWN_NAMES { ", …" } else { "" };
            let uncalled =
                uncalled(&self.rules.iter().filter_map(|rule| rule.body.as_ref()).collect::<Vec<_>>());
            let candidate = uncalled.first().map_or(0, |rule| rule.index());
            let first = self.rules.get(candidate).map_or_else(String::new, |rule| shown(rule.name));
            return Err(CompileError::refuse(
                RefusalKind::Malformed,
                "the start rule",
                format!("there is no rule {}; there are {}{more}", shown(start), names.join(", ")),
            )
            .spanning(0..0)
            .advising(format!(
                "Name the rule of whole texts, as in --start {first} (the field start), or define {}.",
                shown(start)
            )));
        };
        let budgets = self.within_budgets()?;
        let rule =
            |rule: Seen<'_>| Some(Rule { name: rule.name.to_owned(), expr: rule.body?, lengths: None });
        let mut rules: Vec<Rule> = self.rules.drain(..).filter_map(rule).collect();
        for (of, expr, most) in budgets {
            rules[of].expr = expr;
            rules[of].lengths = Some(LengthRange::of_tokens(most));
        }
        Ok(Grammar { rules, start, called: Vec::new(), families: Vec::new(), tokens: self.tokens.sets })
    }

    /// Of the rules that are defined.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.rules.iter().filter(|rule| rule.body.is_some()).map(|rule| rule.name)
    }
}

/// The rules that no rule calls, in their order; `rules`: what each stands for.
pub(crate) fn uncalled(rules: &[&Expr]) -> Vec<RuleId> {
    let mut is_called = vec![false; rules.len()];
    for expr in rules {
        calls(expr, &mut is_called);
    }
    RuleId::range(0..rules.len()).filter(|rule| !is_called[rule.index()]).collect()
}

fn calls(expr: &Expr, is_called: &mut [bool]) {
    match expr {
        Expr::Call(rule) => is_called[rule.index()] = true,
        Expr::Concat(parts) | Expr::Alternate(parts) => parts.iter().for_each(|part| calls(part, is_called)),
        Expr::Repeat { expr, .. } => calls(expr, is_called),
        Expr::Shared(expr) => calls(expr, is_called),
        Expr::Text(_) | Expr::Chars(_) | Expr::Machine(_) => {}
    }
}
