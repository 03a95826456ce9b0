//! Regular expressions: the part that matches nothing, or needs too much. Parts are those of the syntax tree, left out in the text.

use std::ops::Range;

use gobo_automata::NEST_LIMIT;
use gobo_types::{MatchMode, RegexDialect, Source};
use regex_syntax::ast::{self, AssertionKind, Ast, RepetitionKind, RepetitionRange};

use super::finding::Finding;
use super::growth::Need;
use super::minimal::minimal;
use super::repetitions::{Compiler, Counted, Part, edited, list, over_budget as too_large};
use super::trials::{Ended, Stage, Stop, Trials};

/// How much of a part a message quotes, in characters.
const QUOTED: usize = 40;

struct Patterns<'t, 'a> {
    trials: &'t mut Trials<'a>,
    mode: MatchMode,
}

impl Compiler for Patterns<'_, '_> {
    fn compile(&mut self, text: String, to: Stage, most_steps: u64) -> Result<Ended, Stop> {
        self.trials.compile(of(text, self.mode), to, most_steps)
    }

    fn trials(&self) -> &Trials<'_> {
        self.trials
    }

    fn place(&self, at: usize) -> String {
        format!("offset {at}")
    }
}

/// The constraint of a part of a pattern.
fn of(pattern: String, mode: MatchMode) -> Source {
    let (dialect, and, not) = (RegexDialect::default(), Vec::new(), Vec::new());
    Source::Regex { pattern, mode, dialect, and, not }
}

fn parsed(pattern: &str) -> Option<Ast> {
    ast::parse::ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern).ok()
}

fn range(ast: &Ast) -> Range<usize> {
    let span = ast.span();
    span.start.offset..span.end.offset
}

/// The part of a pattern that needs too much.
pub(super) fn over_budget(
    pattern: &str,
    mode: MatchMode,
    need: Need,
    trials: &mut Trials<'_>,
    found: &mut Finding,
) -> Result<(), Stop> {
    of_text(pattern, need, &mut Patterns { trials, mode }, found)
}

/// The same, for a pattern that is compiled otherwise.
pub(super) fn of_text(
    pattern: &str,
    need: Need,
    compiler: &mut impl Compiler,
    found: &mut Finding,
) -> Result<(), Stop> {
    let Some(ast) = parsed(pattern) else { return Ok(()) };
    let mut counted = Vec::new();
    collect_counted(&ast, &mut counted);
    too_large(pattern, counted, &parts(&ast, pattern), need, compiler, found)
}

fn collect_counted(ast: &Ast, counted: &mut Vec<Counted>) {
    match ast {
        Ast::Repetition(repetition) => {
            if let RepetitionKind::Range(bounds) = &repetition.op.kind {
                let (min, max) = match *bounds {
                    RepetitionRange::Exactly(count) => (count, Some(count)),
                    RepetitionRange::AtLeast(count) => (count, None),
                    RepetitionRange::Bounded(min, max) => (min, Some(max)),
                };
                let operator = repetition.op.span;
                let lazy = usize::from(!repetition.greedy);
                let operator = operator.start.offset..operator.end.offset - lazy;
                counted.push(Counted { span: range(ast), operator, min, max });
            }
            collect_counted(&repetition.ast, counted);
        }
        Ast::Group(group) => collect_counted(&group.ast, counted),
        Ast::Concat(concat) => concat.asts.iter().for_each(|part| collect_counted(part, counted)),
        Ast::Alternation(alternation) => {
            alternation.asts.iter().for_each(|part| collect_counted(part, counted));
        }
        _ => {}
    }
}

/// The parts that can be left out of the text of `ast`.
fn parts(ast: &Ast, pattern: &str) -> Vec<Part> {
    let part = |of: &Ast| Part {
        span: range(of),
        without: "(?:)",
        name: quoted(&pattern[range(of)]),
        parts: parts(of, pattern),
    };
    match ast {
        Ast::Group(group) => parts(&group.ast, pattern),
        Ast::Repetition(repetition) => parts(&repetition.ast, pattern),
        // Flags hold for what follows them.
        Ast::Concat(concat) => {
            concat.asts.iter().filter(|part| !matches!(part, Ast::Flags(_))).map(part).collect()
        }
        Ast::Alternation(alternation) => alternation.asts.iter().map(part).collect(),
        _ => Vec::new(),
    }
}

/// The least part of a pattern that matches nothing.
pub(super) fn without_text(
    pattern: &str,
    mode: MatchMode,
    trials: &mut Trials<'_>,
    found: &mut Option<Finding>,
) -> Result<(), Stop> {
    let Some(ast) = parsed(pattern) else { return Ok(()) };
    let mut ast = &ast;
    // What was left out around the part that is looked at.
    let mut without: Vec<Range<usize>> = Vec::new();
    loop {
        match ast {
            Ast::Group(group) => ast = &group.ast,
            Ast::Repetition(repetition) => ast = &repetition.ast,
            Ast::Concat(concat) => {
                let parts: Vec<&Ast> =
                    concat.asts.iter().filter(|part| !matches!(part, Ast::Flags(_))).collect();
                let is_without = |kept: &[&Ast]| {
                    let left_out = parts
                        .iter()
                        .map(|part| range(part))
                        .filter(|part| !kept.iter().any(|kept| range(kept) == *part));
                    without.iter().cloned().chain(left_out).collect::<Vec<_>>()
                };
                let mut compile = |kept: &[&Ast]| {
                    let edits: Vec<_> =
                        is_without(kept).into_iter().map(|range| (range, "(?:)".to_owned())).collect();
                    let text = edited(pattern, &edits);
                    let most = trials.steps_left();
                    let ended = trials.compile(of(text, mode), Stage::Lowering, most)?;
                    Ok(ended == Ended::NoText)
                };
                let kept = minimal(&parts, &mut compile)?;
                *found = Some(of_parts(pattern, &kept));
                let [only] = kept[..] else { return Ok(()) };
                without = is_without(&kept);
                ast = only;
            }
            Ast::Alternation(_) => {
                *found = Some(finding(
                    range(ast),
                    "none of the alternatives matches any text",
                    "Correct at least one of them.",
                ));
                return Ok(());
            }
            Ast::ClassBracketed(_) | Ast::ClassUnicode(_) => {
                let reason = format!("the class {} has no character", quoted(&pattern[range(ast)]));
                *found = Some(finding(range(ast), reason, "Give the class a character, or leave it out."));
                return Ok(());
            }
            _ => return Ok(()),
        }
    }
}

/// Parts one after the other that match no text together.
fn of_parts(pattern: &str, kept: &[&Ast]) -> Finding {
    let shown = |ast: &Ast| quoted(&pattern[range(ast)]);
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return Finding::default() };
    let is_start = |ast: &Ast| assertion(ast).is_some_and(|kind| is_of(&kind, true));
    let is_end = |ast: &Ast| assertion(ast).is_some_and(|kind| is_of(&kind, false));
    match kept {
        [before, anchor] if is_start(anchor) => finding(
            range(anchor),
            format!(
                "{} holds only where the text begins, and {} before it takes a character",
                shown(anchor),
                shown(before)
            ),
            format!("Leave out {}, or move it to the beginning.", shown(anchor)),
        ),
        [anchor, after] if is_end(anchor) => finding(
            range(anchor),
            format!(
                "{} holds only where the text ends, and {} after it takes a character",
                shown(anchor),
                shown(after)
            ),
            format!("Leave out {}, or move it to the end.", shown(anchor)),
        ),
        _ => {
            let all: Vec<String> = kept.iter().map(|part| shown(part)).collect();
            let reason = match &all[..] {
                [only] => format!("{only} matches no text"),
                several => format!("{} match no text one after the other", list(several)),
            };
            finding(range(first).start..range(last).end, reason, "")
        }
    }
}

fn assertion(ast: &Ast) -> Option<AssertionKind> {
    match ast {
        Ast::Assertion(assertion) => Some(assertion.kind.clone()),
        _ => None,
    }
}

/// Whether it holds only at the start, or only at the end, of a text.
fn is_of(kind: &AssertionKind, start: bool) -> bool {
    match kind {
        AssertionKind::StartLine | AssertionKind::StartText => start,
        AssertionKind::EndLine | AssertionKind::EndText => !start,
        _ => false,
    }
}

fn finding(span: Range<usize>, reason: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding {
        place: format!("offset {}", span.start),
        reason: reason.into(),
        help: help.into(),
        span: Some(span.into()),
        needed: None,
    }
}

/// A part of a pattern as a message quotes it.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
