//! Splits a constraint into its text and its options, as an index file stores it, and restores it.

use serde::{Deserialize, Serialize};

use super::{Constraint, SchemaDocument, SchemaOptions, Source};
use crate::ConstraintDigest;

/// Everything of a constraint that is not its text.
#[derive(Debug, Serialize, Deserialize)]
struct Options {
    /// The constraint with an empty text and without documents. The items of a choice stay where one of them holds a line feed,
    /// which ends an item in the text.
    #[serde(flatten)]
    constraint: Constraint,
    /// Number of documents beside a schema: their texts are not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    document_count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Why a constraint cannot be restored from its text and options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The file was written by an older gobo.
    #[error("the file does not keep the options of its constraint: compiler epochs before 9 did not")]
    NoOptions,
    /// The options cannot be read.
    #[error("the options of the constraint cannot be read")]
    Options(#[source] serde_json::Error),
    /// References of the schema lead to documents whose text no file keeps.
    #[error("the schema was compiled beside {expected} documents, and {given} are given; give the same ones")]
    Documents {
        /// How many there were.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// Text, options and documents make another constraint than the file says.
    #[error("the text, the options and the documents have the digest {found}, and the file says {expected}")]
    Digest {
        /// That of the file.
        expected: ConstraintDigest,
        /// That of what was put together.
        found: ConstraintDigest,
    },
}

impl Constraint {
    /// Everything of it that is not in its [text](Self::text), as JSON; of documents beside a schema only their number, while those
    /// beside a grammar are kept.
    ///
    /// ```
    /// use gobo_types::Constraint;
    /// let constraint = Constraint::search("a+");
    /// let (text, options) = (constraint.text(), constraint.options_json());
    /// let restored = Constraint::restore(&text, &options, Vec::new(), &constraint.digest())?;
    /// assert_eq!(restored, constraint);
    /// # Ok::<(), gobo_types::RestoreError>(())
    /// ```
    pub fn options_json(&self) -> String {
        let mut document_count = 0;
        let source = match &self.source {
            Source::Regex { pattern: _, mode, dialect, and, not } => Source::Regex {
                pattern: String::new(),
                mode: *mode,
                dialect: *dialect,
                and: and.clone(),
                not: not.clone(),
            },
            Source::Choice { items } => {
                let is_ambiguous = items.iter().any(|item| item.contains('\n'));
                Source::Choice { items: if is_ambiguous { items.clone() } else { Vec::new() } }
            }
            Source::Grammar { dialect, grammar: _, start, lexer, indentation, documents } => {
                Source::Grammar {
                    dialect: *dialect,
                    grammar: String::new(),
                    start: start.clone(),
                    lexer: *lexer,
                    indentation: *indentation,
                    documents: documents.clone(),
                }
            }
            Source::Json { whitespace, numbers, nesting } => {
                Source::Json { whitespace: *whitespace, numbers: *numbers, nesting: *nesting }
            }
            Source::Tag { special_text, options, .. } => {
                document_count = options.documents.len();
                let options = Box::new(options.without_documents());
                Source::Tag { format: String::new(), special_text: *special_text, options }
            }
            Source::Schema { options, .. } => {
                document_count = options.documents.len();
                Source::Schema { schema: String::new(), options: Box::new(options.without_documents()) }
            }
        };
        let (stop, token_classes) = (self.stop.clone(), self.token_classes.clone());
        let (text_start, tokenization) = (self.text_start, self.tokenization);
        let constraint = Self { source, text_start, stop, token_classes, tokenization };
        serde_json::to_string(&Options { constraint, document_count }).expect("plain data is JSON")
    }

    /// The constraint with this [text](Self::text), these [options](Self::options_json) and, for a schema that was compiled beside
    /// some, these documents in their order. O(length of the text).
    ///
    /// # Errors
    /// [`RestoreError`] if they do not make the constraint with the digest `expected`.
    pub fn restore(
        text: &str,
        options: &str,
        documents: Vec<SchemaDocument>,
        expected: &ConstraintDigest,
    ) -> Result<Self, RestoreError> {
        let Options { mut constraint, document_count } =
            serde_json::from_str(options).map_err(RestoreError::Options)?;
        match &mut constraint.source {
            Source::Regex { pattern, .. } => text.clone_into(pattern),
            Source::Choice { items } if items.is_empty() => {
                *items = text.split('\n').map(str::to_owned).collect();
            }
            Source::Choice { .. } | Source::Json { .. } => {}
            Source::Grammar { grammar, .. } => text.clone_into(grammar),
            Source::Schema { schema: of, options } | Source::Tag { format: of, options, .. } => {
                text.clone_into(of);
                if document_count > 0 {
                    if documents.len() != document_count {
                        return Err(RestoreError::Documents {
                            expected: document_count,
                            given: documents.len(),
                        });
                    }
                    **options = SchemaOptions { documents, ..options.without_documents() }.compacted();
                }
            }
        }
        let found = constraint.digest();
        if found != *expected {
            return Err(RestoreError::Digest { expected: *expected, found });
        }
        Ok(constraint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DateTimes, Dialect, Draft, FormatMode, GrammarDocument, Indentation, Lexer, LookAhead, Notation,
        NumberForm, PropertyOrder, SchemaDialect, Spelling, TextStart, Whitespace,
    };

    fn documents() -> Vec<SchemaDocument> {
        vec![SchemaDocument { uri: "x:y".into(), document: "{}".into() }]
    }

    #[test]
    fn every_constraint_comes_back() {
        let options = SchemaOptions {
            draft: Some(Draft::Draft7),
            dialect: SchemaDialect::OpenApi30,
            order: PropertyOrder::Any,
            notation: Notation::Yaml,
            whitespace: Whitespace::Indent { by: 3 },
            spelling: Spelling::Any,
            numbers: NumberForm::Json,
            format: FormatMode::Annotate,
            date_times: DateTimes::Naive,
            closed: true,
            max_depth: Some(0),
            documents: documents(),
            allow_widening: true,
        };
        for constraint in [
            Constraint::regex("a\nb"),
            Constraint::search("").starting(TextStart::StripOneSpace),
            Constraint::regex("a+").stopping(vec!["b".to_owned(), "a".to_owned()]),
            Constraint::regex("(?P<A>)")
                .naming(serde_json::from_str(r#"{"A":{"begin":[1,3,2],"max":7}}"#).unwrap()),
            Constraint::regex("a+").cut(crate::Tokenization::Canonical),
            Constraint::choice(["b", "a", ""]),
            Constraint::choice([""]),
            Constraint::choice(["a\nb", "c"]),
            Constraint::gbnf("root ::= \"a\"", "root"),
            Constraint::gbnf("other ::= \"a\"", "other"),
            Constraint::grammar(Dialect::Ebnf, "root ::= \"a\"", "root", None, Vec::new()),
            Constraint::grammar(
                Dialect::Lark,
                "start: A\n%import a.A",
                "start",
                Some(Lexer::None),
                vec![GrammarDocument { name: "a".into(), text: "A: \"a\"".into() }],
            ),
            Constraint::grammar(
                Dialect::Lark,
                "start: A",
                "start",
                LookAhead::new(2).map(Lexer::Basic),
                vec![],
            ),
            Constraint::grammar(Dialect::Lark, "start: A", "start", None, vec![]),
            Constraint::grammar(Dialect::Lark, "start: A", "start", None, vec![])
                .indented(Indentation::new(2, 3).unwrap()),
            Constraint::grammar(Dialect::Lark, "start: A", "start", Some(Lexer::Longest), vec![]),
            Constraint::json(Whitespace::Flexible { max: 5 }),
            Constraint::json_with(Whitespace::Single, NumberForm::Json),
            Constraint::json(Whitespace::Single).nested(crate::JsonNesting::new(2, 3)),
            Constraint::schema(" { } ", SchemaOptions::default()),
            Constraint::tag("{}", crate::SpecialText::Token, SchemaOptions::of_tags()),
            Constraint::tag("{ }", crate::SpecialText::Both, options.clone()),
            Constraint::schema("true", options),
        ] {
            let documents = match &constraint.source {
                Source::Schema { options, .. } | Source::Tag { options, .. } => options.documents.clone(),
                _ => Vec::new(),
            };
            let (text, options) = (constraint.text(), constraint.options_json());
            let restored = Constraint::restore(&text, &options, documents, &constraint.digest());
            assert_eq!(restored.unwrap(), constraint, "{options}");
        }
    }

    #[test]
    fn what_is_not_the_same_is_said() {
        let options = SchemaOptions { documents: documents(), ..SchemaOptions::default() };
        let constraint = Constraint::schema("true", options);
        let (text, options, digest) = (constraint.text(), constraint.options_json(), constraint.digest());
        let restore = |text: &str, documents| Constraint::restore(text, &options, documents, &digest);
        assert!(matches!(restore(&text, Vec::new()), Err(RestoreError::Documents { expected: 1, given: 0 })));
        let other = vec![SchemaDocument { uri: "x:z".into(), document: "{}".into() }];
        assert!(matches!(restore(&text, other), Err(RestoreError::Digest { .. })));
        assert!(matches!(restore("false", documents()), Err(RestoreError::Digest { .. })));
        assert!(matches!(
            Constraint::restore(&text, "{", Vec::new(), &digest),
            Err(RestoreError::Options(_))
        ));
    }
}
