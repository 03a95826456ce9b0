//! Stacks: texts that call, and those that can be read in many ways.

use serde_json::Value;

use super::{TOKENIZER, has, lists};
use crate::gobo::{gobo, json, one};

/// A grammar that a text can be read by in ever more ways: nothing is narrowed, sixteen stacks are shown, and all are counted.
#[test]
fn texts_that_can_be_read_in_ever_more_ways_are_not_warned_of() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/palindromes.gbnf");
    let pair = ["--tokenizer", TOKENIZER, "--grammar", path];
    let out = store.join("index.gobo");
    let out = out.to_str().unwrap();
    let compiled = one(store, 0, &[&["compile", "--out", out], &pair[..]].concat());
    assert_eq!(compiled["class"], "ambiguous");
    let inspected = one(store, 0, &["inspect", out]);
    assert!(inspected["report"]["narrowed"].as_array().is_none_or(Vec::is_empty), "{inspected}");
    let text = "a".repeat(200);
    let explained = one(store, 0, &[&["explain", "--text", &text], &pair[..]].concat());
    assert_eq!(explained["configurations"].as_array().unwrap().len(), 16);
    assert!(explained["configuration_count"].as_u64().unwrap() > 90, "{explained}");
}

#[test]
fn explain_shows_the_stack_of_an_index_with_calls() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let (_, index) = lists(store);
    let explain = |status: i32, args: &[&str]| {
        one(store, status, &[&["explain", "--index", &index, "--tokenizer", TOKENIZER], args].concat())
    };
    let at = |text: &str| explain(0, &["--text", text]);
    let start = at("");
    assert_eq!((&start["class"], &start["bytes"]), (&"deterministic".into(), &"[".into()));
    assert_eq!((&start["stack_depth"], &start["forced"]), (&0.into(), &"[".into()));
    let inside = at("[[[x,[");
    let frame = serde_json::json!({"caller": "root", "callee": "root"});
    assert_eq!(inside["configurations"][0]["stack"], serde_json::json!([frame, frame, frame]));
    assert_eq!((&inside["stack_depth"], &inside["bytes"]), (&3.into(), &"[ ] x".into()));
    let end = at("[[x],x]");
    assert_eq!((&end["complete"], &end["bytes"], &end["allowed"]), (&true.into(), &"".into(), &1.into()));
    // What goes on behind a call, and behind its end, decides about a token: `]]` is 11907 there.
    let token = |text: &str| explain(0, &["--text", text, "--token", "11907"])["token"].clone();
    assert_eq!(token("[[x"), "token 11907 \"]]\" is allowed");
    let refused =
        "token 11907 \"]]\" is refused: after its \"]\" byte ] leads nowhere; there may come nothing";
    assert_eq!(token("[x"), refused);
    let stuck = explain(1, &["--text", "[x]]"]);
    assert_eq!((&stuck["taken"], &stuck["limit"]), (&3.into(), &Value::Null));
    let shown =
        gobo(store, &["explain", "--index", &index, "--tokenizer", TOKENIZER, "--text", &"[".repeat(12)]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let frames = "          in root, after root\n".repeat(8);
    assert!(
        shown.contains(&format!(", 11 frames on the stack, innermost first\n{frames}          … 3 more\n")),
        "{shown}"
    );

    // Without calls there is no stack to speak of.
    let regular = one(store, 0, &["explain", "--tokenizer", TOKENIZER, "--regex", "ab"]);
    assert_eq!((&regular["class"], &regular["configurations"]), (&"regular".into(), &Value::Null));

    let header = &one(store, 0, &["inspect", &index])["header"];
    assert_eq!((&header["class"], &header["push_depth"]), (&"deterministic".into(), &1.into()));
    has(header, &["return_states", "return_classes", "pairs", "pop_depth"]);
}

#[test]
fn what_can_be_read_in_many_ways_is_read_in_all_of_them() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let grammar = store.join("palindromes.gbnf");
    std::fs::write(&grammar, "root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"").unwrap();
    let target = ["--tokenizer", TOKENIZER, "--grammar", grammar.to_str().unwrap()];
    let explain =
        |status, text: &str| one(store, status, &[&["explain", "--text", text], &target[..]].concat());
    let ways = explain(0, "aaaa");
    assert_eq!((&ways["class"], &ways["complete"]), (&"ambiguous".into(), &true.into()));
    assert_eq!(ways["configurations"].as_array().unwrap().len(), 3);
    let many = explain(0, &"a".repeat(200));
    assert_eq!((&many["limit"], &many["complete"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(many["configurations"].as_array().unwrap().len(), 16);
    let count = many["configuration_count"].as_u64().unwrap();
    assert!(count > 64, "{many}");
    let shown = gobo(store, &[&["explain", "--text", &"a".repeat(200)], &target[..]].concat());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&format!("          … {} more configurations\n", count - 16)), "{shown}");
    let mask = one(store, 0, &[&["mask", "--text", &"a".repeat(200)], &target[..]].concat());
    assert_eq!(mask["complete"], true);
    // One letter only, and no text is cut by a limit.
    std::fs::write(&grammar, "root ::= \"a\" root \"a\" | \"a\"").unwrap();
    let sampled = one(store, 0, &[&["sample", "--max-tokens", "500"], &target[..]].concat());
    assert_eq!(sampled["limit"], serde_json::Value::Null, "{sampled}");
    let cases = store.join("cases.jsonl");
    let line = serde_json::json!({
        "grammar": "root ::= \"a\" root \"a\" | \"\"", "accept": ["aa", "a".repeat(200)], "reject": ["a"],
    });
    std::fs::write(&cases, line.to_string()).unwrap();
    let printed = json(store, 0, &["check", "--tokenizer", TOKENIZER, cases.to_str().unwrap()]);
    assert!(printed[0]["wrong"].as_array().unwrap().is_empty(), "{}", printed[0]);
}

/// The rules that a text stands in, by each way to read it, up to where it is alive.
#[test]
fn explain_names_the_rules_that_a_text_stands_in() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let explain = |status: i32, args: &[&str]| {
        one(store, status, &[&["explain", "--tokenizer", TOKENIZER], args].concat())["ways"].clone()
    };
    let rule = |name: &str, from: usize| serde_json::json!({"name": name, "from": from});
    let (_, index) = lists(store);
    let way = |rules: &[Value]| serde_json::json!({"list": [rules], "has_more": false});
    let inside = way(&[rule("root", 0), rule("item", 1), rule("root", 1)]);
    assert_eq!(explain(0, &["--index", &index, "--text", "[["]), inside);
    assert_eq!(explain(1, &["--index", &index, "--text", "[[z"]), inside);
    let pattern = "(?P<QUOTED_TEXT>)|\"[a-z]+\"";
    let quoted = way(&[rule("regex", 0), rule("QUOTED_TEXT", 0)]);
    assert_eq!(explain(0, &["--regex", pattern, "--text", "\"ab"]), quoted);
    let limits = ["--text", "[[", "--max-steps", "10"];
    let unknown = explain(0, &[&["--index", &index], &limits[..]].concat());
    assert!(unknown["unknown"].as_str().unwrap().starts_with("over budget"), "{unknown}");
    // Of what has no named parts nothing is told.
    assert_eq!(explain(0, &["--regex", "[a-z]+", "--text", "ab"]), Value::Null);
    // As lines for a person, of which only the innermost rules are shown.
    let deep =
        gobo(store, &["explain", "--index", &index, "--tokenizer", TOKENIZER, "--text", &"[".repeat(12)]);
    let deep = String::from_utf8(deep.stdout).unwrap();
    let line = deep.lines().find(|line| line.starts_with("in ")).unwrap();
    assert!(line.starts_with("in        … 15 more › item@8 › root@8 › "), "{line}");
}
