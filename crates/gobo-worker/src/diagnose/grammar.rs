//! Grammars: the rule that has no text, or the rule or repetition that needs too much.
//!
//! Whether a rule has a text is a least fixpoint (Hopcroft, Motwani & Ullman 2006, section 7.1.2). Of a rule without one, each
//! alternative holds a class without characters or a call of such a rule; followed from the start rule, these calls come to a class or
//! back to a rule that was met before.

use gobo_automata::{Expr, Grammar, RuleId};
use gobo_grammar::Written;
use gobo_grammar::gbnf::{Outline, place};
use gobo_schema::embedded;
use gobo_types::{Budget, DenseId as _, Source};

use super::finding::Finding;
use super::growth::Need;
use super::pattern::quoted;
use super::repetitions::{Compiler, Counted, Part, list, over_budget as too_large};
use super::trials::{Ended, Stage, Stop, Trials};

/// Most bytes of grammar that are looked at, over and over, for the rules that have texts.
const MAX_READ: usize = 16 << 20;

struct Grammars<'t, 'a, 'g> {
    trials: &'t mut Trials<'a>,
    written: &'g Written<'g>,
}

impl Compiler for Grammars<'_, '_, '_> {
    fn compile(&mut self, text: String, to: Stage, most_steps: u64) -> Result<Ended, Stop> {
        let Written { dialect, grammar: _, start, lexer, indentation, documents, classes: _ } = *self.written;
        let (start, documents) = (start.to_owned(), documents.to_vec());
        let source = Source::Grammar { dialect, grammar: text, start, lexer, indentation, documents };
        self.trials.compile(source, to, most_steps)
    }

    fn trials(&self) -> &Trials<'_> {
        self.trials
    }

    fn place(&self, at: usize) -> String {
        place(self.written.grammar, at)
    }
}

/// The repetition or the rule that needs too much.
pub(super) fn over_budget(
    written: &Written<'_>,
    need: Need,
    trials: &mut Trials<'_>,
    found: &mut Finding,
) -> Result<(), Stop> {
    let grammar = written.grammar;
    let Some(Outline { rules, repetitions }) = written.outline() else { return Ok(()) };
    let counted = |of: gobo_grammar::gbnf::OutlinedRepetition| Counted {
        span: of.span,
        operator: of.braces,
        min: of.min,
        max: of.max,
    };
    let part = |rule: gobo_grammar::gbnf::OutlinedRule| Part {
        name: format!("the rule {}", quoted(&grammar[rule.name])),
        span: rule.body,
        without: "\"\"",
        parts: Vec::new(),
    };
    let counted = repetitions.into_iter().map(counted).collect();
    let parts: Vec<Part> = rules.into_iter().map(part).collect();
    too_large(grammar, counted, &parts, need, &mut Grammars { trials, written }, found)
}

/// The rule because of which the start rule has no text.
pub(super) fn without_text(written: &Written<'_>, budget: &Budget) -> Option<Finding> {
    let (text, outline) = (written.grammar, written.outline()?);
    let grammar = written.read_with(Some(&embedded), budget).ok()?.texts.rules()?;
    let productive = productive(&grammar, MAX_READ / text.len().max(1))?;
    let mut way: Vec<RuleId> = Vec::new();
    let mut rule = grammar.start;
    let (at, reason, help) = loop {
        let name = |rule: RuleId| quoted(&grammar.rules[rule.index()].name);
        if let Some(first) = way.iter().position(|met| *met == rule) {
            let circle: Vec<String> = way[first..].iter().map(|rule| name(*rule)).collect();
            let reason = match &circle[..] {
                [only] => format!("every text of the rule {only} holds another one of it, without end"),
                several => format!(
                    "every text of the rule {} holds another one of it, without end, through {}",
                    several[0],
                    list(&several[1..])
                ),
            };
            let help = format!("Give the rule {} an alternative that does not lead back to it.", circle[0]);
            break (rule, reason, help);
        }
        if productive[rule.index()] {
            return None;
        }
        way.push(rule);
        match obstacle(&grammar.rules[rule.index()].expr, &productive) {
            Some(Obstacle::Call(callee)) => rule = callee,
            Some(Obstacle::Class) => {
                let reason = format!("the rule {} needs a character of a class that has none", name(rule));
                break (rule, reason, "Give the class a character, or leave it out.".to_owned());
            }
            None => return None,
        }
    };
    let span = outline.rules.get(at.index())?.name.clone();
    Some(Finding { place: place(text, span.start), span: Some(span.into()), reason, help, needed: None })
}

/// `[rules]`: which have a text; `None` after so many rounds without an end.
fn productive(grammar: &Grammar, rounds: usize) -> Option<Vec<bool>> {
    let mut productive = vec![false; grammar.rules.len()];
    for _ in 0..rounds {
        let before = productive.clone();
        for (productive, rule) in productive.iter_mut().zip(&grammar.rules) {
            *productive = *productive || obstacle(&rule.expr, &before).is_none();
        }
        if productive == before {
            return Some(productive);
        }
    }
    None
}

/// Why an expression has no text.
#[derive(Debug, Clone, Copy)]
enum Obstacle {
    Class,
    Call(RuleId),
}

/// The first thing because of which an expression has no text; `None` if it has one.
fn obstacle(expr: &Expr, productive: &[bool]) -> Option<Obstacle> {
    match expr {
        Expr::Text(_) | Expr::Machine(_) => None,
        Expr::Chars(set) => set.is_empty().then_some(Obstacle::Class),
        Expr::Concat(parts) => parts.iter().find_map(|part| obstacle(part, productive)),
        Expr::Alternate(parts) => {
            let mut obstacles = parts.iter().map(|part| obstacle(part, productive));
            let first = obstacles.next()??;
            obstacles.all(|obstacle| obstacle.is_some()).then_some(first)
        }
        Expr::Repeat { expr, min, .. } => {
            if *min == 0 {
                None
            } else {
                obstacle(expr, productive)
            }
        }
        Expr::Call(rule) => (!productive[rule.index()]).then_some(Obstacle::Call(*rule)),
        Expr::Shared(expr) => obstacle(expr, productive),
    }
}
