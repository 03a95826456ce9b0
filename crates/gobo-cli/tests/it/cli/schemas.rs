//! JSON Schemas and their options.

use super::{TOKENIZER, written};
use crate::gobo::{gobo, json, one};

/// What is no schema is refused, and how far an option gets is seen before that.
#[test]
fn schemas_are_read_with_their_options() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| written(store, name, text);
    let schema = write("bad.schema.json", r#"{"type": 3}"#);
    let documents = write("documents.jsonl", "{\"uri\":\"a\",\"document\":{\"b\":1.0}}\n\n");
    let grammar = write("words.txt", "start: /[a-z]+/");
    let bad_documents = write("bad.jsonl", "\n{\"uri\":\"a\"}");
    let compile = ["compile", "--tokenizer", TOKENIZER];
    let options = [
        &["--draft", "draft2019-09", "--order", "any", "--whitespace", "flexible:3", "--spelling", "any"][..],
        &[
            "--format",
            "annotate",
            "--closed",
            "--max-depth",
            "64",
            "--documents",
            &documents,
            "--allow-widening",
        ],
        &["--dialect", "openapi-3.0", "--date-times", "naive"],
    ]
    .concat();
    let given = [&["--schema", &schema][..], &options].concat();
    assert_eq!(one(store, 2, &[&compile[..], &given].concat())["verdict"], "refused");
    for command in ["mask", "explain", "sample", "get"] {
        let args = [&[command, "--tokenizer", TOKENIZER][..], &given].concat();
        assert_eq!(one(store, 2, &args)["verdict"], "refused", "{command}");
    }
    let operand = format!("schema:{schema}");
    let refused = one(store, 2, &[&["diff", &operand, "regex:a"][..], &options].concat());
    assert_eq!((&refused["verdict"], &refused["side"]), (&"refused".into(), &"a".into()));
    let prewarmed = json(store, 0, &[&["prewarm", "--tokenizer", TOKENIZER, &schema][..], &options].concat());
    let summary = &prewarmed[1]["summary"];
    assert_eq!((&prewarmed[0]["verdict"], &prewarmed[0]["id"]), (&"refused".into(), &schema.as_str().into()));
    assert_eq!((&summary["done"], &summary["refused"]), (&1.into(), &1.into()));
    let cases = write("cases.jsonl", r#"{"schema":{"type":3},"invalid":true}"#);
    let checked = json(store, 0, &[&["check", "--tokenizer", TOKENIZER, &cases][..], &options].concat());
    assert_eq!(checked[1]["summary"]["refused"], 1);

    for (args, words) in [
        (&["--schema", &schema, "--max-depth", "65"][..], "65 is not in 0..=64"),
        (&["--schema", &schema, "--draft", "draft3"], "[possible values: draft4, draft6"),
        (&["--schema", &schema, "--order", "some"], "[possible values: declared, any]"),
        (&["--schema", &schema, "--documents", &bad_documents], "bad.jsonl:2:1"),
        (&["--schema", "nowhere"], "cannot read nowhere"),
        (&["--schema", &schema, "--builtin", "json"], "cannot be used with"),
        (&["--schema", &schema, "--start", "a"], "cannot be used with"),
        (
            &["--regex", "a", "--closed"],
            "--closed is an option of schemas, and there is none\nhint: --schema",
        ),
        (&["--order", "any"], "--order is an option of schemas"),
        (&["--schema", &schema, "--lexer", "none"], "cannot be used with"),
        (&["--regex", "a", "--import-dir", "."], "cannot be used with"),
        (&["--grammar", "a.lark", "--indent-by", "17"], "17 is not in 1..=16"),
        (&["--grammar", "a.lark", "--indent-depth", "0"], "0 is not in 1..=32"),
        (&["--dialect", "lark"], "--dialect is an option of grammars and schemas, and there is none"),
        (&["--regex", "a", "--dialect", "lark"], "cannot be used with"),
        (&["--builtin", "json", "--dialect", "openapi-3.0"], "cannot be used with"),
        (
            &["--schema", &schema, "--dialect", "lark"],
            "--dialect: lark is a dialect of grammars, not of schemas: json-schema, openapi-3.0",
        ),
        (
            &["--grammar", &grammar, "--dialect", "openapi-3.0"],
            "--dialect: openapi-3.0 is a dialect of schemas, not of grammars: gbnf, ebnf, lark",
        ),
        (
            &["--grammar", &grammar, "--dialect", "abnf"],
            "[possible values: gbnf, ebnf, lark, json-schema, openapi-3.0]",
        ),
    ] {
        let output = gobo(store, &[&compile[..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
    let stderr = String::from_utf8(gobo(store, &["mask", "--index", "x", "--closed"]).stderr).unwrap();
    assert!(stderr.contains("--closed is an option of schemas"), "{stderr}");
}
