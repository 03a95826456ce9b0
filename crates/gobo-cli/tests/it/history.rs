//! A daemon of two workers, what it has compiled before, and audits of what it has published.

use std::fs;

use gobo_artifact::Vocabulary;
use gobo_compiler::CompileOptions;
use gobo_types::{Budget, CompileLimits, Constraint};
use serde_json::{Value, json};

use crate::gobo::{Daemon, json as lines, one};

/// Prime, and larger than the number of lines: each line comes once, far from its neighbours.
const STEP: usize = 1_009;

/// The constraints of `tests/history.json` as lines of a library, in an order that mixes policies.
fn library() -> String {
    let file: Value = serde_json::from_str(include_str!("../../../../tests/history.json")).unwrap();
    let list = |name: &str| file[name].as_array().unwrap().clone();
    let mut all: Vec<Value> = list("grammars").iter().map(|grammar| json!({"grammar": grammar})).collect();
    for whitespace in list("whitespace") {
        all.push(json!({"json": whitespace}));
        for mut options in list("styles") {
            options["whitespace"] = whitespace.clone();
            all.extend(list("schemas").iter().map(|schema| json!({"schema": schema, "options": options})));
        }
    }
    all.extend(list("regexes").iter().map(|regex| json!({"regex": regex})));
    all.extend(list("choices").iter().map(|choice| json!({"choice": choice})));
    assert!(all.len() < STEP);
    let order = (0..all.len()).map(|at| at * STEP % all.len());
    order.map(|at| format!("{}\n", all[at])).collect::<Vec<_>>().concat()
}

#[test]
fn what_a_daemon_publishes_is_what_each_constraint_compiles_to_alone() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("library.jsonl");
    fs::write(&file, library()).unwrap();
    let file = file.to_str().unwrap();
    let daemon = Daemon::start(home.path(), &["--threads", "2"]);
    let warmed = lines(home.path(), 0, &["prewarm", "--tokenizer", "r50k_base", file]);
    assert_eq!(warmed.last().unwrap()["summary"]["failed"], 0, "{warmed:?}");
    drop(daemon);

    let audited = lines(home.path(), 0, &["verify", "--all", "--recompile", "--threads", "2"]);
    let summary = &audited.last().unwrap()["summary"];
    assert_eq!((&summary["faults"], &summary["undecided"]), (&json!(0), &json!(0)), "{audited:?}");
    assert!(summary["ok"].as_u64().unwrap() > 100, "{summary}");
}

#[test]
fn an_audit_tells_a_file_that_is_sound_and_wrong() {
    let home = tempfile::tempdir().unwrap();
    let get = ["get", "--tokenizer", "r50k_base", "--regex", "[ab]{3}"];
    let key = one(home.path(), 0, &get)["index_key"].as_str().unwrap().to_owned();
    let answer = one(home.path(), 0, &["verify", "--recompile", &key]);
    assert_eq!((&answer["ok"], &answer["recompiled"]), (&json!(true), &json!(true)));

    let place = home.path().join("forged.gobo");
    fs::write(&place, forged("[ab]{3}", "[ab]{4}")).unwrap();
    let place = place.to_str().unwrap();
    assert_eq!(one(home.path(), 0, &["verify", place])["ok"], json!(true));
    let answer = one(home.path(), 1, &["verify", "--recompile", place]);
    assert_eq!(answer["ok"], json!(false));
    assert!(answer["reason"].as_str().unwrap().contains("compiled alone"), "{answer}");
    // Without its vocabulary or with too small a budget nobody can tell.
    let answer = one(home.path(), 1, &["verify", "--recompile", "--max-states", "2", place]);
    assert_eq!(answer["ok"], Value::Null, "{answer}");
}

#[test]
fn schemas_beside_documents_are_audited_with_them() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (schema, documents, out) = (place("schema.json"), place("documents.jsonl"), place("out.gobo"));
    fs::write(&schema, r#"{"$ref": "http://example.com/number"}"#).unwrap();
    let line = r#"{"uri": "http://example.com/number", "document": {"type": "integer"}}"#;
    fs::write(&documents, format!("{line}\n")).unwrap();
    let of = ["--tokenizer", "r50k_base", "--schema", &schema, "--documents", &documents, "--out", &out];
    one(home.path(), 0, &[&["compile"], &of[..]].concat());
    let answer = one(home.path(), 1, &["verify", "--recompile", &out]);
    assert!(answer["reason"].as_str().unwrap().contains("1 documents"), "{answer}");
    let answer = one(home.path(), 0, &["verify", "--recompile", "--documents", &documents, &out]);
    assert_eq!(answer["recompiled"], json!(true));
}

/// The bytes of a file that says it is of one pattern, and has the tables of another: every digest in it is right.
fn forged(says: &str, is: &str) -> Vec<u8> {
    let table = gobo_tokenizer::builtin("r50k_base").unwrap().table;
    let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
    let budget = Budget::new(CompileLimits::default());
    let lowered = gobo_worker::lower(&Constraint::regex(is), &budget).unwrap();
    let options = CompileOptions::default();
    let compiled = gobo_compiler::compile(&vocabulary, &Constraint::regex(says), &lowered, &options, &budget);
    compiled.unwrap().bytes().to_vec()
}
