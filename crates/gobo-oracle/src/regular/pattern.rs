//! From the syntax tree of a regular expression to what decides which texts match: sets of characters, anchors,
//! concatenation, alternation and bounded repetition.
//!
//! `regex-syntax` parses. Flags, classes and their set operations (UTS #18, RL1.3) are evaluated here over [`Characters`],
//! one node of the tree at a time.

use regex_syntax::ast::{
    AssertionKind, Ast, ClassAsciiKind, ClassPerlKind, ClassSet, ClassSetBinaryOpKind, ClassSetItem,
    ClassUnicode, ClassUnicodeKind, Flag, Flags, FlagsItemKind, Literal, RepetitionKind, RepetitionRange,
    parse::Parser,
};

use crate::regular::characters::Characters;
use crate::regular::error::LanguageError;

/// A pattern of `regex-syntax`, as far as it decides which texts match.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// One of the characters of these ranges, both ends included.
    Chars(Vec<(char, char)>),
    /// Only at the start of the text.
    Start,
    /// Only at the end of the text.
    End,
    /// All, in order.
    Concat(Vec<Pattern>),
    /// Any one.
    Alternation(Vec<Pattern>),
    /// `min` to `max` times in a row. Greed only chooses between matches of one text; here every match counts.
    Repeat { inner: Box<Pattern>, min: u32, max: Option<u32> },
}

impl Pattern {
    /// Reads a pattern. The library parses it; what it means is worked out here.
    ///
    /// # Errors
    /// [`LanguageError`] if it is malformed, looks around in another way than by text anchors, or has bytes that are no
    /// characters.
    pub(crate) fn read(pattern: &str) -> Result<Self, LanguageError> {
        let ast = Parser::new().parse(pattern).map_err(|error| malformed(&error))?;
        Reader {
            ignores_case: false,
            is_multi_line: false,
            dot_takes_ends: false,
            crlf: false,
            unicode: true,
        }
        .pattern(&ast)
    }
}

fn malformed(why: &impl ToString) -> LanguageError {
    LanguageError::Malformed(why.to_string())
}

/// The flags that are on where the reader stands.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the syntax")]
struct Reader {
    ignores_case: bool,
    is_multi_line: bool,
    dot_takes_ends: bool,
    crlf: bool,
    unicode: bool,
}

impl Reader {
    fn set(&mut self, flags: &Flags) {
        let mut on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => on = false,
                FlagsItemKind::Flag(Flag::CaseInsensitive) => self.ignores_case = on,
                FlagsItemKind::Flag(Flag::MultiLine) => self.is_multi_line = on,
                FlagsItemKind::Flag(Flag::DotMatchesNewLine) => self.dot_takes_ends = on,
                FlagsItemKind::Flag(Flag::CRLF) => self.crlf = on,
                FlagsItemKind::Flag(Flag::Unicode) => self.unicode = on,
                FlagsItemKind::Flag(Flag::SwapGreed | Flag::IgnoreWhitespace) => {}
            }
        }
    }

    fn pattern(&mut self, ast: &Ast) -> Result<Pattern, LanguageError> {
        Ok(match ast {
            Ast::Empty(_) => Pattern::Concat(vec![]),
            Ast::Flags(flags) => {
                self.set(&flags.flags);
                Pattern::Concat(vec![])
            }
            Ast::Literal(literal) => {
                let char = self.character(literal)?;
                if self.ignores_case {
                    Pattern::Chars(self.cases(Characters::of(&[(char.into(), char.into())])).runs())
                } else {
                    Pattern::Chars(vec![(char, char)])
                }
            }
            Ast::Dot(_) if !self.unicode => return Err(malformed(&"any byte")),
            Ast::Dot(_) => {
                let ends: &[(u32, u32)] = match (self.dot_takes_ends, self.crlf) {
                    (true, _) => &[],
                    (false, false) => &[(10, 10)],
                    (false, true) => &[(10, 10), (13, 13)],
                };
                Pattern::Chars(Characters::of(ends).complement().runs())
            }
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartText => Pattern::Start,
                AssertionKind::EndText => Pattern::End,
                AssertionKind::StartLine if !self.is_multi_line => Pattern::Start,
                AssertionKind::EndLine if !self.is_multi_line => Pattern::End,
                _ => return Err(LanguageError::Unsupported(assertion.kind.clone())),
            },
            Ast::ClassUnicode(class) => Pattern::Chars(self.property(class)?.runs()),
            Ast::ClassPerl(class) => Pattern::Chars(self.perl(&class.kind, class.negated)?.runs()),
            Ast::ClassBracketed(class) => Pattern::Chars(self.bracketed(&class.kind, class.negated)?.runs()),
            Ast::Repetition(repetition) => {
                let (min, max) = match repetition.op.kind {
                    RepetitionKind::ZeroOrOne => (0, Some(1)),
                    RepetitionKind::ZeroOrMore => (0, None),
                    RepetitionKind::OneOrMore => (1, None),
                    RepetitionKind::Range(RepetitionRange::Exactly(n)) => (n, Some(n)),
                    RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (n, None),
                    RepetitionKind::Range(RepetitionRange::Bounded(m, n)) => (m, Some(n)),
                };
                Pattern::Repeat { inner: Box::new(self.pattern(&repetition.ast)?), min, max }
            }
            // What a group sets ends with it.
            Ast::Group(group) => {
                let mut inside = *self;
                if let Some(flags) = group.flags() {
                    inside.set(flags);
                }
                inside.pattern(&group.ast)?
            }
            Ast::Concat(concat) => Pattern::Concat(self.patterns(&concat.asts)?),
            Ast::Alternation(alternation) => Pattern::Alternation(self.patterns(&alternation.asts)?),
        })
    }

    /// A flag set by one holds for those after it, alternatives too.
    fn patterns(&mut self, asts: &[Ast]) -> Result<Vec<Pattern>, LanguageError> {
        asts.iter().map(|ast| self.pattern(ast)).collect()
    }

    /// A literal without the flag `u` is a byte where it is written as one.
    fn character(self, literal: &Literal) -> Result<char, LanguageError> {
        match literal.byte() {
            Some(byte) if !self.unicode && byte > 127 => Err(malformed(&"a byte that is no character")),
            _ => Ok(literal.c),
        }
    }

    fn class_character(self, literal: &Literal) -> Result<u32, LanguageError> {
        let char = self.character(literal)?;
        if self.unicode || char.is_ascii() { Ok(char.into()) } else { Err(malformed(&"a class of bytes")) }
    }

    fn cases(self, set: Characters) -> Characters {
        if self.ignores_case { set.with_cases(self.unicode) } else { set }
    }

    fn negated(self, is_negated: bool, set: Characters) -> Result<Characters, LanguageError> {
        match (is_negated, self.unicode) {
            (false, _) => Ok(set),
            (true, true) => Ok(set.complement()),
            (true, false) => Err(malformed(&"bytes that are no characters")),
        }
    }

    fn property(self, class: &ClassUnicode) -> Result<Characters, LanguageError> {
        if !self.unicode {
            return Err(malformed(&"a Unicode class without the flag u"));
        }
        let name = match &class.kind {
            ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
            ClassUnicodeKind::Named(name) => name.clone(),
            ClassUnicodeKind::NamedValue { name, value, .. } => format!("{name}={value}"),
        };
        // The one property that the library makes by a complement of its own.
        let set = if name.eq_ignore_ascii_case("assigned") {
            Characters::table(r"\p{Cn}").map(|set| set.complement())
        } else {
            Characters::table(&format!(r"\p{{{name}}}"))
        };
        self.negated(class.is_negated(), self.cases(set.map_err(|error| malformed(&error))?))
    }

    fn perl(self, kind: &ClassPerlKind, is_negated: bool) -> Result<Characters, LanguageError> {
        let set = match (kind, self.unicode) {
            (ClassPerlKind::Digit, true) => Characters::table(r"\d"),
            (ClassPerlKind::Space, true) => Characters::table(r"\s"),
            (ClassPerlKind::Word, true) => Characters::table(r"\w"),
            (ClassPerlKind::Digit, false) => Ok(ascii(|char| char.is_ascii_digit())),
            (ClassPerlKind::Space, false) => Ok(ascii(is_space)),
            (ClassPerlKind::Word, false) => Ok(ascii(is_word)),
        };
        self.negated(is_negated, set.map_err(|error| malformed(&error))?)
    }

    fn bracketed(self, set: &ClassSet, is_negated: bool) -> Result<Characters, LanguageError> {
        let set = self.class_set(set)?;
        self.negated(is_negated, self.cases(set))
    }

    fn class_set(self, set: &ClassSet) -> Result<Characters, LanguageError> {
        match set {
            ClassSet::Item(item) => self.item(item),
            ClassSet::BinaryOp(operation) => {
                let one = self.class_set(&operation.lhs)?;
                let two = self.class_set(&operation.rhs)?;
                let (one, two) = (self.cases(one), self.cases(two));
                Ok(match operation.kind {
                    ClassSetBinaryOpKind::Intersection => one.and(&two),
                    ClassSetBinaryOpKind::Difference => one.without(&two),
                    ClassSetBinaryOpKind::SymmetricDifference => one.either(&two),
                })
            }
        }
    }

    fn item(self, item: &ClassSetItem) -> Result<Characters, LanguageError> {
        match item {
            ClassSetItem::Empty(_) => Ok(Characters::of(&[])),
            ClassSetItem::Literal(literal) => {
                let char = self.class_character(literal)?;
                Ok(Characters::of(&[(char, char)]))
            }
            ClassSetItem::Range(range) => Ok(Characters::of(&[(
                self.class_character(&range.start)?,
                self.class_character(&range.end)?,
            )])),
            ClassSetItem::Ascii(class) => {
                let set = ascii(|char| is_in(&class.kind, char));
                self.negated(class.negated, self.cases(set))
            }
            ClassSetItem::Unicode(class) => self.property(class),
            ClassSetItem::Perl(class) => self.perl(&class.kind, class.negated),
            ClassSetItem::Bracketed(class) => self.bracketed(&class.kind, class.negated),
            ClassSetItem::Union(union) => {
                let none = Characters::of(&[]);
                union.items.iter().try_fold(none, |set, item| Ok(set.or(&self.item(item)?)))
            }
        }
    }
}

fn ascii(has: impl Fn(char) -> bool) -> Characters {
    let codes = ('\0'..='\x7f').filter(|char| has(*char)).map(|char| (char.into(), char.into()));
    Characters::of(&codes.collect::<Vec<_>>())
}

fn is_space(char: char) -> bool {
    matches!(char, '\t'..='\r' | ' ')
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Whether an ASCII character is in a class of POSIX.
fn is_in(kind: &ClassAsciiKind, char: char) -> bool {
    match kind {
        ClassAsciiKind::Alnum => char.is_ascii_alphanumeric(),
        ClassAsciiKind::Alpha => char.is_ascii_alphabetic(),
        ClassAsciiKind::Ascii => char.is_ascii(),
        ClassAsciiKind::Blank => matches!(char, ' ' | '\t'),
        ClassAsciiKind::Cntrl => char.is_ascii_control(),
        ClassAsciiKind::Digit => char.is_ascii_digit(),
        ClassAsciiKind::Graph => char.is_ascii_graphic(),
        ClassAsciiKind::Lower => char.is_ascii_lowercase(),
        ClassAsciiKind::Print => char.is_ascii_graphic() || char == ' ',
        ClassAsciiKind::Punct => char.is_ascii_punctuation(),
        ClassAsciiKind::Space => is_space(char),
        ClassAsciiKind::Upper => char.is_ascii_uppercase(),
        ClassAsciiKind::Word => is_word(char),
        ClassAsciiKind::Xdigit => char.is_ascii_hexdigit(),
    }
}
