//! Differences of constraints and of files.

use serde_json::Value;

use super::{TOKENIZER, has, lists, tiny_tokenizer};
use crate::gobo::{gobo, one};

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
    let refused = one(store, 2, &["diff", "regex:a", r"regex:a\1"]);
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
