//! The command line as scripts see it: names, JSON keys, exit status.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::gobo::{Daemon, gobo, json, one};

const TOKENIZER: &str = "r50k_base";

fn has(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

/// A tokenizer file of single letters, `ab`, and one special token.
pub(crate) fn tiny_tokenizer(folder: &Path) -> String {
    let path = folder.join("tokenizer.json");
    let text = r#"{"version":"1.0","added_tokens":[{"id":4,"content":"<eos>","special":true,"single_word":false,
            "lstrip":false,"rstrip":false,"normalized":false}],"normalizer":null,"post_processor":null,
        "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
        "decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
        "model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"<eos>":4},"merges":["a b"]}}"#;
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn tokenizers_are_imported_listed_and_shown() {
    let store = tempfile::tempdir().unwrap();
    let path = tiny_tokenizer(store.path());
    let keys = ["name", "kind", "tokens", "logits_width", "special", "eos", "bos", "pad", "digest", "bytes"];
    let import = ["tokenizer", "import", &path, "--name", "tiny", "--logits-width", "8"];
    let import = [&import[..], &["--eos", "<eos>", "2", "--bos", "0"]].concat();
    let imported = one(store.path(), 0, &import);
    has(&imported, &keys);
    assert_eq!((&imported["tokens"], &imported["logits_width"]), (&5.into(), &8.into()));
    assert_eq!(imported["eos"], serde_json::json!([2, 4]));
    assert_eq!((&imported["bos"], &imported["pad"]), (&0.into(), &Value::Null));
    assert_eq!(one(store.path(), 0, &["tokenizer", "show", "tiny"]), imported);
    let listed = json(store.path(), 0, &["tokenizer", "list"]);
    assert!(listed.contains(&imported) && listed.len() == 4, "{listed:?}");
    // Listing builds nothing and reads no vocabulary whole: the built-in ones have no numbers before their first use, and a
    // damaged byte is not its matter.
    assert!(listed.iter().all(|line| line["name"] == "tiny" || line.get("tokens").is_none()), "{listed:?}");
    let digest = imported["digest"].as_str().unwrap();
    let vocabularies = store.path().join("v0/vocab").join(&digest[..2]);
    let file = std::fs::read_dir(&vocabularies).unwrap().next().unwrap().unwrap().path();
    let sound = std::fs::read(&file).unwrap();
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, damaged).unwrap();
    assert_eq!(json(store.path(), 0, &["tokenizer", "list"]), listed);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(json(store.path(), 0, &["tokenizer", "list"]).len(), 3, "it is not there");
    std::fs::write(&file, sound).unwrap();
    // The built-in ones are what their library decodes; a source of another tokenizer is not this one's.
    let verified = one(store.path(), 0, &["tokenizer", "verify", TOKENIZER]);
    has(
        &verified,
        &[
            "name",
            "passes",
            "compared",
            "mismatches",
            "round_trips",
            "lossy",
            "lost",
            "unspellable",
            "eos",
            "bos",
            "pad",
            "special",
            "holes",
            "duplicates",
            "only_inside",
            "as_replacement",
            "beside",
            "source",
            "judge",
            "digest",
        ],
    );
    assert_eq!((&verified["passes"], &verified["compared"]), (&true.into(), &50_256.into()));
    assert_eq!(one(store.path(), 1, &["tokenizer", "verify", TOKENIZER, "--source", &path])["passes"], false);
    // A width too small, an unknown EOS, a file that is none.
    for args in [["--logits-width", "3"], ["--eos", "<nope>"]] {
        assert_eq!(
            gobo(store.path(), &[&["tokenizer", "import", &path][..], &args].concat()).status.code(),
            Some(2)
        );
    }
    assert_eq!(gobo(store.path(), &["tokenizer", "import", "Cargo.toml"]).status.code(), Some(2));
}

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
    assert_eq!((&compiled["verdict"], &compiled["class"]), (&"index".into(), &"regular".into()));

    let inspected = one(store, 0, &["inspect", file]);
    has(&inspected, &["header", "sections", "report"]);
    has(&inspected["report"], &["enforced", "narrowed", "unspellable", "annotations", "widened", "notes"]);
    assert_eq!(inspected["header"]["index_key"], compiled["index_key"]);
    assert_eq!(one(store, 0, &["verify", file])["artifact_digest"], compiled["artifact_digest"]);

    let mask =
        |prefix: &str| one(store, 0, &["mask", "--tokenizer", &tiny, "--regex", "(ab)*c", "--text", prefix]);
    assert_eq!(mask(""), serde_json::json!({"complete": false, "allowed": 3, "ids": [0, 2, 3], "notes": []}));
    assert_eq!(mask("a")["ids"], serde_json::json!([1]));
    assert_eq!(mask("abc"), serde_json::json!({"complete": true, "allowed": 1, "ids": [4], "notes": []}));
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
    let refused = compile(&["--regex", r"a\b"]);
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
fn what_cannot_be_a_grammar_is_refused_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| {
        let path = store.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
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
        (&["compile", "--tokenizer", TOKENIZER, "--grammar", &lark], "& is of llguidance's dialect"),
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

/// What is no schema is refused, and how far an option gets is seen before that.
#[test]
fn schemas_are_read_with_their_options() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| {
        let path = store.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
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

#[test]
fn diff_answers_equal_or_the_shortest_text_and_its_taker() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let equal = one(store, 0, &["diff", "regex:(a|b)*", "regex:(a*b*)*"]);
    has(&equal, &["equal", "text", "bytes", "taken_by", "same_bytes", "same_vocabulary", "a", "b"]);
    assert_eq!((&equal["equal"], &equal["text"]), (&true.into(), &Value::Null));
    let differ = one(store, 1, &["diff", "regex:[0-9]{3}", r"regex:\d{3}"]);
    assert_eq!(differ["text"], "00\u{660}");
    assert_eq!(differ["bytes"], serde_json::json!([0x30, 0x30, 0xd9, 0xa0]));
    assert_eq!((&differ["taken_by"], &differ["b"]["kind"]), (&"b".into(), &"regex".into()));
    let text = one(store, 1, &["diff", "search:b", "regex:b"])["text"].clone();
    assert_eq!(text, "!b", "visible before smaller bytes");
    let items = store.join("items");
    std::fs::write(&items, "yes\nno\n").unwrap();
    let choice = format!("choice:{}", items.display());
    one(store, 0, &["diff", &choice, "regex:no|yes"]);
    // The option holds for both sides.
    let at_start = ["diff", "--text-start", "strip_one_space", "regex:a"];
    one(store, 0, &[&at_start[..], &["regex:a"]].concat());
    assert_eq!(one(store, 1, &["diff", "regex:a", "regex: ?a"])["text"], " a");
    let shown = gobo(store, &["diff", "regex:a{0,2}", "regex:a{0,3}"]);
    let shown = (shown.status.code(), String::from_utf8(shown.stdout).unwrap());
    assert_eq!(shown, (Some(1), "differ    \"aaa\"\ntaken by  B, regex:a{0,3}\n".into()));

    // Trouble is never taken for a difference.
    let refused = one(store, 2, &["diff", "regex:a", r"regex:a\b"]);
    assert_eq!((&refused["verdict"], &refused["side"]), (&"refused".into(), &"b".into()));
    let over = ["diff", "--max-states", "100", "regex:(a|b)*a(a|b){9}", "regex:a"];
    assert_eq!(one(store, 2, &over)["side"], "a");
    let none = "0".repeat(64);
    for args in [
        &["diff", "--max-pairs", "3", "regex:[ab]*a[ab]{9}", "regex:[ab]*b[ab]{9}"][..],
        &["diff", "regex:a"],
        &["diff", "regex:a", "nothing-here"],
        &["diff", "regex:a", &none],
        &["diff", "regex:a", "Cargo.toml"],
    ] {
        let output = gobo(store, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

/// A grammar of nested lists, and its index over the built-in tokenizer.
fn lists(store: &Path) -> (String, String) {
    let path = |name: &str| store.join(name).to_str().unwrap().to_owned();
    let (grammar, index) = (path("lists.gbnf"), path("lists.gobo"));
    std::fs::write(&grammar, "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"\n").unwrap();
    one(store, 0, &["compile", "--tokenizer", TOKENIZER, "--grammar", &grammar, "--out", &index]);
    (grammar, index)
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

#[test]
fn diff_compares_what_does_not_recur_and_refuses_the_rest() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let (grammar, index) = lists(store);
    for (a, b, side) in [(&*index, "regex:a", "a"), ("regex:a", &index, "b")] {
        let refused = one(store, 2, &["diff", a, b]);
        let why =
            "it is an index with calls; give the constraint itself; only regular constraints can be compared";
        assert_eq!(refused["reason"], why);
        assert_eq!((&refused["where"], &refused["side"]), (&"the whole grammar".into(), &side.into()));
    }
    std::fs::write(&grammar, "root ::= \"a\" tail\ntail ::= [0-9] tail | [0-9]").unwrap();
    one(store, 0, &["diff", &format!("grammar:{grammar}"), "regex:a[0-9]+"]);
    // A rule that is called and not copied is no obstacle.
    std::fs::write(&grammar, "root ::= word \",\" word\nword ::= \"<\" (\"abcdefgh\" | [0-9]*) \">\"")
        .unwrap();
    one(store, 0, &["diff", &format!("grammar:{grammar}"), "regex:<(abcdefgh|[0-9]*)>,<(abcdefgh|[0-9]*)>"]);
    one(store, 1, &["diff", &format!("grammar:{grammar}"), "regex:<(abcdefgh|[0-9]*)>,<(abcdefgh|[0-9]+)>"]);
}

#[test]
fn diff_compares_index_files_and_keys() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let tiny = tiny_tokenizer(store);
    let file = |name: &str| store.join(name).to_str().unwrap().to_owned();
    let (short, long, wide) = (file("short.gobo"), file("long.gobo"), file("wide.gobo"));
    for (out, tokenizer, pattern) in
        [(&short, &*tiny, "[abz]{1,2}"), (&long, &*tiny, "[ab]{1,3}"), (&wide, TOKENIZER, "[ab]{1,2}")]
    {
        one(store, 0, &["compile", "--tokenizer", tokenizer, "--regex", pattern, "--out", out]);
    }
    let differ = one(store, 1, &["diff", &short, &long]);
    assert_eq!((&differ["text"], &differ["taken_by"]), (&"aaa".into(), &"b".into()));
    assert_eq!((&differ["same_bytes"], &differ["same_vocabulary"]), (&false.into(), &true.into()));
    assert_eq!(one(store, 0, &["diff", &short, &short])["same_bytes"], true);
    // The tiny vocabulary lacks the z: what is left is what the other one was asked for.
    let other = one(store, 0, &["diff", &short, &wide]);
    assert_eq!((&other["same_bytes"], &other["same_vocabulary"]), (&false.into(), &false.into()));
    let shown = gobo(store, &["diff", &short, &wide]).stdout;
    assert!(String::from_utf8(shown).unwrap().contains("different vocabularies"));
    let against_its_constraint = gobo(store, &["diff", &short, "regex:[abz]{1,2}"]);
    assert_eq!(against_its_constraint.status.code(), Some(1));
    let hint = String::from_utf8(against_its_constraint.stderr).unwrap();
    assert!(hint.contains("vocabulary cannot write"), "{hint}");

    let found = one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", "[ab]{1,2}"]);
    let key = found["index_key"].as_str().unwrap();
    assert_eq!(one(store, 0, &["diff", key, &wide])["same_bytes"], true);

    // A changed byte in the tables is found before it becomes an answer.
    let mut bytes = std::fs::read(&short).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&long, bytes).unwrap();
    assert_eq!(gobo(store, &["diff", &short, &long]).status.code(), Some(2));
}

/// Every example of the documentation: behind a line `$ …` stands what it prints.
#[test]
fn examples_of_the_documentation_print_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bin = Path::new(env!("CARGO_BIN_EXE_gobo")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let store = tempfile::tempdir().unwrap();
    // The pages show what comes after the first use of a vocabulary, which says how long it took.
    one(store.path(), 0, &["tokenizer", "show", TOKENIZER]);
    let pages = ["docs/semantics.md", "docs/recursion.md", "docs/grammars.md"];
    let pages = pages.map(|page| std::fs::read_to_string(root.join(page)).unwrap()).concat();
    let blocks = pages.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut seen = 0;
    for example in blocks.flat_map(|block| block.strip_prefix("$ ").unwrap().split("\n$ ")) {
        let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command} 2>&1")]).current_dir(&root).env("PATH", &path);
        shell.env("GOBO_STORE", store.path()).env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
        let printed = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn a_grammar_is_linted_with_places_and_a_status() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let write = |name: &str, text: &str| {
        let path = store.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
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

#[test]
fn get_prewarm_status_and_rebuild_work_with_and_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let library = store.join("library");
    std::fs::create_dir(&library).unwrap();
    std::fs::write(library.join("digits.regex"), "[0-9]{1,3}\n").unwrap();
    std::fs::write(library.join("words.choice"), "yes\nno\n").unwrap();
    std::fs::write(library.join("more.jsonl"), "{\"id\":\"bad\",\"regex\":\"(\"}\n").unwrap();
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, library.to_str().unwrap()];
    let get = ["get", "--tokenizer", TOKENIZER, "--regex", "[0-9]{1,3}"];

    let prewarmed = || json(store, 0, &prewarm).pop().unwrap()["summary"].clone();
    let first = prewarmed();
    has(&first, &["done", "hits", "compiled", "refused", "over_budget", "failed", "seconds"]);
    assert_eq!((&first["done"], &first["compiled"], &first["refused"]), (&3.into(), &2.into(), &1.into()));
    let again = prewarmed();
    assert_eq!((&again["hits"], &again["compiled"]), (&2.into(), &0.into()));
    let got = one(store, 0, &get);
    has(&got, &["verdict", "source", "index_key", "path", "resolve_us"]);
    assert_eq!(got["source"], "map");

    let daemon = Daemon::start(store, &[]);
    assert_eq!(one(store, 0, &get)["path"], got["path"]);
    assert_eq!(one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", "x+"])["source"], "compile");
    assert_eq!(prewarmed()["hits"], 2);
    let status = one(store, 0, &["status"]);
    has(&status, &["store", "vocabularies", "indices", "bytes", "hits", "misses", "in_flight", "queued"]);
    assert_eq!(status["indices"], 3);
    let second = gobo(store, &["serve"]);
    assert_eq!(second.status.code(), Some(2), "two daemons on one store");
    drop(daemon);

    // The daemon was killed: its socket is dead, its files are not.
    assert_eq!(one(store, 0, &get)["source"], "map");
    std::fs::remove_dir_all(store.join("catalog")).unwrap();
    assert_eq!(one(store, 0, &["catalog", "rebuild"])["indices"], 3);
    assert_eq!(one(store, 0, &["status"])["indices"], 3);
    assert_eq!(one(store, 2, &["get", "--tokenizer", TOKENIZER, "--regex", "("])["verdict"], "refused");
}

#[test]
fn gc_pin_and_unpin_work_with_and_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let letters = store.join("letters");
    std::fs::create_dir(&letters).unwrap();
    let tokenizer = tiny_tokenizer(&letters);
    let get = |regex: &str| {
        let got = one(store, 0, &["get", "--tokenizer", &tokenizer, "--regex", regex]);
        (got["index_key"].as_str().unwrap().to_owned(), got["path"].as_str().unwrap().to_owned())
    };
    let ((kept, _), (gone, path)) = (get("a+"), get("b+"));
    // As if nobody had used them for a year, and nothing remembered.
    std::fs::remove_dir_all(store.join("catalog")).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(365 * 24 * 3600);
    let times = std::fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
    std::fs::File::open(&path).unwrap().set_times(times).unwrap();

    assert_eq!(one(store, 0, &["pin", &kept])["pinned"], 1);
    assert_eq!(one(store, 0, &["pin", &kept])["unchanged"], 1);
    assert_eq!(one(store, 0, &["pin", "--list"])["index_key"], kept.as_str());
    assert_eq!(gobo(store, &["pin"]).status.code(), Some(2));
    assert_eq!(gobo(store, &["pin", "nonsense"]).status.code(), Some(2));
    assert_eq!(gobo(store, &["pin", &"00".repeat(32)]).status.code(), Some(2), "not in the store");
    let sum = one(store, 0, &["gc"]);
    assert_eq!((&sum["indices"], &sum["removed"]), (&2.into(), &0.into()), "it is below its bound");
    for args in [&["gc", "--max-store-bytes", "0", "--dry-run"][..], &["gc", "--max-store-bytes", "0B"]] {
        assert!(std::path::Path::new(&path).exists());
        let lines = json(store, 0, args);
        let of = |what: &str| lines.iter().find(|line| line["what"] == what).unwrap();
        has(of("removed"), &["index_key", "bytes", "last_used_unix_ms"]);
        assert_eq!(
            (&of("removed")["index_key"], &of("pinned")["index_key"]),
            (&gone.clone().into(), &kept.clone().into())
        );
        has(of("sum"), &["dry_run", "bytes", "removed_bytes", "in_grace", "quarantine_removed"]);
        assert_eq!((&of("sum")["removed"], &of("sum")["pinned"]), (&1.into(), &1.into()));
    }
    assert!(!std::path::Path::new(&path).exists());

    let daemon = Daemon::start(store, &[]);
    assert_eq!(one(store, 0, &["unpin", &kept, &gone])["unpinned"], 1);
    assert!(json(store, 0, &["pin", "--list"]).is_empty());
    assert_eq!(get("b+").0, gone);
    let text = gobo(store, &["gc", "--max-store-bytes", "0"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&format!("spared, in grace {}", &gone[..16])), "{text}");
    assert!(text.contains("0 of 2 indices removed") || text.contains("1 of 2 indices removed"), "{text}");
    drop(daemon);
    for bad in [
        &["gc", "--max-store-bytes", "much"][..],
        &["serve", "--grace", "10"],
        &["serve", "--scrub-rate", "fast"],
    ] {
        assert_eq!(gobo(store, bad).status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn the_demo_ends_well_and_its_library_is_right() {
    let home = tempfile::tempdir().unwrap();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/library/everyday.jsonl");
    let printed = json(home.path(), 0, &["check", "--tokenizer", TOKENIZER, library]);
    let summary = &printed.last().unwrap()["summary"];
    assert_eq!((&summary["wrong"], &summary["refused"]), (&0.into(), &0.into()));
    let shown = json(home.path(), 0, &["demo"]);
    assert_eq!(shown.len(), 2 * usize::try_from(summary["cases"].as_u64().unwrap()).unwrap());
    let grammars = concat!(env!("CARGO_MANIFEST_DIR"), "/library/grammars.jsonl");
    let printed = json(home.path(), 0, &["check", "--tokenizer", TOKENIZER, grammars]);
    let summary = &printed.last().unwrap()["summary"];
    assert_eq!((&summary["index"], &summary["wrong"]), (&2.into(), &0.into()), "{summary}");
}
