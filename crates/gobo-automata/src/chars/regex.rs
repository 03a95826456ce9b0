//! Regular expressions in the syntax of `regex-syntax`: parsed, refused where no automaton can hold them, and determinised.

use gobo_types::{Budget, CompileError, MatchMode, RefusalKind};
use regex_syntax::ast;
use regex_syntax::hir::{self, Hir};

use super::advice::advice;
use super::alphabet::{Alphabet, CharSets};
use super::determinize::determinize;
use super::dfa::CharDfa;
use super::nfa::Nfa;
use super::translate::{Assertions, refuse_at, translate};

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
    check_pattern(pattern, budget)?;
    let hir = translate(pattern, &parse(pattern)?, Assertions::OfTexts, budget)?;
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

/// A regular expression for front ends that know what stands around a place, and what groups mean.
#[derive(Debug)]
pub struct RegexTree {
    /// Its parts, with every assertion; groups keep their names.
    pub hir: Hir,
    /// How many of the groups in its text have a name that begins so: see [`RegexTree::parse`].
    pub marked: usize,
}

impl RegexTree {
    /// Parses a regular expression in the syntax of `regex-syntax`, with word boundaries and the ends of lines, after [`check_pattern`]. Groups
    /// whose name begins with `mark` are counted.
    ///
    /// # Errors
    /// A refusal naming the construct and its byte offset in the pattern; [`CompileError::OverBudget`].
    pub fn parse(pattern: &str, mark: &str, budget: &Budget) -> Result<Self, CompileError> {
        let ast = parse(pattern)?;
        let hir = translate(pattern, &ast, Assertions::All, budget)?;
        let Ok(marked) = ast::visit(&ast, Marked { mark, found: 0 });
        Ok(Self { hir, marked: marked.found })
    }
}

/// Counts groups by the beginning of their names.
struct Marked<'a> {
    mark: &'a str,
    found: usize,
}

impl ast::Visitor for Marked<'_> {
    type Output = Self;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &ast::Ast) -> Result<(), Self::Err> {
        if let ast::Ast::Group(group) = ast
            && let ast::GroupKind::CaptureName { name, .. } = &group.kind
        {
            self.found += usize::from(name.name.starts_with(self.mark));
        }
        Ok(())
    }
}

/// Refuses patterns that no dialect takes, before anything is built of them: those that are too long, and those with a raw NUL.
///
/// # Errors
/// The refusal, with its byte offset in the pattern; [`CompileError::OverBudget`].
pub fn check_pattern(pattern: &str, budget: &Budget) -> Result<(), CompileError> {
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
    Ok(())
}

/// What a group is in other dialects, of which no automaton can say what it matches; `rest` stands behind `(?`.
fn not_regular(rest: &str) -> Option<&'static str> {
    const GROUPS: [(&str, &str); 6] = [
        (">", "an atomic group"),
        ("P=", "a backreference"),
        ("P>", "the call of a group"),
        ("&", "the call of a group"),
        ("(", "a condition on a group"),
        ("+", "the call of a group"),
    ];
    let is_number = rest.starts_with(|char: char| char.is_ascii_digit());
    let known = GROUPS.iter().find(|(sign, _)| rest.starts_with(sign)).map(|group| group.1);
    known.or(is_number.then_some("the call of a group"))
}

fn parse(pattern: &str) -> Result<ast::Ast, CompileError> {
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
            ErrorKind::FlagUnrecognized => match not_regular(&pattern[error.span().start.offset..]) {
                Some(what) => (RefusalKind::Unsupported, format!("{what} is not regular")),
                None => (RefusalKind::Malformed, error.kind().to_string()),
            },
            other => (RefusalKind::Malformed, other.to_string()),
        };
        let help = advice(error.kind(), pattern, error.span().start.offset);
        refuse_at(kind, error.span(), reason).advising(help)
    })
}
