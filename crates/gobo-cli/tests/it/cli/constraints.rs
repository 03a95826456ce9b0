//! Constraints of all kinds, through the commands that take one.

use super::{TOKENIZER, has, tiny_tokenizer, written};
use crate::gobo::{gobo, json, one};

#[test]
fn one_constraint_through_compile_inspect_verify_mask_explain_and_sample() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let tiny = tiny_tokenizer(store);
    let file = store.join("index.gobo");
    let file = file.to_str().unwrap();
    let compiled = one(
        store,
        0,
        &["compile", "--tokenizer", &tiny, "--regex", "(ab)*c", "--out", file, "--repeat", "3"],
    );
    has(
        &compiled,
        &["verdict", "index_key", "artifact_digest", "artifact_bytes", "states", "rows", "distinct_rows"],
    );
    has(&compiled["compile_us"], &["min", "median", "max"]);
    has(&compiled["warm_us"], &["min", "median", "max"]);
    assert!(compiled["warm_shared_rows"].is_u64());
    assert_eq!((&compiled["verdict"], &compiled["class"]), (&"index".into(), &"regular".into()));

    let inspected = one(store, 0, &["inspect", file]);
    has(&inspected, &["header", "sections", "report"]);
    has(&inspected["report"], &["enforced", "narrowed", "unspellable", "annotations", "widened", "notes"]);
    assert_eq!(inspected["header"]["index_key"], compiled["index_key"]);
    assert_eq!(one(store, 0, &["verify", file])["artifact_digest"], compiled["artifact_digest"]);

    let mask =
        |prefix: &str| one(store, 0, &["mask", "--tokenizer", &tiny, "--regex", "(ab)*c", "--text", prefix]);
    let first =
        serde_json::json!({"taken_back": 0, "complete": false, "allowed": 3, "ids": [0, 2, 3], "notes": []});
    assert_eq!(mask(""), first);
    assert_eq!(mask("a")["ids"], serde_json::json!([1]));
    let last = serde_json::json!({"taken_back": 0, "complete": true, "allowed": 1, "ids": [4], "notes": []});
    assert_eq!(mask("abc"), last);
    let refused = one(store, 1, &["mask", "--tokenizer", &tiny, "--regex", "(ab)*c", "--text", "b"]);
    assert_eq!(refused["allowed"], 0);
    // An index stands for both, given its vocabulary's name or a store that knows it.
    assert_eq!(one(store, 0, &["mask", "--index", file, "--tokenizer", &tiny])["allowed"], 3);
    assert_eq!(gobo(store, &["mask", "--index", file]).status.code(), Some(2));
    assert_eq!(gobo(store, &["tokenizer", "import", &tiny, "--name", "tiny"]).status.code(), Some(0));
    assert_eq!(one(store, 0, &["mask", "--index", file])["allowed"], 3);

    let explained = one(store, 0, &["explain", "--index", file, "--text", "a", "--token", "2"]);
    assert!(explained["token"].as_str().unwrap().contains("refused"), "{explained}");
    let explained = gobo(store, &["explain", "--index", file, "--text", "ac"]);
    assert_eq!(explained.status.code(), Some(1));

    let samples = json(store, 0, &["sample", "--index", file, "-n", "5", "--seed", "3"]);
    assert_eq!(samples, json(store, 0, &["sample", "--index", file, "-n", "5", "--seed", "3"]));
    for sample in &samples {
        has(sample, &["text", "token_ids", "complete"]);
        let text = sample["text"].as_str().unwrap();
        assert!(sample["complete"] == false || text.trim_start_matches("ab") == "c", "{sample}");
    }

    // Bytes that are not what was written.
    let mut bytes = std::fs::read(file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let broken = store.join("broken.gobo");
    std::fs::write(&broken, bytes).unwrap();
    assert_eq!(one(store, 1, &["verify", broken.to_str().unwrap()])["ok"], false);
}

#[test]
fn refusals_name_kind_place_and_limit() {
    let home = tempfile::tempdir().unwrap();
    let tiny = tiny_tokenizer(home.path());
    let compile = |args: &[&str]| one(home.path(), 2, &[&["compile", "--tokenizer", &tiny], args].concat());
    let refused = compile(&["--regex", r"a\1"]);
    has(&refused, &["verdict", "kind", "where", "reason", "limit", "given"]);
    assert_eq!((&refused["kind"], &refused["where"]), (&"unsupported".into(), &"offset 1".into()));
    assert_eq!(compile(&["--regex", "a^b"])["kind"], "unsatisfiable");
    assert_eq!(compile(&["--regex", "-a"])["kind"], "unspellable", "a pattern may begin with a hyphen");
    let unspellable = compile(&["--regex", "az"]);
    assert_eq!(unspellable["kind"], "unspellable");
    assert!(unspellable["reason"].as_str().unwrap().contains("0x7a"), "{unspellable}");
    let over = compile(&["--regex", "(a|b)*a(a|b){9}", "--max-states", "100"]);
    assert_eq!(over["verdict"], "over_budget");
    assert_eq!((&over["limit"], &over["given"]), (&"max_states".into(), &100.into()));
    let items = home.path().join("items");
    std::fs::write(&items, "ab\nabz\n").unwrap();
    let item = compile(&["--choice", items.to_str().unwrap()]);
    assert_eq!((&item["kind"], &item["where"]), (&"unspellable".into(), &"item \"abz\"".into()));
    // Text at the start: the space before an item may be left out, the item's own may not.
    let at_start = ["compile", "--tokenizer", &tiny, "--text-start", "strip_one_space", "--choice"];
    std::fs::write(&items, "ab\n").unwrap();
    let items_path = items.to_str().unwrap();
    one(home.path(), 0, &[&at_start[..], &[items_path]].concat());
    std::fs::write(&items, "ab\n a\n").unwrap();
    assert_eq!(one(home.path(), 2, &[&at_start[..], &[items_path]].concat())["where"], "item \" a\"");
    // No constraint, two constraints, an empty line, an unknown tokenizer.
    std::fs::write(&items, "ab\n\nc\n").unwrap();
    for args in [
        &["compile", "--tokenizer", &tiny][..],
        &["compile", "--tokenizer", &tiny, "--regex", "a", "--choice", items.to_str().unwrap()],
        &["compile", "--tokenizer", &tiny, "--choice", items.to_str().unwrap()],
        &["compile", "--tokenizer", "nobody", "--regex", "a"],
    ] {
        let output = gobo(home.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn check_counts_cases_and_texts() {
    let home = tempfile::tempdir().unwrap();
    let cases = home.path().join("cases.jsonl");
    let lines = [
        r#"{"id":"good","regex":"a|ab","accept":["a","ab"],"reject":["b","abb"],"incomplete":[""],"extra":1}"#,
        r#"{"id":"search","regex":"b$","match":"search","accept":["xb"],"reject":["bx"]}"#,
        r#"{"id":"choice","choice":["x","yy"],"accept":["x","yy"],"reject":["y",""]}"#,
        r#"{"id":"bad","regex":"[z-a]","invalid":"malformed"}"#,
        r#"{"id":"no schema","schema":{"type":3},"tests":[{"data":1,"valid":true},{"data":"","valid":false}]}"#,
    ];
    std::fs::write(&cases, lines.join("\n")).unwrap();
    let path = cases.to_str().unwrap();
    let check = |status, path: &str| json(home.path(), status, &["check", "--tokenizer", TOKENIZER, path]);
    let printed = check(0, path);
    assert_eq!(printed.len(), lines.len() + 1);
    has(&printed[0], &["id", "verdict", "reason", "where", "compile_us", "valid", "invalid", "wrong"]);
    let refused = &printed[4];
    assert!(refused["where"].is_string() && printed[0]["where"].is_null(), "{refused}");
    assert_eq!((&refused["valid"], &refused["invalid"]), (&1.into(), &1.into()));
    let summary = &printed[lines.len()]["summary"];
    has(summary, &["unavailable", "order", "spelling", "not_encodable"]);
    let counts = ["cases", "index", "refused", "over_budget", "failed", "wrong"]
        .map(|key| summary[key].as_u64().unwrap());
    assert_eq!(counts, [5, 3, 2, 0, 0, 0]);

    // What is valid and too long to be respelled is neither right nor wrong; what can be respelled is judged.
    let numbers = r#"{"id":"numbers","schema":{"type":"integer"},"tests":[{"data":7e64,"valid":true},
        {"data":7e5000,"valid":true},{"data":7.5,"valid":false}]}"#;
    std::fs::write(&cases, numbers.replace('\n', "")).unwrap();
    let printed = check(0, path);
    assert_eq!((&printed[0]["spelling"], &printed[0]["not_respelled"]), (&1.into(), &1.into()));
    let summary = &printed[1]["summary"];
    assert_eq!((&summary["wrong"], &summary["not_respelled"]), (&0.into(), &1.into()));

    std::fs::write(&cases, r#"{"id":"lie","regex":"a","accept":["b"],"reject":["a"]}"#).unwrap();
    let printed = check(1, path);
    assert_eq!(printed[1]["summary"]["wrong"], 2);
    assert_eq!(printed[0]["wrong"][0], serde_json::json!({"text": "b", "expected": "accept"}));
    std::fs::write(&cases, "{").unwrap();
    assert_eq!(gobo(home.path(), &["check", "--tokenizer", TOKENIZER, path]).status.code(), Some(2));
}

/// The prompt is `http:`, two tokens, and the tokenizer writes `://` as one.
#[test]
fn texts_of_cases_may_stand_behind_prompts() {
    let home = tempfile::tempdir().unwrap();
    let cases = home.path().join("cases.jsonl");
    let lines = [
        r#"{"choice":["//x.org"," yes"],"tokenization":"canonical-strict","prompt":[50256,4023,25],"accept":[" yes"],"reject":["//x.org","yes"]}"#,
        r#"{"choice":["//x.org"," yes"],"tokenization":"canonical-heal","prompt":[4023,25],"accept":[" yes","//x.org"],"reject":["","://x.org"]}"#,
        r#"{"choice":["//x.org"],"tokenization":"canonical-strict","prompt":[4023,25],"reject":["//x.org"]}"#,
        r#"{"choice":["//x.org"],"tokenization":"canonical-strict","accept":["//x.org"]}"#,
    ];
    std::fs::write(&cases, lines.join("\n")).unwrap();
    let path = cases.to_str().unwrap();
    let printed = json(home.path(), 0, &["check", "--tokenizer", "r50k_base", path]);
    assert_eq!(printed[lines.len()]["summary"]["wrong"], 0);
    assert_eq!(printed[lines.len()]["summary"]["index"], 4);

    for (line, said) in [
        (r#"{"choice":["a"],"prompt":[1]}"#, "a prompt needs the tokenization canonical-strict"),
        (
            r#"{"choice":["a"],"tokenization":"canonical-heal","prompt":[67,67,67]}"#,
            "of the prompt, is not what the tokenizer",
        ),
    ] {
        std::fs::write(&cases, line).unwrap();
        let output = gobo(home.path(), &["check", "--tokenizer", "r50k_base", path]);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn what_was_probably_misspelt_is_noted() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let file = store.join("a.json");
    std::fs::write(&file, r#"{"properties":{"a":{"type":"null","maxlength":2}}}"#).unwrap();
    let pair = ["--tokenizer", TOKENIZER, "--schema", file.to_str().unwrap(), "--closed"];
    for command in ["compile", "mask", "get"] {
        let printed = one(store, 0, &[&[command], &pair[..]].concat());
        let note = &printed["notes"][0];
        assert_eq!(
            (&note["pointer"], &note["keyword"]),
            (&"/properties/a".into(), &"maxlength".into()),
            "{command}"
        );
    }
    for command in ["compile", "mask", "get", "explain"] {
        let shown = String::from_utf8(gobo(store, &[&[command], &pair[..]].concat()).stderr).unwrap();
        let note = "note: maxlength is no keyword and says nothing; did you mean maxLength? (/properties/a)";
        assert!(shown.contains(note), "{command}: {shown}");
    }
    let many: Vec<String> =
        (0..9).map(|at| format!(r#""p{at}":{{"enum":[{at}],"maxlength":{at}}}"#)).collect();
    std::fs::write(&file, format!(r#"{{"properties":{{{}}}}}"#, many.join(","))).unwrap();
    let shown = String::from_utf8(gobo(store, &[&["compile"], &pair[..]].concat()).stderr).unwrap();
    assert_eq!(shown.matches("note: ").count(), 6, "{shown}");
    assert!(shown.contains("note: and 4 more"), "{shown}");
}

/// Dialects of regular expressions and patterns beside them, as options and in case files.
#[test]
fn regular_expressions_have_dialects_and_others_beside_them() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let tiny = tiny_tokenizer(store);
    let mask = |options: &[&str]| {
        let mut args = vec!["mask", "--tokenizer", &tiny];
        args.extend(options);
        one(store, 0, &args)["ids"].clone()
    };
    assert_eq!(
        mask(&["--regex", "[abc]+", "--not", "a+", "--not", "(?=b).*", "--text", "a"]),
        serde_json::json!([0, 1, 2, 3])
    );
    assert_eq!(
        mask(&["--regex", "[abc]+", "--and", "..", "--not", ".b", "--text", "a"]),
        serde_json::json!([0, 2])
    );
    assert_eq!(
        mask(&["--regex", "a", "--match", "search", "--not", "b|c", "--text", ""]),
        serde_json::json!([0])
    );
    assert_eq!(
        mask(&["--regex", "(?<x>a)(?<=a)[^]", "--regex-dialect", "ecma", "--text", "a"]),
        serde_json::json!([0, 1, 2])
    );
    assert_eq!(
        mask(&["--regex", "(?P<x>a)\\Z", "--regex-dialect", "python", "--text", "a"]),
        serde_json::json!([4])
    );
    for args in [
        ["--regex", "a", "--regex-dialect", "perl"],
        ["--choice", "x", "--not", "a"],
        ["--builtin", "json", "--regex-dialect", "ecma"],
    ] {
        let mut all = vec!["mask", "--tokenizer", &tiny];
        all.extend(args);
        assert_eq!(gobo(store, &all).status.code(), Some(2), "{args:?}");
    }
    let cases = written(store, "cases.jsonl", "{\"choice\":[\"a\"],\"not\":[\"b\"]}");
    let said = gobo(store, &["check", "--tokenizer", &tiny, &cases]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("only a regex has a regex_dialect, and, not"));
}
