//! A constraint and its message.

use gobo_types::{
    Constraint, Dialect, GrammarDocument, IdRange, Indentation, JsonNesting, Lexer, LookAhead, MatchMode,
    NamedClass, NamedClasses, RegexDialect, SchemaOptions, Source, SpecialText, TextStart, Tokenization,
};

use super::error::ConvertError;
use super::fields::{number_form, number_form_message, whitespace};
use super::schema;
use crate::v1;

impl From<&Constraint> for v1::Constraint {
    fn from(constraint: &Constraint) -> Self {
        let source = match &constraint.source {
            Source::Regex { pattern, mode, dialect, and, not } => {
                let dialect = match dialect {
                    RegexDialect::Rust => v1::RegexDialect::Rust,
                    RegexDialect::Ecma => v1::RegexDialect::Ecma,
                    RegexDialect::Python => v1::RegexDialect::Python,
                };
                let mode = match mode {
                    MatchMode::Full => v1::MatchMode::Full,
                    MatchMode::Search => v1::MatchMode::Search,
                };
                v1::constraint::Source::Regex(v1::Regex {
                    pattern: pattern.clone(),
                    r#match: mode.into(),
                    dialect: dialect.into(),
                    and: and.clone(),
                    not: not.clone(),
                })
            }
            Source::Choice { items } => v1::constraint::Source::Choice(v1::Choice { items: items.clone() }),
            Source::Grammar { dialect, grammar, start, lexer, indentation, documents } => {
                let dialect = match dialect {
                    Dialect::Gbnf => v1::GrammarDialect::Gbnf,
                    Dialect::Ebnf => v1::GrammarDialect::Ebnf,
                    Dialect::Lark => v1::GrammarDialect::Lark,
                };
                let look_ahead = lexer.and_then(Lexer::look_ahead);
                let look_ahead = look_ahead.filter(|look_ahead| *look_ahead != LookAhead::default());
                let lexer = match lexer {
                    None => v1::GrammarLexer::Unspecified,
                    Some(Lexer::None) => v1::GrammarLexer::None,
                    Some(Lexer::Contextual(_)) => v1::GrammarLexer::Contextual,
                    Some(Lexer::Basic(_)) => v1::GrammarLexer::Basic,
                    Some(Lexer::Longest) => v1::GrammarLexer::Longest,
                };
                let documents = documents.iter().map(|GrammarDocument { name, text }| v1::GrammarDocument {
                    name: name.clone(),
                    text: text.clone(),
                });
                v1::constraint::Source::Grammar(v1::Grammar {
                    dialect: dialect.into(),
                    grammar: grammar.clone(),
                    start: start.clone(),
                    lexer: lexer.into(),
                    documents: documents.collect(),
                    lexer_look_ahead: look_ahead.map_or(0, |of| u32::from(of.characters())),
                    indent_by: unless(indentation.by(), Indentation::default().by()),
                    indent_depth: unless(indentation.depth(), Indentation::default().depth()),
                })
            }
            Source::Json { whitespace, numbers, nesting } => v1::constraint::Source::Json(v1::Json {
                whitespace: whitespace.to_string(),
                numbers: number_form_message(*numbers).into(),
                nesting: nesting
                    .map(|of| v1::JsonNesting { objects: of.objects.into(), arrays: of.arrays.into() }),
            }),
            Source::Schema { schema, options } => {
                v1::constraint::Source::Schema(schema::message(schema, options))
            }
            Source::Tag { format, special_text, options } => {
                let special_text = match special_text {
                    SpecialText::Both => v1::SpecialText::Both,
                    SpecialText::Token => v1::SpecialText::Token,
                    SpecialText::Spelled => v1::SpecialText::Spelled,
                };
                v1::constraint::Source::Tag(v1::StructuralTag {
                    format: format.clone(),
                    special_text: special_text.into(),
                    options: Some(schema::message("", options)),
                })
            }
        };
        let text_start = match constraint.text_start {
            TextStart::Exact => v1::TextStart::Exact,
            TextStart::StripOneSpace => v1::TextStart::StripOneSpace,
        };
        let token_classes = constraint.token_classes.iter().map(|(name, class)| v1::TokenClass {
            name: name.to_owned(),
            begin: ranges_of(&class.begin),
            fill: ranges_of(&class.fill),
            min: Some(class.min),
            max: class.max,
            end: ranges_of(&class.end),
        });
        Self {
            source: Some(source),
            text_start: text_start.into(),
            stop: constraint.stop.clone(),
            token_classes: token_classes.collect(),
            tokenization: match constraint.tokenization {
                Tokenization::Any => v1::Tokenization::Any,
                Tokenization::Canonical => v1::Tokenization::Canonical,
                Tokenization::CanonicalStrict => v1::Tokenization::CanonicalStrict,
                Tokenization::CanonicalHeal => v1::Tokenization::CanonicalHeal,
            }
            .into(),
        }
    }
}

/// A number, or 0 for the default.
fn unless(number: u8, default: u8) -> u32 {
    if number == default { 0 } else { number.into() }
}

/// An indentation, of whose numbers 0 is the default.
fn indentation(by: u32, depth: u32) -> Result<Indentation, ConvertError> {
    let of = |number: u32| match number {
        0 => Ok(None),
        number => u8::try_from(number).map(Some),
    };
    let found = |by: Option<u8>, depth: Option<u8>| Indentation::default().overwritten(by, depth);
    let unknown =
        |field, number| ConvertError::Unknown { field, found: i32::try_from(number).unwrap_or(i32::MAX) };
    let by_alone = of(by).ok().and_then(|by| found(by, None));
    let by_alone = by_alone.ok_or_else(|| unknown("constraint.grammar.indent_by", by))?;
    let both = of(depth).ok().and_then(|depth| by_alone.overwritten(None, depth));
    both.ok_or_else(|| unknown("constraint.grammar.indent_depth", depth))
}

fn json_nesting(nesting: v1::JsonNesting) -> Result<JsonNesting, ConvertError> {
    let of = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    JsonNesting::new(of(nesting.objects), of(nesting.arrays)).ok_or_else(|| ConvertError::Malformed {
        field: "constraint.json.nesting",
        reason: format!("at most {} objects and as many arrays", JsonNesting::MAX),
    })
}

fn ranges_of(ids: &[IdRange]) -> Vec<v1::IdRange> {
    ids.iter().map(|range| v1::IdRange { first: range.first, last: range.last }).collect()
}

fn token_classes(given: Vec<v1::TokenClass>) -> Result<NamedClasses, ConvertError> {
    let ranges = |ids: Vec<v1::IdRange>| {
        ids.into_iter().map(|range| IdRange { first: range.first, last: range.last }).collect()
    };
    let mut classes = NamedClasses::default();
    for v1::TokenClass { name, begin, fill, min, max, end } in given {
        let min = min.unwrap_or(1);
        let class = NamedClass { begin: ranges(begin), fill: ranges(fill), min, max, end: ranges(end) };
        if !classes.insert(name.clone(), class) {
            let reason = format!("the name {name:?} stands there twice");
            return Err(ConvertError::Malformed { field: "constraint.token_classes", reason });
        }
    }
    Ok(classes)
}

impl TryFrom<v1::Constraint> for Constraint {
    type Error = ConvertError;

    fn try_from(constraint: v1::Constraint) -> Result<Self, ConvertError> {
        let unknown = |field, error: prost::UnknownEnumValue| ConvertError::Unknown { field, found: error.0 };
        let text_start = v1::TextStart::try_from(constraint.text_start)
            .map_err(|error| unknown("constraint.text_start", error))?;
        let rule = match constraint.source {
            None => return Err(ConvertError::Missing { field: "constraint.source" }),
            Some(v1::constraint::Source::Choice(choice)) => Self::choice(choice.items),
            Some(v1::constraint::Source::Grammar(grammar)) => {
                let dialect = v1::GrammarDialect::try_from(grammar.dialect)
                    .map_err(|error| unknown("constraint.grammar.dialect", error))?;
                let lexer = v1::GrammarLexer::try_from(grammar.lexer)
                    .map_err(|error| unknown("constraint.grammar.lexer", error))?;
                let dialect = match dialect {
                    v1::GrammarDialect::Gbnf => Dialect::Gbnf,
                    v1::GrammarDialect::Ebnf => Dialect::Ebnf,
                    v1::GrammarDialect::Lark => Dialect::Lark,
                };
                let look_ahead = match grammar.lexer_look_ahead {
                    0 => LookAhead::default(),
                    number => {
                        let look_ahead = u8::try_from(number).ok().and_then(LookAhead::new);
                        let field = "constraint.grammar.lexer_look_ahead";
                        look_ahead.ok_or_else(|| ConvertError::Unknown {
                            field,
                            found: i32::try_from(number).unwrap_or(i32::MAX),
                        })?
                    }
                };
                let lexer = match lexer {
                    v1::GrammarLexer::Unspecified => dialect.default_lexer(&grammar.grammar),
                    v1::GrammarLexer::None => Some(Lexer::None),
                    v1::GrammarLexer::Contextual => Some(Lexer::Contextual(look_ahead)),
                    v1::GrammarLexer::Basic => Some(Lexer::Basic(look_ahead)),
                    v1::GrammarLexer::Longest => Some(Lexer::Longest),
                };
                let lexer = lexer.map(|lexer| lexer.looking_ahead(look_ahead));
                let documents = grammar.documents.into_iter();
                let documents =
                    documents.map(|of| GrammarDocument { name: of.name, text: of.text }).collect();
                let start =
                    if grammar.start.is_empty() { dialect.default_start().to_owned() } else { grammar.start };
                let indentation = indentation(grammar.indent_by, grammar.indent_depth)?;
                Self::grammar(dialect, grammar.grammar, start, lexer, documents).indented(indentation)
            }
            Some(v1::constraint::Source::Json(json)) => {
                let numbers = number_form("constraint.json.numbers", json.numbers)?;
                let nesting = json.nesting.map(json_nesting).transpose()?;
                Self::json_with(whitespace("constraint.json.whitespace", &json.whitespace)?, numbers)
                    .nested(nesting)
            }
            Some(v1::constraint::Source::Schema(schema)) => schema::constraint(schema)?,
            Some(v1::constraint::Source::Tag(tag)) => {
                let special_text = v1::SpecialText::try_from(tag.special_text)
                    .map_err(|error| unknown("constraint.tag.special_text", error))?;
                let special_text = match special_text {
                    v1::SpecialText::Unspecified | v1::SpecialText::Both => SpecialText::Both,
                    v1::SpecialText::Token => SpecialText::Token,
                    v1::SpecialText::Spelled => SpecialText::Spelled,
                };
                let options = tag.options.map_or(Ok(SchemaOptions::of_tags()), schema::options)?;
                Self::tag(&tag.format, special_text, options)
            }
            Some(v1::constraint::Source::Regex(regex)) => {
                let mode = v1::MatchMode::try_from(regex.r#match)
                    .map_err(|error| unknown("constraint.regex.match", error))?;
                let mode = match mode {
                    v1::MatchMode::Full => MatchMode::Full,
                    v1::MatchMode::Search => MatchMode::Search,
                };
                let dialect = v1::RegexDialect::try_from(regex.dialect)
                    .map_err(|error| unknown("constraint.regex.dialect", error))?;
                let dialect = match dialect {
                    v1::RegexDialect::Rust => RegexDialect::Rust,
                    v1::RegexDialect::Ecma => RegexDialect::Ecma,
                    v1::RegexDialect::Python => RegexDialect::Python,
                };
                Self::regex_with(regex.pattern, mode, dialect, regex.and, regex.not)
            }
        };
        let text_start = match text_start {
            v1::TextStart::Exact => TextStart::Exact,
            v1::TextStart::StripOneSpace => TextStart::StripOneSpace,
        };
        let tokenization = v1::Tokenization::try_from(constraint.tokenization)
            .map_err(|error| unknown("constraint.tokenization", error))?;
        let tokenization = match tokenization {
            v1::Tokenization::Any => Tokenization::Any,
            v1::Tokenization::Canonical => Tokenization::Canonical,
            v1::Tokenization::CanonicalStrict => Tokenization::CanonicalStrict,
            v1::Tokenization::CanonicalHeal => Tokenization::CanonicalHeal,
        };
        let rule = rule.cut(tokenization);
        let token_classes = token_classes(constraint.token_classes)?;
        Ok(rule.starting(text_start).stopping(constraint.stop).naming(token_classes))
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{NumberForm, Whitespace};

    use super::*;

    fn classes() -> NamedClasses {
        let ids = |of: &[(u32, u32)]| of.iter().map(|&(first, last)| IdRange { first, last }).collect();
        let image = NamedClass {
            begin: ids(&[(1, 1)]),
            fill: ids(&[(2, 9), (12, 12)]),
            min: 0,
            max: Some(4),
            end: ids(&[(10, 10)]),
        };
        let other =
            NamedClass { begin: Vec::new(), fill: ids(&[(3, 3)]), min: 1, max: None, end: Vec::new() };
        let mut classes = NamedClasses::default();
        assert!(classes.insert("IMAGE".into(), image) && classes.insert("OTHER".into(), other));
        classes
    }

    #[test]
    fn a_class_stands_there_once() {
        let mut message = v1::Constraint::from(&Constraint::regex("a").naming(classes()));
        message.token_classes.push(message.token_classes[0].clone());
        assert!(matches!(
            Constraint::try_from(message),
            Err(ConvertError::Malformed { field: "constraint.token_classes", .. })
        ));
    }

    #[test]
    fn a_constraint_is_read_as_it_was_sent() {
        for constraint in [
            Constraint::regex("a|ab"),
            Constraint::search("x\0y"),
            Constraint::regex_with(
                "a",
                MatchMode::Search,
                RegexDialect::Python,
                vec!["b".into()],
                vec!["c".into()],
            ),
            Constraint::regex("(?P<A>)").stopping(vec!["x".into(), "y".into()]).naming(classes()),
            Constraint::choice(["b", "a"]),
            Constraint::regex("a").cut(Tokenization::Canonical),
            Constraint::regex("a").cut(Tokenization::CanonicalStrict),
            Constraint::regex("a").cut(Tokenization::CanonicalHeal),
            Constraint::choice(Vec::<String>::new()),
            Constraint::json(Whitespace::Compact),
            Constraint::json_with(Whitespace::Single, NumberForm::Json),
            Constraint::json(Whitespace::Single).nested(JsonNesting::new(0, 16)),
            Constraint::tag("{}", SpecialText::Both, SchemaOptions::of_tags()),
            Constraint::tag("[]", SpecialText::Token, SchemaOptions::default()),
            Constraint::tag("[]", SpecialText::Spelled, SchemaOptions::default()),
            Constraint::gbnf("root ::= \"a\"", "root"),
            Constraint::grammar(Dialect::Ebnf, "root ::= \"a\"", "root", None, Vec::new()),
            Constraint::grammar(Dialect::Lark, "start: \"a\"", "start", None, Vec::new()),
            Constraint::grammar(Dialect::Lark, "start: \"a\"", "start", None, Vec::new())
                .indented(Indentation::new(2, 32).unwrap()),
            Constraint::grammar(
                Dialect::Lark,
                "start: \"a\"",
                "start",
                LookAhead::new(3).map(Lexer::Basic),
                Vec::new(),
            ),
            Constraint::grammar(
                Dialect::Lark,
                "start: \"a\"",
                "start",
                Some(Lexer::None),
                vec![GrammarDocument { name: "a".into(), text: "A: \"b\"".into() }],
            ),
            Constraint::grammar(Dialect::Lark, "start: \"a\"", "start", Some(Lexer::Longest), Vec::new()),
        ] {
            let sent = v1::Constraint::from(&constraint);
            assert_eq!(Constraint::try_from(sent), Ok(constraint));
        }
    }

    #[test]
    fn nothing_is_guessed() {
        for (by, depth, field, found) in
            [(17, 0, "constraint.grammar.indent_by", 17), (0, 300, "constraint.grammar.indent_depth", 300)]
        {
            assert_eq!(indentation(by, depth), Err(ConvertError::Unknown { field, found }));
        }
        assert_eq!(indentation(0, 2), Ok(Indentation::new(4, 2).unwrap()));
        assert_eq!(
            Constraint::try_from(v1::Constraint::default()),
            Err(ConvertError::Missing { field: "constraint.source" })
        );
        let mut newer = v1::Constraint::from(&Constraint::regex("a"));
        newer.text_start = 9;
        assert!(matches!(Constraint::try_from(newer), Err(ConvertError::Unknown { found: 9, .. })));
        let json = v1::Json { whitespace: String::new(), numbers: 9, ..v1::Json::default() };
        let newer = v1::Constraint { source: Some(v1::constraint::Source::Json(json)), ..Default::default() };
        let field = "constraint.json.numbers";
        assert_eq!(Constraint::try_from(newer), Err(ConvertError::Unknown { field, found: 9 }));
    }
}
