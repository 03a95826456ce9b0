//! A constraint from its JSON: the form in which `gobo_types::Constraint` is serialised, made canonical.
//!
//! A member that the form does not have is refused, not skipped: a misspelt option would stand for another constraint.

use std::collections::BTreeMap;

use gobo_types::{Constraint, Source};
use serde_json::value::RawValue;

use crate::status::{Failure, gobo_status};

/// The constraint of a JSON text. O(length of the text).
pub(crate) fn read(json: &str) -> Result<Constraint, Failure> {
    let malformed = |error: serde_json::Error| invalid(&format!("{error}"));
    let constraint: Constraint = serde_json::from_str(json).map_err(malformed)?;
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).map_err(malformed)?;
    let known = members_of(&constraint.source);
    let of_all = ["kind", "text_start", "stop", "token_classes", "tokenization"];
    let is_known = |name: &str| of_all.contains(&name) || known.contains(&name);
    if let Some(unknown) = members.keys().find(|name| !is_known(name)) {
        let (kind, known) = (constraint.kind(), known.join(", "));
        return Err(invalid(&format!(
            "unknown member {unknown:?}; of kind {kind:?} there are {known}, text_start, stop, token_classes and tokenization"
        )));
    }
    let names_start = members.contains_key("start");
    Ok(canonical(constraint, names_start))
}

fn invalid(why: &str) -> Failure {
    Failure::new(gobo_status::GOBO_INVALID, format!("the JSON of the constraint cannot be read: {why}"))
}

/// The members of the kind, those that all kinds have apart.
fn members_of(source: &Source) -> &'static [&'static str] {
    match source {
        Source::Regex { .. } => &["pattern", "match", "dialect", "and", "not"],
        Source::Choice { .. } => &["items"],
        Source::Grammar { .. } => &["dialect", "grammar", "start", "lexer", "indentation", "documents"],
        Source::Json { .. } => &["whitespace", "numbers", "nesting"],
        Source::Schema { .. } => &["schema", "options"],
        Source::Tag { .. } => &["format", "special_text", "options"],
    }
}

/// The same constraint as its constructor makes it: keys are derived from that form.
fn canonical(constraint: Constraint, names_start: bool) -> Constraint {
    let Constraint { source, text_start, stop, token_classes, tokenization } = constraint;
    let constraint = match source {
        Source::Choice { items } => Constraint::choice(items),
        Source::Schema { schema, options } => Constraint::schema(&schema, *options),
        Source::Grammar { dialect, grammar, start, lexer, indentation, documents } => {
            let start = if names_start { start } else { dialect.default_start().to_owned() };
            let constraint = Constraint::grammar(dialect, grammar, start, lexer, documents);
            constraint.indented(indentation)
        }
        Source::Regex { pattern, mode, dialect, and, not } => {
            Constraint::regex_with(pattern, mode, dialect, and, not)
        }
        Source::Tag { format, special_text, options } => Constraint::tag(&format, special_text, *options),
        Source::Json { whitespace, numbers, nesting } => {
            Constraint::json_with(whitespace, numbers).nested(nesting)
        }
    };
    constraint.starting(text_start).stopping(stop).naming(token_classes).cut(tokenization)
}

#[cfg(test)]
mod tests {
    use gobo_types::{
        Dialect, Draft, GrammarDocument, Lexer, MatchMode, NumberForm, PropertyOrder, RegexDialect,
        SchemaDocument, SchemaOptions, Spelling, TextStart, Whitespace,
    };

    use super::*;

    #[test]
    fn every_kind_reads_back_as_it_is_made() {
        let options = SchemaOptions {
            draft: Some(Draft::Draft7),
            order: PropertyOrder::Any,
            whitespace: Whitespace::Flexible { max: 3 },
            spelling: Spelling::Any,
            numbers: NumberForm::Json,
            closed: true,
            max_depth: Some(3),
            documents: vec![SchemaDocument { uri: "x:y".into(), document: "{}".into() }],
            ..SchemaOptions::default()
        };
        for constraint in [
            Constraint::regex("a\"\\d"),
            Constraint::search("a").starting(TextStart::StripOneSpace),
            Constraint::regex("a+").stopping(vec!["aa".to_owned()]),
            Constraint::regex("a+").cut(gobo_types::Tokenization::Canonical),
            Constraint::regex("(?P<A>)").naming(serde_json::from_str(r#"{"A":{"begin":[1]}}"#).unwrap()),
            Constraint::regex_with(
                "a",
                MatchMode::Full,
                RegexDialect::Ecma,
                vec!["b".into()],
                vec!["c".into()],
            ),
            Constraint::choice(["yes", "no"]),
            Constraint::gbnf("root ::= \"a\"", "root"),
            Constraint::grammar(Dialect::Lark, "start: \"a\"", "start", Some(Lexer::None), Vec::new()),
            Constraint::json(Whitespace::Indent { by: 2 }),
            Constraint::json_with(Whitespace::Single, NumberForm::Json),
            Constraint::json(Whitespace::Single).nested(gobo_types::JsonNesting::new(2, 3)),
            Constraint::schema("{\"type\":\"string\"}", SchemaOptions::default()),
            Constraint::tag("{}", gobo_types::SpecialText::Token, options.clone()),
            Constraint::schema("true", options),
        ] {
            let json = serde_json::to_string(&constraint).unwrap();
            assert_eq!(read(&json).unwrap(), constraint, "{json}");
        }
    }

    /// One of each kind.
    #[test]
    fn the_examples_of_the_page_are_constraints() {
        let (_, block) = include_str!("../../../docs/c-api.md").split_once("```json\n").unwrap();
        let examples: Vec<&str> = block.split_once("```").unwrap().0.lines().collect();
        let kinds: Vec<&str> = examples.iter().map(|json| read(json).unwrap().kind()).collect();
        assert_eq!(kinds, ["regex", "choice", "grammar", "json", "schema", "tag"]);
    }

    #[test]
    fn the_short_forms_have_the_digests_of_the_constructors() {
        let documents = vec![SchemaDocument { uri: "x:y".into(), document: "{ }".into() }];
        let schema =
            Constraint::schema("{\"a\": 1}", SchemaOptions { documents, ..SchemaOptions::default() });
        for (json, constraint) in [
            (r#"{"kind": "regex", "pattern": "[0-9]{4}"}"#, Constraint::regex("[0-9]{4}")),
            (r#"{"kind": "regex", "pattern": "a", "match": "search"}"#, Constraint::search("a")),
            (r#"{"kind": "choice", "items": ["b", "a", "b"]}"#, Constraint::choice(["a", "b"])),
            (
                r#"{"kind": "grammar", "grammar": "root ::= \"a\""}"#,
                Constraint::gbnf("root ::= \"a\"", "root"),
            ),
            (
                r#"{"kind": "grammar", "dialect": "lark", "grammar": "start: A", "lexer": "none", "documents": [{"name": "a", "text": ""}]}"#,
                Constraint::grammar(
                    Dialect::Lark,
                    "start: A",
                    "start",
                    Some(Lexer::None),
                    vec![GrammarDocument { name: "a".into(), text: String::new() }],
                ),
            ),
            (r#"{"kind": "json"}"#, Constraint::json(Whitespace::Single)),
            (
                r#"{"kind": "schema", "schema": "{ \"a\" : 1 }", "options": {"documents": [{"uri": "x:y", "document": "{}"}]}}"#,
                schema,
            ),
        ] {
            assert_eq!(read(json).unwrap().digest(), constraint.digest(), "{json}");
        }
    }

    #[test]
    fn a_dialect_fits_its_kind() {
        for (json, said) in [
            (r#"{"kind": "grammar", "grammar": "", "dialect": "openapi-3.0"}"#, "is a dialect of schemas"),
            (
                r#"{"kind": "schema", "schema": "{}", "options": {"dialect": "lark"}}"#,
                "is a dialect of grammars",
            ),
            (r#"{"kind": "schema", "schema": "{}", "dialect": "openapi-3.0"}"#, "there are schema, options"),
            (
                r#"{"kind": "regex", "pattern": "a", "dialect": "lark"}"#,
                "the dialect of a regular expression",
            ),
        ] {
            let failure = format!("{:?}", read(json).unwrap_err());
            assert!(failure.contains(said), "{json}: {failure}");
        }
    }

    #[test]
    fn what_is_not_the_form_is_refused() {
        for json in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"kind": "regex"}"#,
            r#"{"kind": "lark", "grammar": ""}"#,
            r#"{"kind": "regex", "pattern": 1}"#,
            r#"{"kind": "regex", "pattern": "a", "pattern": "b"}"#,
            r#"{"kind": "regex", "pattern": "a", "mach": "search"}"#,
            r#"{"kind": "regex", "pattern": "a", "items": ["a"]}"#,
            r#"{"kind": "regex", "pattern": "a", "match": "some"}"#,
            r#"{"kind": "json", "whitespace": "flexible:65"}"#,
            r#"{"kind": "json", "numbers": "any"}"#,
            r#"{"kind": "tag", "format": "{}", "special_text": "none"}"#,
            r#"{"kind": "schema", "schema": {}}"#,
            r#"{"kind": "schema", "schema": "{}", "options": {"close": true}}"#,
            r#"{"kind": "schema", "schema": "{}", "options": {"max_depth": -1}}"#,
            r#"{"kind": "regex", "pattern": "\ud800"}"#,
            r#"{"kind": "json"} x"#,
            &"[".repeat(100_000),
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
