//! Regular expressions in the syntax of `regex-syntax`: parsed, refused where no automaton can hold them, and determinised.

use gobo_types::{Budget, CompileError, MatchMode, RefusalKind};
use regex_syntax::ast;
use regex_syntax::hir::{self, Hir};

use super::advice::advice;
use super::alphabet::{Alphabet, CharSets};
use super::determinize::determinize;
use super::dfa::CharDfa;
use super::nfa::Nfa;
use super::translate::{refuse_at, translate};

const PHASE: &str = "parsing";

/// Longest pattern in bytes. Parsing takes some hundred times as much memory for a moment.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Steps of a byte of pattern, which is parsed, checked and translated.
const STEPS_PER_BYTE: u64 = 8;

/// Deepest nesting of groups, classes and repetitions in a pattern.
pub const NEST_LIMIT: u32 = 250;

/// The automaton of a regular expression, over characters: neither trimmed nor minimal.
///
/// # Errors
/// A refusal naming the construct and its byte offset in the pattern; [`CompileError::OverBudget`].
pub(crate) fn regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<CharDfa, CompileError> {
    let hir = parse(pattern, budget)?;
    let hir = match mode {
        MatchMode::Full => hir,
        MatchMode::Search => {
            let anything = || {
                let any = Box::new(Hir::dot(hir::Dot::AnyChar));
                Hir::repetition(hir::Repetition { min: 0, max: None, greedy: true, sub: any })
            };
            Hir::concat(vec![anything(), hir, anything()])
        }
    };
    let mut sets = CharSets::default();
    let nfa = Nfa::of(&hir, &mut sets, budget)?;
    let alphabet = Alphabet::of(&sets, budget)?;
    let mut dfa = determinize(&nfa, &alphabet, budget)?;
    dfa.ranges = alphabet.ranges;
    Ok(dfa)
}

/// Parses a pattern and refuses what the automaton could not hold: before anything is built of it.
fn parse(pattern: &str, budget: &Budget) -> Result<Hir, CompileError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(CompileError::refuse(
            RefusalKind::Unsupported,
            format!("offset {MAX_PATTERN_BYTES}"),
            format!("the pattern has {} bytes, the limit is {MAX_PATTERN_BYTES}", pattern.len()),
        )
        .spanning(MAX_PATTERN_BYTES..pattern.len()));
    }
    budget.charge_steps(PHASE, pattern.len() as u64 * STEPS_PER_BYTE)?;
    if let Some(at) = pattern.find('\0') {
        return Err(CompileError::refuse(
            RefusalKind::Malformed,
            format!("offset {at}"),
            "a raw NUL character; write \\x00 to match one",
        )
        .spanning(at..at + 1));
    }
    let ast =
        ast::parse::ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern).map_err(|error| {
            use ast::ErrorKind;
            let (kind, reason) = match error.kind() {
                ErrorKind::UnsupportedBackreference => {
                    (RefusalKind::Unsupported, "a backreference is not regular".to_owned())
                }
                ErrorKind::UnsupportedLookAround => {
                    (RefusalKind::Unsupported, "look-around is not supported, except ^ $ \\A \\z".to_owned())
                }
                ErrorKind::NestLimitExceeded(limit) => {
                    (RefusalKind::Unsupported, format!("it nests deeper than {limit} levels"))
                }
                other => (RefusalKind::Malformed, other.to_string()),
            };
            let help = advice(error.kind(), pattern, error.span().start.offset);
            refuse_at(kind, error.span(), reason).advising(help)
        })?;
    translate(pattern, &ast, budget)
}
