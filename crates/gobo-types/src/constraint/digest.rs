//! The digest of a constraint.

use super::{
    Constraint, GrammarDocument, Indentation, JsonNesting, MatchMode, Notation, RegexDialect, SchemaDocument,
    SchemaOptions, Source, TextStart, Tokenization,
};
use crate::{ConstraintDigest, KeyHasher};

impl Constraint {
    /// The digest over the rule and every option that can change its language. O(length of the text).
    pub fn digest(&self) -> ConstraintDigest {
        let mut hasher = KeyHasher::new("gobo constraint v1").field("kind", self.kind().as_bytes());
        hasher = match &self.source {
            Source::Regex { pattern, mode, dialect, and, not } => {
                let mode: &[u8] = match mode {
                    MatchMode::Full => b"full",
                    MatchMode::Search => b"search",
                };
                let hasher = hasher.field("pattern", pattern.as_bytes()).field("match", mode);
                let hasher = if *dialect == RegexDialect::default() {
                    hasher
                } else {
                    hasher.field("dialect", dialect.name().as_bytes())
                };
                let hasher = and.iter().fold(hasher, |hasher, of| hasher.field("and", of.as_bytes()));
                not.iter().fold(hasher, |hasher, of| hasher.field("not", of.as_bytes()))
            }
            Source::Choice { items } => {
                items.iter().fold(hasher, |hasher, item| hasher.field("item", item.as_bytes()))
            }
            Source::Grammar { dialect, grammar, start, lexer, indentation, documents } => {
                let hasher = hasher
                    .field("dialect", dialect.name().as_bytes())
                    .field("grammar", grammar.as_bytes())
                    .field("start", start.as_bytes());
                let lexer = lexer.iter();
                let hasher =
                    lexer.fold(hasher, |hasher, lexer| hasher.field("lexer", lexer.to_string().as_bytes()));
                let hasher = if *indentation == Indentation::default() {
                    hasher
                } else {
                    hasher.field("indentation", indentation.to_string().as_bytes())
                };
                documents.iter().fold(hasher, |hasher, GrammarDocument { name, text }| {
                    hasher.field("document_name", name.as_bytes()).field("document", text.as_bytes())
                })
            }
            Source::Json { whitespace, numbers, nesting } => {
                let hasher = hasher
                    .field("whitespace", whitespace.to_string().as_bytes())
                    .field("numbers", numbers.name().as_bytes());
                nesting.iter().fold(hasher, |hasher, JsonNesting { objects, arrays }| {
                    hasher.field("nesting", &[*objects, *arrays])
                })
            }
            Source::Tag { format, special_text, options } => {
                let hasher = hasher.field("format", format.as_bytes());
                of_schemas(hasher.field("special_text", special_text.name().as_bytes()), options)
            }
            Source::Schema { schema, options } => {
                of_schemas(hasher.field("schema", schema.as_bytes()), options)
            }
        };
        let text_start = match self.text_start {
            TextStart::Exact => "exact",
            TextStart::StripOneSpace => "strip_one_space",
        };
        let hasher = hasher.field("text_start", text_start.as_bytes());
        let hasher = self.stop.iter().fold(hasher, |hasher, phrase| hasher.field("stop", phrase.as_bytes()));
        let hasher = self.token_classes.iter().fold(hasher, |hasher, (name, class)| {
            let class = serde_json::to_string(class).expect("plain data is JSON");
            hasher.field("token_class_name", name.as_bytes()).field("token_class", class.as_bytes())
        });
        let hasher = match self.tokenization {
            Tokenization::Any => hasher,
            canonical => hasher.field("tokenization", canonical.name().as_bytes()),
        };
        ConstraintDigest(hasher.finish())
    }
}

/// The fields of the options of schemas.
fn of_schemas(hasher: KeyHasher, options: &SchemaOptions) -> KeyHasher {
    let SchemaOptions {
        draft,
        dialect,
        order,
        notation,
        whitespace,
        spelling,
        numbers,
        format,
        date_times,
        closed,
        max_depth,
        documents,
        allow_widening,
    } = options;
    let hasher = hasher
        .field("draft", draft.map_or("", |draft| draft.name()).as_bytes())
        .field("dialect", dialect.name().as_bytes())
        .field("order", order.name().as_bytes())
        .field("whitespace", whitespace.to_string().as_bytes())
        .field("spelling", spelling.name().as_bytes())
        .field("numbers", numbers.name().as_bytes())
        .field("format", format.name().as_bytes())
        .field("date_times", date_times.name().as_bytes())
        .field("closed", &[u8::from(*closed)])
        .field("max_depth", &max_depth.map_or(0, |depth| depth + 1).to_le_bytes())
        .field("allow_widening", &[u8::from(*allow_widening)]);
    let hasher = match notation {
        Notation::Json => hasher,
        Notation::Yaml => hasher.field("notation", notation.name().as_bytes()),
    };
    documents.iter().fold(hasher, |hasher, SchemaDocument { uri, document }| {
        hasher.field("uri", uri.as_bytes()).field("document", document.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DateTimes, Dialect, Draft, FormatMode, Lexer, LookAhead, NumberForm, PropertyOrder, SchemaDialect,
        SpecialText, Spelling, Whitespace,
    };

    fn schema(text: &str, set: impl Fn(&mut SchemaOptions)) -> ConstraintDigest {
        let mut options = SchemaOptions::default();
        set(&mut options);
        Constraint::schema(text, options).digest()
    }

    fn document(uri: &str, document: &str) -> SchemaDocument {
        SchemaDocument { uri: uri.to_owned(), document: document.to_owned() }
    }

    fn grammar(dialect: Dialect, lexer: Option<Lexer>, documents: &[(&str, &str)]) -> ConstraintDigest {
        let documents =
            documents.iter().map(|&(name, text)| GrammarDocument { name: name.into(), text: text.into() });
        Constraint::grammar(dialect, "a ::= b\nb ::= \"\"", "a", lexer, documents.collect()).digest()
    }

    fn others(and: &[&str], not: &[&str]) -> ConstraintDigest {
        let [and, not] = [and, not].map(|of| of.iter().map(|&of| of.to_owned()).collect());
        Constraint::regex_with("a", MatchMode::Full, RegexDialect::Rust, and, not).digest()
    }

    fn naming(classes: &str) -> ConstraintDigest {
        Constraint::regex("a").naming(serde_json::from_str(classes).unwrap()).digest()
    }

    #[test]
    fn the_order_of_other_patterns_means_nothing() {
        assert_eq!(others(&["b", "a", "b"], &["d", "c"]), others(&["a", "b"], &["c", "d"]));
        assert_eq!(others(&[], &[]), Constraint::regex("a").digest());
    }

    #[test]
    fn the_digest_sees_all_that_changes_the_language_and_nothing_else() {
        let digests = [
            Constraint::regex("a").digest(),
            Constraint::search("a").digest(),
            Constraint::regex_with("a", MatchMode::Full, RegexDialect::Ecma, Vec::new(), Vec::new()).digest(),
            Constraint::regex_with("a", MatchMode::Full, RegexDialect::Python, Vec::new(), Vec::new())
                .digest(),
            others(&["a"], &[]),
            others(&["a", "b"], &[]),
            others(&["ab"], &[]),
            others(&["a"], &["b"]),
            others(&[], &["a", "b"]),
            Constraint::choice(["a"]).digest(),
            Constraint::choice(["a", "b"]).digest(),
            Constraint::choice(["a\nb"]).digest(),
            Constraint::regex("a").starting(TextStart::StripOneSpace).digest(),
            naming(r#"{"A":{"begin":[1]}}"#),
            naming(r#"{"B":{"begin":[1]}}"#),
            naming(r#"{"A":{"end":[1]}}"#),
            naming(r#"{"A":{"fill":[1]}}"#),
            naming(r#"{"A":{"fill":[1],"min":0}}"#),
            naming(r#"{"A":{"fill":[1],"max":1}}"#),
            naming(r#"{"A":{"begin":[1]},"B":{"begin":[1]}}"#),
            Constraint::gbnf("a ::= b\nb ::= \"\"", "a").digest(),
            Constraint::gbnf("a ::= b\nb ::= \"\"", "b").digest(),
            Constraint::gbnf("a ::= b\nb ::=  \"\"", "b").digest(),
            grammar(Dialect::Ebnf, None, &[]),
            grammar(Dialect::Lark, None, &[]),
            grammar(Dialect::Lark, Some(Lexer::None), &[]),
            grammar(Dialect::Lark, Some(Lexer::Contextual(LookAhead::default())), &[]),
            grammar(Dialect::Lark, Some(Lexer::Basic(LookAhead::default())), &[]),
            grammar(Dialect::Lark, LookAhead::new(1).map(Lexer::Basic), &[]),
            grammar(Dialect::Lark, LookAhead::new(1).map(Lexer::Contextual), &[]),
            grammar(Dialect::Lark, Some(Lexer::None), &[("a", "b")]),
            grammar(Dialect::Lark, Some(Lexer::None), &[("a", "c")]),
            grammar(Dialect::Lark, Some(Lexer::None), &[("b", "b")]),
            Constraint::json(Whitespace::Compact).digest(),
            Constraint::json(Whitespace::Single).digest(),
            Constraint::json(Whitespace::Flexible { max: 7 }).digest(),
            Constraint::json(Whitespace::Flexible { max: 8 }).digest(),
            Constraint::json(Whitespace::Indent { by: 8 }).digest(),
            Constraint::json_with(Whitespace::Indent { by: 8 }, NumberForm::Json).digest(),
            Constraint::json(Whitespace::Compact).nested(JsonNesting::new(0, 1)).digest(),
            Constraint::json(Whitespace::Compact).nested(JsonNesting::new(1, 0)).digest(),
            Constraint::tag("{}", SpecialText::Both, SchemaOptions::of_tags()).digest(),
            Constraint::tag("[]", SpecialText::Both, SchemaOptions::of_tags()).digest(),
            Constraint::tag("{}", SpecialText::Token, SchemaOptions::of_tags()).digest(),
            Constraint::tag("{}", SpecialText::Spelled, SchemaOptions::of_tags()).digest(),
            Constraint::tag("{}", SpecialText::Both, SchemaOptions::default()).digest(),
            schema("{}", |_| ()),
            schema("true", |_| ()),
            schema(r#"{"a":1,"b":1}"#, |_| ()),
            schema(r#"{"b":1,"a":1}"#, |_| ()),
            schema("{}", |options| options.draft = Some(Draft::Draft7)),
            schema("{}", |options| options.draft = Some(Draft::Draft202012)),
            schema("{}", |options| options.dialect = SchemaDialect::OpenApi30),
            schema("{}", |options| options.order = PropertyOrder::Any),
            schema("{}", |options| options.notation = Notation::Yaml),
            schema("{}", |options| options.whitespace = Whitespace::Compact),
            schema("{}", |options| options.spelling = Spelling::Any),
            schema("{}", |options| options.numbers = NumberForm::Json),
            schema("{}", |options| options.format = FormatMode::Annotate),
            schema("{}", |options| options.date_times = DateTimes::Naive),
            schema("{}", |options| options.closed = true),
            schema("{}", |options| options.max_depth = Some(0)),
            schema("{}", |options| options.max_depth = Some(1)),
            schema("{}", |options| options.allow_widening = true),
            schema("{}", |options| options.documents = vec![document("a", "{}")]),
            schema("{}", |options| options.documents = vec![document("a", "true")]),
            schema("{}", |options| options.documents = vec![document("b", "{}")]),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|b| a != b), "{i}");
        }
        assert_eq!(naming(r#"{"A":{"begin":[1,2]}}"#), naming(r#"{"A":{"begin":[[1,2]],"end":[]}}"#));
        assert_eq!(schema(" { } ", |_| ()), schema("{}", |_| ()));
        let documents = [("a", "b"), ("c", "d"), ("a", "b")];
        let reversed = [("c", "d"), ("a", "b")];
        assert_eq!(grammar(Dialect::Lark, None, &documents), grammar(Dialect::Lark, None, &reversed));
        assert_eq!(Constraint::choice(["b", "a", "b"]).digest(), Constraint::choice(["a", "b"]).digest());
    }
}
