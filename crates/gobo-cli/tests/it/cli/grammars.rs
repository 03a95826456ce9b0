//! Grammars: dialects, options, and the lint.

use serde_json::Value;

use super::{TOKENIZER, has, written};
use crate::gobo::{gobo, json, one};

#[test]
fn grammars_and_json_are_constraints_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let grammar = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/arithmetic.gbnf");
    let out = store.join("index.gobo");
    let compile = ["compile", "--tokenizer", TOKENIZER, "--out", out.to_str().unwrap()];
    for (args, kind, class) in [
        (&["--grammar", grammar][..], "grammar", "deterministic"),
        (&["--grammar", grammar, "--start", "number"], "grammar", "regular"),
        (&["--builtin", "json"], "json", "deterministic"),
        (&["--builtin", "json", "--whitespace", "flexible:3"], "json", "deterministic"),
    ] {
        let compiled = one(store, 0, &[&compile[..], args].concat());
        assert_eq!(compiled["class"], class, "{args:?}");
        let inspected = one(store, 0, &["inspect", out.to_str().unwrap()]);
        assert_eq!(inspected["header"]["constraint_kind"], kind, "{args:?}");
        let narrowed = inspected["report"]["narrowed"].as_array().unwrap();
        assert_eq!(narrowed.is_empty(), kind == "grammar", "{args:?}");
    }
    let cases = store.join("cases.jsonl");
    let lines = [
        r#"{"id":"g","grammar":"a ::= \"(\" a \")\" | \"x\"","start":"a","accept":["x","((x))"],"reject":["(x"]}"#,
        r#"{"id":"j","json":"compact","accept":["[1,{}]"],"reject":["[1, 2]"],"incomplete":["[1,"]}"#,
    ];
    std::fs::write(&cases, lines.join("\n")).unwrap();
    let printed = json(store, 0, &["check", "--tokenizer", TOKENIZER, cases.to_str().unwrap()]);
    assert_eq!(printed[2]["summary"]["index"], 2);
}

#[test]
fn what_cannot_be_a_grammar_is_refused_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| written(store, name, text);
    let (bad, lark) =
        (write("bad.gbnf", "root ::= \"a\"\n  b"), write("some.lark", "start: A\nA: /a/ & ~/b/"));
    let compile = ["compile", "--tokenizer", TOKENIZER];
    let refused = one(store, 2, &[&compile[..], &["--grammar", &bad]].concat());
    assert_eq!((&refused["kind"], &refused["where"]), (&"malformed".into(), &"line 2, column 4".into()));
    let good = write("good.gbnf", "a ::= \"x\"");
    let refused = one(store, 2, &[&compile[..], &["--grammar", &good]].concat());
    assert_eq!(refused["reason"], "there is no rule root; there are a");
    let plain = write("plain.lark", "start: \"a\"");
    let nested = write("nested.gbnf", "root ::= \"(\" root \")\" | \"x\"");
    let operand = format!("grammar:{nested}");
    for (args, words) in [
        (
            &["diff", "regex:a", &operand][..],
            "a rule of it calls itself; only regular constraints can be compared",
        ),
        (
            &["diff", "json:single", "regex:a"],
            "a rule of it calls itself; only regular constraints can be compared",
        ),
        (&["diff", "json:some", "regex:a"], "no whitespace policy"),
        (
            &["compile", "--tokenizer", TOKENIZER, "--grammar", &lark, "--lexer", "basic"],
            "& is of llguidance's dialect",
        ),
        (
            &["compile", "--tokenizer", TOKENIZER, "--grammar", &lark, "--lexer", "basic:17"],
            "\"basic:17\" is no lexer",
        ),
        (
            &[
                "compile",
                "--tokenizer",
                TOKENIZER,
                "--grammar",
                &lark,
                "--lexer",
                "none",
                "--lexer-look-ahead",
                "2",
            ],
            "is of the lexers contextual and basic",
        ),
        (
            &["compile", "--tokenizer", TOKENIZER, "--grammar", &lark, "--lexer", "none", "--indent-by", "2"],
            "are of the lexers contextual and basic",
        ),
        (
            &["compile", "--tokenizer", TOKENIZER, "--grammar", &plain, "--indent-depth", "2"],
            "the grammar does not declare _INDENT and _DEDENT",
        ),
        (&["compile", "--tokenizer", TOKENIZER, "--regex", "a", "--start", "a"], "cannot be used with"),
        (&["compile", "--tokenizer", TOKENIZER, "--start", "a"], "--grammar"),
        (
            &["compile", "--tokenizer", TOKENIZER, "--regex", "a", "--whitespace", "single"],
            "cannot be used with",
        ),
        (&["compile", "--tokenizer", TOKENIZER, "--whitespace", "single"], "--builtin"),
        (&["compile", "--tokenizer", TOKENIZER, "--builtin", "json", "--whitespace", "flexible:0"], "policy"),
        (
            &["compile", "--tokenizer", TOKENIZER, "--builtin", "json", "--grammar", &good],
            "cannot be used with",
        ),
        (&["compile", "--tokenizer", TOKENIZER], "--builtin json"),
    ] {
        let output = gobo(store, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
    for line in [r#"{"regex":"a","json":"single"}"#, r#"{"regex":"a","start":"b"}"#, r#"{"json":"some"}"#] {
        let cases = write("cases.jsonl", line);
        assert_eq!(
            gobo(store, &["check", "--tokenizer", TOKENIZER, &cases]).status.code(),
            Some(2),
            "{line}"
        );
    }
}

#[test]
fn a_grammar_is_linted_with_places_and_a_status() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| written(store, name, text);
    let sums = write(
        "sums.gbnf",
        "root ::= root \"+\" root | [0-9]\n# ü\n  old ::= \"x\" none\nnone ::= \"(\" none",
    );
    let linted = one(store, 1, &["grammar", "lint", &sums]);
    has(&linted, &["class", "states", "return_states", "steps", "table_bytes", "pairs", "artifact_bytes"]);
    let named = |list: &str| {
        let names = linted[list].as_array().unwrap().iter();
        names
            .map(|of| format!("{} {} {}", of["name"].as_str().unwrap(), of["line"], of["column"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(named("unreachable"), ["old 3 3", "none 4 1"]);
    assert_eq!(named("empty"), ["old 3 3", "none 4 1"]);
    // What has no text calls nothing.
    assert_eq!(named("recursive"), ["root 1 1"]);
    assert_eq!(linted["recursive"][0]["kinds"], serde_json::json!(["left", "right", "self-embedding"]));
    assert_eq!(linted["trees"].as_array().unwrap().len(), 2);
    assert_eq!((&linted["pairs"], &linted["suspicious"]), (&Value::Null, &true.into()));
    let text = linted["ambiguous_text"].as_str().unwrap();
    assert!(text.len() == 5 && text.matches('+').count() == 2, "{text}");

    let words =
        write("words.lark", "start: (WORD \";\")+\nWORD: LETTER+\nLETTER: \"a\"..\"z\"\n%ignore \" \"\n");
    let lint = ["grammar", "lint", &words, "--lexer", "none", "--length", "5"];
    let clean = one(store, 0, &[&lint[..], &["--tokenizer", TOKENIZER]].concat());
    assert_eq!((&clean["class"], &clean["unambiguous_up_to"]), (&"regular".into(), &5.into()));
    assert!(clean["artifact_bytes"].as_u64().unwrap() > 0 && clean["pairs"] == 0, "{clean}");
    let shown = String::from_utf8(gobo(store, &lint).stdout).unwrap();
    assert!(shown.contains("two trees    of no text of at most 5 characters"), "{shown}");

    // What the lexer does, in its own fields.
    let package = write(
        "package.lark",
        "start: \"package\" NAME (\";\" | END)\nNAME: /[a-z]+/\nEND: \"\\n\"\n%ignore /\\s+/",
    );
    let linted = one(store, 1, &["grammar", "lint", &package]);
    let hidden =
        serde_json::json!([{"name": "END", "line": 3, "column": 1, "text": "\n", "read_as": "__IGNORE_0"}]);
    assert_eq!((&linted["lexer"]["hidden"], &linted["suspicious"]), (&hidden, &true.into()));
    assert_eq!(linted["lexer"]["glued"][0]["example"], "packagea");
    assert_eq!(clean["lexer"], Value::Null);

    // Without any text: a finding, and no index.
    let none = write("none.gbnf", "root ::= \"a\" root");
    let linted = one(store, 1, &["grammar", "lint", &none]);
    assert_eq!((&linted["verdict"]["verdict"], &linted["class"]), (&"refused".into(), &Value::Null));
    // What cannot be read has no findings.
    let broken = write("broken.gbnf", "root ::= (");
    assert_eq!(one(store, 2, &["grammar", "lint", &broken])["verdict"], "refused");
    // Names are those of the grammar under a lexer, too.
    assert_eq!(one(store, 0, &["grammar", "lint", &words])["suspicious"], false);
    for arguments in [&["--length", "65"][..], &["--dialect", "json-schema"], &["--threads", "2"]] {
        let output = gobo(store, &[&["grammar", "lint", &sums], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
