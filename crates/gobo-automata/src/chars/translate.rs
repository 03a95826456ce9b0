//! From the syntax tree of a pattern to the form that automata are built of.
//!
//! `regex-syntax` has a translator of its own, whose complement of a class is wrong at the surrogates: between two ranges
//! that end at U+D7FF and begin at U+E000 it finds a gap, and puts both characters into the complement. It complements in
//! nested classes, in `\P{..}`, `\W` and their like as well, so all classes are computed here. What is asked of the library
//! are tables: the characters of a property, and the other cases of a character.

use gobo_types::{Budget, CompileError, RefusalKind};
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassPerlKind, ClassSet, ClassSetBinaryOpKind, ClassSetItem, ClassUnicodeKind,
    ClassUnicodeOpKind, Flag, FlagsItemKind, GroupKind, RepetitionKind, RepetitionRange, Span,
};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{self, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::advice::{LOOK_AROUND, PROPERTY, UNICODE};
use super::set::CharSet;

const PHASE: &str = "parsing";

/// The refusal of a part of a pattern.
pub(super) fn refuse_at(kind: RefusalKind, span: &Span, reason: impl Into<String>) -> CompileError {
    let (start, end) = (span.start.offset, span.end.offset);
    CompileError::refuse(kind, format!("offset {start}"), reason).spanning(start..end)
}

/// What a character class is charged before it is translated: `\w`, the largest in common use, has some 800 ranges.
const CLASS_BYTES: u64 = 8 << 10;

/// Characters of a class whose other cases are looked up for one step.
const FOLDED_PER_STEP: u64 = 2;

/// Which assertions a pattern may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assertions {
    /// Those of where the text begins and ends.
    OfTexts,
    /// Those of words and of lines, too.
    All,
}

/// Translates a pattern and refuses what the automaton could not hold: other assertions, and what reads other bytes than those of UTF-8. Charges the classes, as five bytes of pattern can stand for kilobytes of ranges.
///
/// Recurses as deep as the tree nests; the parser bounds that.
///
/// # Errors
/// A refusal whose place is `offset N`, a byte of the pattern; [`CompileError::OverBudget`].
pub(crate) fn translate(
    pattern: &str,
    ast: &Ast,
    assertions: Assertions,
    budget: &Budget,
) -> Result<Hir, CompileError> {
    let flags = Flags { unicode: true, ..Flags::default() };
    Translation { pattern, assertions, budget, flags }.hir(ast)
}

/// Which flags are on.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the syntax")]
struct Flags {
    case_insensitive: bool,
    multi_line: bool,
    dot_matches_new_line: bool,
    swap_greed: bool,
    unicode: bool,
    crlf: bool,
}

impl Flags {
    fn apply(&mut self, flags: &ast::Flags) {
        let mut on = true;
        for item in &flags.items {
            let flag = match item.kind {
                FlagsItemKind::Negation => {
                    on = false;
                    continue;
                }
                FlagsItemKind::Flag(flag) => flag,
            };
            match flag {
                Flag::CaseInsensitive => self.case_insensitive = on,
                Flag::MultiLine => self.multi_line = on,
                Flag::DotMatchesNewLine => self.dot_matches_new_line = on,
                Flag::SwapGreed => self.swap_greed = on,
                Flag::Unicode => self.unicode = on,
                Flag::CRLF => self.crlf = on,
                // The parser has seen to it.
                Flag::IgnoreWhitespace => {}
            }
        }
    }
}

struct Translation<'a> {
    pattern: &'a str,
    assertions: Assertions,
    budget: &'a Budget,
    /// Those that are on where the translation stands. They last to the end of the group that sets them.
    flags: Flags,
}

/// What an item of a class adds to it.
#[derive(Default)]
struct Members {
    /// Characters as they are written: other cases have to be added.
    written: Vec<(char, char)>,
    /// The members of nested classes, with their other cases.
    nested: Vec<(char, char)>,
}

impl Translation<'_> {
    fn hir(&mut self, ast: &Ast) -> Result<Hir, CompileError> {
        match ast {
            Ast::Empty(_) => Ok(Hir::empty()),
            Ast::Flags(set) => {
                self.flags.apply(&set.flags);
                Ok(Hir::empty())
            }
            Ast::Literal(literal) => {
                let char = self.literal(literal)?;
                if self.flags.case_insensitive && (self.flags.unicode || char.is_ascii()) {
                    return Ok(self.class(&self.with_cases(&CharSet::new([(char, char)]))?));
                }
                Ok(Hir::literal(char.encode_utf8(&mut [0; 4]).as_bytes()))
            }
            Ast::Dot(span) => self.dot(span),
            Ast::Assertion(assertion) => self.assertion(assertion),
            Ast::ClassUnicode(class) => self.property(class).map(|set| self.class(&set)),
            Ast::ClassPerl(class) => self.perl(class).map(|set| self.class(&set)),
            Ast::ClassBracketed(class) => self.bracketed(class).map(|set| self.class(&set)),
            Ast::Repetition(repetition) => {
                let sub = Box::new(self.hir(&repetition.ast)?);
                let (min, max) = match repetition.op.kind {
                    RepetitionKind::ZeroOrOne => (0, Some(1)),
                    RepetitionKind::ZeroOrMore => (0, None),
                    RepetitionKind::OneOrMore => (1, None),
                    RepetitionKind::Range(RepetitionRange::Exactly(n)) => (n, Some(n)),
                    RepetitionKind::Range(RepetitionRange::AtLeast(min)) => (min, None),
                    RepetitionKind::Range(RepetitionRange::Bounded(min, max)) => (min, Some(max)),
                };
                let greedy = repetition.greedy != self.flags.swap_greed;
                Ok(Hir::repetition(hir::Repetition { min, max, greedy, sub }))
            }
            Ast::Group(group) => {
                let around = self.flags;
                if let Some(flags) = group.flags() {
                    self.flags.apply(flags);
                }
                let sub = Box::new(self.hir(&group.ast)?);
                self.flags = around;
                let (index, name) = match &group.kind {
                    GroupKind::NonCapturing(_) => return Ok(*sub),
                    GroupKind::CaptureIndex(index) => (*index, None),
                    GroupKind::CaptureName { name, .. } => (name.index, Some(name.name.as_str().into())),
                };
                Ok(Hir::capture(hir::Capture { index, name, sub }))
            }
            Ast::Concat(concat) => self.all(&concat.asts).map(Hir::concat),
            Ast::Alternation(alternation) => self.all(&alternation.asts).map(Hir::alternation),
        }
    }

    fn all(&mut self, asts: &[Ast]) -> Result<Vec<Hir>, CompileError> {
        asts.iter().map(|ast| self.hir(ast)).collect()
    }

    fn error(span: &Span, error: &hir::ErrorKind) -> CompileError {
        let kind = match error {
            hir::ErrorKind::InvalidUtf8 | hir::ErrorKind::UnicodeNotAllowed => RefusalKind::Unsupported,
            _ => RefusalKind::Malformed,
        };
        let help = if kind == RefusalKind::Unsupported { UNICODE } else { PROPERTY };
        refuse_at(kind, span, error.to_string()).advising(help)
    }

    fn charge_class(&self) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, CLASS_BYTES / 8)?;
        self.budget.charge_bytes(PHASE, CLASS_BYTES)
    }

    /// The character that a literal stands for. Without the flag `u` an escape such as `\xE9` is a byte.
    fn literal(&self, literal: &ast::Literal) -> Result<char, CompileError> {
        match literal.byte() {
            Some(0x80..) if !self.flags.unicode => {
                Err(Self::error(&literal.span, &hir::ErrorKind::InvalidUtf8))
            }
            _ => Ok(literal.c),
        }
    }

    fn dot(&self, span: &Span) -> Result<Hir, CompileError> {
        if !self.flags.unicode {
            return Err(Self::error(span, &hir::ErrorKind::InvalidUtf8));
        }
        let ends: &[char] = match (self.flags.dot_matches_new_line, self.flags.crlf) {
            (true, _) => &[],
            (false, true) => &['\r', '\n'],
            (false, false) => &['\n'],
        };
        Ok(self.class(&CharSet::new(ends.iter().map(|&end| (end, end))).complement()))
    }

    fn assertion(&self, assertion: &ast::Assertion) -> Result<Hir, CompileError> {
        let why = match assertion.kind {
            AssertionKind::StartText => return Ok(Hir::look(hir::Look::Start)),
            AssertionKind::EndText => return Ok(Hir::look(hir::Look::End)),
            AssertionKind::StartLine if !self.flags.multi_line => return Ok(Hir::look(hir::Look::Start)),
            AssertionKind::EndLine if !self.flags.multi_line => return Ok(Hir::look(hir::Look::End)),
            _ if self.assertions == Assertions::All => return Ok(Hir::look(self.look(&assertion.kind))),
            AssertionKind::StartLine | AssertionKind::EndLine => "in multi-line mode",
            _ => "a word boundary",
        };
        let text = &self.pattern[assertion.span.start.offset..assertion.span.end.offset];
        let reason =
            format!("{text} is {why}; the only look-around supported is ^ $ \\A \\z without the m flag");
        Err(refuse_at(RefusalKind::Unsupported, &assertion.span, reason).advising(LOOK_AROUND))
    }

    /// What an assertion of words or lines looks at.
    fn look(&self, kind: &AssertionKind) -> hir::Look {
        use hir::Look;
        let by_unicode = |unicode, ascii| if self.flags.unicode { unicode } else { ascii };
        let by_crlf = |crlf, lf| if self.flags.crlf { crlf } else { lf };
        match kind {
            AssertionKind::StartText => Look::Start,
            AssertionKind::EndText => Look::End,
            AssertionKind::StartLine => by_crlf(Look::StartCRLF, Look::StartLF),
            AssertionKind::EndLine => by_crlf(Look::EndCRLF, Look::EndLF),
            AssertionKind::WordBoundary => by_unicode(Look::WordUnicode, Look::WordAscii),
            AssertionKind::NotWordBoundary => by_unicode(Look::WordUnicodeNegate, Look::WordAsciiNegate),
            AssertionKind::WordBoundaryStart | AssertionKind::WordBoundaryStartAngle => {
                by_unicode(Look::WordStartUnicode, Look::WordStartAscii)
            }
            AssertionKind::WordBoundaryEnd | AssertionKind::WordBoundaryEndAngle => {
                by_unicode(Look::WordEndUnicode, Look::WordEndAscii)
            }
            AssertionKind::WordBoundaryStartHalf => {
                by_unicode(Look::WordStartHalfUnicode, Look::WordStartHalfAscii)
            }
            AssertionKind::WordBoundaryEndHalf => {
                by_unicode(Look::WordEndHalfUnicode, Look::WordEndHalfAscii)
            }
        }
    }

    /// One character of a set; without the flag `u` one of ASCII.
    fn class(&self, set: &CharSet) -> Hir {
        if self.flags.unicode {
            return Hir::class(Class::Unicode(set.to_class()));
        }
        let byte = |code: u32| u8::try_from(code).expect("without the flag u classes have ASCII only");
        let ranges = set.ranges().map(|(first, last)| hir::ClassBytesRange::new(byte(first), byte(last)));
        Hir::class(Class::Bytes(hir::ClassBytes::new(ranges)))
    }

    /// A set and the other cases of its characters.
    fn with_cases(&self, set: &CharSet) -> Result<CharSet, CompileError> {
        if !self.flags.unicode {
            let cased = |char: char| [char.to_ascii_lowercase(), char.to_ascii_uppercase()];
            let chars = ('\0'..='\x7f').filter(|&char| set.has(char)).flat_map(cased);
            return Ok(CharSet::new(chars.map(|char| (char, char))));
        }
        let chars: u64 = set.ranges().map(|(first, last)| u64::from(last - first) + 1).sum();
        self.budget.charge_steps(PHASE, chars / FOLDED_PER_STEP)?;
        let mut class = set.to_class();
        class.case_fold_simple();
        Ok(CharSet::from_class(&class))
    }

    /// The complement where it is asked for. Without the flag `u` it would have bytes that are no characters.
    fn complement_if(&self, negated: bool, set: CharSet, span: &Span) -> Result<CharSet, CompileError> {
        match (negated, self.flags.unicode) {
            (false, _) => Ok(set),
            (true, true) => Ok(set.complement()),
            (true, false) => Err(Self::error(span, &hir::ErrorKind::InvalidUtf8)),
        }
    }

    fn bracketed(&mut self, class: &ast::ClassBracketed) -> Result<CharSet, CompileError> {
        self.charge_class()?;
        let set = self.set(&class.kind)?;
        self.complement_if(class.negated, set, &class.span)
    }

    /// The characters of a class, with their other cases if these are asked for. Sets that are closed under change of case
    /// stay so under all operations, so cases are added where characters are written.
    fn set(&mut self, set: &ClassSet) -> Result<CharSet, CompileError> {
        match set {
            ClassSet::Item(item) => {
                let mut members = Members::default();
                self.item(item, &mut members)?;
                if !self.flags.case_insensitive {
                    return Ok(CharSet::new(members.written.into_iter().chain(members.nested)));
                }
                let written = self.with_cases(&CharSet::new(members.written))?;
                Ok(CharSet::new(written.char_ranges().chain(members.nested)))
            }
            ClassSet::BinaryOp(operation) => {
                let (one, two) = (self.set(&operation.lhs)?, self.set(&operation.rhs)?);
                Ok(match operation.kind {
                    ClassSetBinaryOpKind::Intersection => one.and(&two),
                    ClassSetBinaryOpKind::Difference => one.without(&two),
                    ClassSetBinaryOpKind::SymmetricDifference => {
                        let (only_one, only_two) = (one.without(&two), two.without(&one));
                        CharSet::new(only_one.char_ranges().chain(only_two.char_ranges()))
                    }
                })
            }
        }
    }

    fn item(&mut self, item: &ClassSetItem, members: &mut Members) -> Result<(), CompileError> {
        match item {
            ClassSetItem::Empty(_) => {}
            ClassSetItem::Literal(literal) => {
                let char = self.class_literal(literal)?;
                members.written.push((char, char));
            }
            ClassSetItem::Range(range) => {
                members.written.push((self.class_literal(&range.start)?, self.class_literal(&range.end)?));
            }
            ClassSetItem::Ascii(class) => members.nested.extend(self.ascii(class)?.char_ranges()),
            ClassSetItem::Unicode(class) => members.nested.extend(self.property(class)?.char_ranges()),
            ClassSetItem::Perl(class) => members.nested.extend(self.perl(class)?.char_ranges()),
            ClassSetItem::Bracketed(class) => members.nested.extend(self.bracketed(class)?.char_ranges()),
            ClassSetItem::Union(union) => {
                union.items.iter().try_for_each(|item| self.item(item, members))?;
            }
        }
        Ok(())
    }

    /// A literal of a class, which without the flag `u` is one of ASCII.
    fn class_literal(&self, literal: &ast::Literal) -> Result<char, CompileError> {
        let char = self.literal(literal)?;
        if self.flags.unicode || char.is_ascii() {
            Ok(char)
        } else {
            Err(Self::error(&literal.span, &hir::ErrorKind::UnicodeNotAllowed))
        }
    }

    /// `[:alpha:]` and its like.
    fn ascii(&self, class: &ast::ClassAscii) -> Result<CharSet, CompileError> {
        use ast::ClassAsciiKind as Kind;
        let ranges: &[(char, char)] = match class.kind {
            Kind::Alnum => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
            Kind::Alpha => &[('A', 'Z'), ('a', 'z')],
            Kind::Ascii => &[('\0', '\x7F')],
            Kind::Blank => &[('\t', '\t'), (' ', ' ')],
            Kind::Cntrl => &[('\0', '\x1F'), ('\x7F', '\x7F')],
            Kind::Digit => &[('0', '9')],
            Kind::Graph => &[('!', '~')],
            Kind::Lower => &[('a', 'z')],
            Kind::Print => &[(' ', '~')],
            Kind::Punct => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
            Kind::Space => &[('\t', '\r'), (' ', ' ')],
            Kind::Upper => &[('A', 'Z')],
            Kind::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
            Kind::Xdigit => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        };
        let set = CharSet::new(ranges.iter().copied());
        let set = if self.flags.case_insensitive { self.with_cases(&set)? } else { set };
        self.complement_if(class.negated, set, &class.span)
    }

    /// `\d`, `\s`, `\w` and their complements. They are closed under change of case.
    fn perl(&self, class: &ast::ClassPerl) -> Result<CharSet, CompileError> {
        self.charge_class()?;
        let set = if self.flags.unicode {
            table(&Ast::class_perl(ast::ClassPerl { negated: false, ..class.clone() }))?
        } else {
            CharSet::new(match class.kind {
                ClassPerlKind::Digit => vec![('0', '9')],
                ClassPerlKind::Space => vec![('\t', '\r'), (' ', ' ')],
                ClassPerlKind::Word => vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
            })
        };
        self.complement_if(class.negated, set, &class.span)
    }

    /// `\p{..}` and its complement.
    fn property(&self, class: &ast::ClassUnicode) -> Result<CharSet, CompileError> {
        self.charge_class()?;
        if !self.flags.unicode {
            return Err(Self::error(&class.span, &hir::ErrorKind::UnicodeNotAllowed));
        }
        let mut positive = ast::ClassUnicode { negated: false, ..class.clone() };
        if let ClassUnicodeKind::NamedValue { op, .. } = &mut positive.kind {
            *op = ClassUnicodeOpKind::Equal;
        }
        let set = table(&Ast::class_unicode(positive))?;
        let set = if self.flags.case_insensitive { self.with_cases(&set)? } else { set };
        self.complement_if(class.is_negated(), set, &class.span)
    }
}

/// The characters of a class that has a table in the library: no complement of anything.
fn table(class: &Ast) -> Result<CharSet, CompileError> {
    // The pattern is shown in errors of the library alone.
    let hir = Translator::new()
        .translate("", class)
        .map_err(|error| Translation::error(error.span(), error.kind()))?;
    Ok(CharSet::from_class(&match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        // A class of one character is a literal there, one of none a class of bytes.
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).expect("the literal is a character");
            ClassUnicode::new(text.chars().map(|char| ClassUnicodeRange::new(char, char)))
        }
        _ => ClassUnicode::empty(),
    }))
}

#[cfg(test)]
mod tests;
