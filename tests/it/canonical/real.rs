//! Tokenizers that people use, and the constraints of Tran-Thien 2024 with others beside.

use std::sync::Arc;

use gobo_artifact::Vocabulary;
use gobo_tokenizer::builtin;
use gobo_types::{Constraint, SchemaOptions, TokenId, Whitespace};
use tiktoken_rs::CoreBPE;

use super::{Random, matcher, take, text_of, walk};

/// Constraints, each with texts of it.
const CONSTRAINTS: [(&str, &[&str]); 7] = [
    ("red|orange|yellow|green|blue|indigo|violet", &["red", "violet"]),
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        &["2024-02-29T23:59:60Z", "1999-12-31T00:00:00Z"],
    ),
    (r"([0-9]{1,3}\.){3}[0-9]{1,3}", &["192.168.0.1", "8.8.8.8"]),
    (r#""[^"\\\x00-\x1f]*""#, &["\"\"", "\"a quoted text, isn't it?  漢字 🙂\"", "\"Zoë’s   naïve  été\""]),
    (
        r#"\{"name":[ ]?"[^"\\\x00-\x1f]*",[ ]?"age":[ ]?[0-9]{1,3},[ ]?"tags":[ ]?\[("[a-z]+"(,[ ]?"[a-z]+")*)?\]\}"#,
        &[
            r#"{"name": "Ada Lovelace", "age": 36, "tags": ["maths", "poetry"]}"#,
            r#"{"name":"Łukasz O'Brien","age":7,"tags":[]}"#,
        ],
    ),
    (r"(?s).*", &["", "def f(x):\n    return x  # don't\n\n\n", "  two  spaces \n \n", "IT'S 1234567 ½٣23"]),
    (r"[A-Za-z ]{1,9}'(s|re|ll) [a-z]{1,9}\.", &["The dog's bone.", "WE're here."]),
];

/// Texts of rules that nest without end.
const NESTED: [&str; 4] = [
    r#"{"a":{"b":[]},"c":[[{}],{"d":null}]}"#,
    r#"[1, [2, [3, [4.5e-7, {"x y": ["]}", "\"}],", "漢字"]}]]], true]"#,
    r#""a quoted text, isn't it?""#,
    r#"{"": {}, "id": {"id": {"id": [{"id": -0.5}]}}, "}": "},{"}"#,
];

fn families() -> Vec<(String, Constraint, Vec<&'static str>)> {
    let of_regex = |(pattern, texts): (&str, &[&'static str])| {
        (pattern.to_owned(), Constraint::regex(pattern), texts.to_vec())
    };
    let mut all: Vec<_> = CONSTRAINTS.into_iter().map(of_regex).collect();
    let compact: Vec<&str> =
        NESTED.into_iter().filter(|text| !text.contains(": ") && !text.contains("1, ")).collect();
    all.push(("json, compact".to_owned(), Constraint::json(Whitespace::Compact), compact));
    all.push(("json".to_owned(), Constraint::json(Whitespace::Single), NESTED.to_vec()));
    let open = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "\u0023"}}, "required": ["id"]}"#;
    let texts = vec![
        r#"{"id": 1, "next": {"id": 22, "next": {"id": 333}, "more": [{"id": "x"}, {}]}}"#,
        r#"{"id":-7,"next":{"id":0},"idea":"id"}"#,
    ];
    all.push(("a schema".to_owned(), Constraint::schema(open, SchemaOptions::default()), texts));
    all
}

#[test]
fn ways_under_the_masks_of_built_in_vocabularies_are_their_encodings() {
    let encoders: [(&str, &CoreBPE); 3] = [
        ("r50k_base", tiktoken_rs::r50k_base_singleton()),
        ("cl100k_base", tiktoken_rs::cl100k_base_singleton()),
        ("o200k_base", tiktoken_rs::o200k_base_singleton()),
    ];
    let mut random = Random(3);
    // As many as are asked for.
    let ways = std::env::var("GOBO_CANONICAL_WAYS").map_or(30, |ways| ways.parse().unwrap());
    for (name, judge) in encoders {
        let vocabulary =
            Arc::new(Vocabulary::from_bytes(&builtin(name).unwrap().table.build().unwrap()).unwrap());
        let encode = |text: &str| -> Vec<TokenId> { judge.encode_ordinary(text) };
        for (pattern, constraint, texts) in families() {
            let mut matcher = matcher(&vocabulary, constraint).unwrap();
            for text in texts {
                matcher.reset();
                take(&mut matcher, &encode(text), &format!("{name}: {pattern}: {text}"));
            }
            let mut finished = 0;
            for _ in 0..ways {
                let Some(tokens) = walk(&mut matcher, &mut random, 30) else { continue };
                // A vocabulary over bytes writes what is no text, where the constraint lets it.
                let text = String::from_utf8(text_of(&vocabulary, &tokens)).unwrap();
                assert_eq!(encode(&text), tokens, "{name}: {text:?} of {pattern}");
                finished += 1;
            }
            println!("{name}: {pattern}: {finished} of {ways} ways are texts");
            assert!(finished > 0, "{name}: {pattern}");
        }
    }
}
