use gobo_types::{Budget, CompileError, MatchMode, RefusalKind};
use regex_syntax::ast::{self, AssertionKind, Ast, FlagsItemKind, Span, Visitor};
use regex_syntax::hir::{self, Hir};

use crate::alphabet::{Alphabet, CharSets};
use crate::char_dfa::CharDfa;
use crate::determinize::determinize;
use crate::nfa::Nfa;

/// Longest pattern in bytes. Parsing takes some hundred times as much memory for a moment.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// What a character class is charged before it is translated: `\w`, the largest in common use, has some 800 ranges.
const CLASS_BYTES: u64 = 8 << 10;

/// Deepest nesting of groups, classes and repetitions in a pattern.
pub const NEST_LIMIT: u32 = 250;

fn offset(span: &Span) -> String {
    format!("offset {}", span.start.offset)
}

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
        ));
    }
    if let Some(at) = pattern.find('\0') {
        return Err(CompileError::refuse(
            RefusalKind::Malformed,
            format!("offset {at}"),
            "a raw NUL character; write \\x00 to match one",
        ));
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
            CompileError::refuse(kind, offset(error.span()), reason)
        })?;
    ast::visit(&ast, PatternCheck { pattern, budget, multi_line: vec![false] })?;
    hir::translate::TranslatorBuilder::new().build().translate(pattern, &ast).map_err(|error| {
        let kind = match error.kind() {
            hir::ErrorKind::InvalidUtf8 | hir::ErrorKind::UnicodeNotAllowed => RefusalKind::Unsupported,
            _ => RefusalKind::Malformed,
        };
        CompileError::refuse(kind, offset(error.span()), error.kind().to_string())
    })
}

/// Finds look-around other than text anchors, which needs to know where the multi-line flag is on, and charges the
/// classes: five bytes of pattern can stand for kilobytes of ranges.
struct PatternCheck<'a> {
    pattern: &'a str,
    budget: &'a Budget,
    /// Whether `m` is on, for each open group.
    multi_line: Vec<bool>,
}

impl PatternCheck<'_> {
    fn charge_class(&self) -> Result<(), CompileError> {
        const PHASE: &str = "parsing";
        self.budget.charge_steps(PHASE, CLASS_BYTES / 8)?;
        self.budget.charge_bytes(PHASE, CLASS_BYTES)
    }

    fn apply(&mut self, flags: &ast::Flags) {
        let mut on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => on = false,
                FlagsItemKind::Flag(ast::Flag::MultiLine) => {
                    if let Some(multi_line) = self.multi_line.last_mut() {
                        *multi_line = on;
                    }
                }
                FlagsItemKind::Flag(_) => {}
            }
        }
    }

    fn is_multi_line(&self) -> bool {
        self.multi_line.last().copied().unwrap_or(false)
    }
}

impl Visitor for PatternCheck<'_> {
    type Output = ();
    type Err = CompileError;

    fn finish(self) -> Result<(), CompileError> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), CompileError> {
        match ast {
            Ast::Flags(set) => self.apply(&set.flags),
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => self.charge_class()?,
            Ast::Group(group) => {
                self.multi_line.push(self.is_multi_line());
                if let Some(flags) = group.flags() {
                    self.apply(flags);
                }
            }
            Ast::Assertion(assertion) => {
                let why = match assertion.kind {
                    AssertionKind::StartText | AssertionKind::EndText => return Ok(()),
                    AssertionKind::StartLine | AssertionKind::EndLine if !self.is_multi_line() => {
                        return Ok(());
                    }
                    AssertionKind::StartLine | AssertionKind::EndLine => "in multi-line mode",
                    _ => "a word boundary",
                };
                let text = &self.pattern[assertion.span.start.offset..assertion.span.end.offset];
                let reason = format!(
                    "{text} is {why}; the only look-around supported is ^ $ \\A \\z without the m flag"
                );
                return Err(CompileError::refuse(RefusalKind::Unsupported, offset(&assertion.span), reason));
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), CompileError> {
        use ast::ClassSetItem::{Bracketed, Perl, Unicode};
        if matches!(item, Unicode(_) | Perl(_) | Bracketed(_)) { self.charge_class() } else { Ok(()) }
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), CompileError> {
        if matches!(ast, Ast::Group(_)) {
            self.multi_line.pop();
        }
        Ok(())
    }
}
