//! Indices and tokenizers by name: what is listed, found, taken away, and said where nothing is found.

use std::path::Path;

use serde_json::Value;

use crate::cli::tiny_tokenizer;
use crate::gobo::{Daemon, gobo, json, one};

/// A store with one tiny vocabulary.
fn store() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let tiny = tiny_tokenizer(home.path());
    one(home.path(), 0, &["tokenizer", "import", &tiny, "--name", "tiny"]);
    (home, tiny)
}

fn get(store: &Path, tokenizer: &str, regex: &str) -> String {
    let got = one(store, 0, &["get", "--tokenizer", tokenizer, "--regex", regex]);
    got["index_key"].as_str().unwrap().to_owned()
}

/// What a failed command writes to stderr.
fn complaint(store: &Path, args: &[&str]) -> String {
    let output = gobo(store, args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{args:?}");
    stderr
}

#[test]
fn indices_are_listed_from_the_files_and_by_the_daemon() {
    let (home, _) = store();
    let store = home.path();
    assert!(json(store, 0, &["ls"]).is_empty());
    let long = format!("(ab)*{}", "c?".repeat(100));
    let keys = [get(store, "tiny", "a+"), get(store, "tiny", &long)];
    let from_files = json(store, 0, &["ls"]);
    let of = |lines: &[Value], key: &str| lines.iter().find(|line| line["index_key"] == key).unwrap().clone();
    for (key, text) in keys.iter().zip(["a+", &long]) {
        let line = of(&from_files, key);
        assert_eq!((&line["constraint"], &line["constraint_kind"]), (&text.into(), &"regex".into()));
        assert_eq!(line["vocabulary"], "tiny");
        assert!(
            line["bytes"].as_u64().unwrap() > 0 && line["published_unix_ms"].as_u64().unwrap() > 0,
            "{line}"
        );
        assert!(line["last_used_unix_ms"].as_u64() >= line["published_unix_ms"].as_u64(), "{line}");
    }
    let shown = String::from_utf8(gobo(store, &["ls"]).stdout).unwrap();
    assert_eq!(shown.lines().count(), 3);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains(&keys[0][..8]) && shown.contains("regex a+") && shown.contains('…'), "{shown}");
    let full = String::from_utf8(gobo(store, &["ls", "--full"]).stdout).unwrap();
    assert!(full.contains(&keys[1]) && full.contains(&long), "{full}");

    let daemon = Daemon::start(store, &[]);
    let by_daemon = json(store, 0, &["ls"]);
    assert_eq!(by_daemon.len(), 2);
    for key in &keys {
        let (one, two) = (of(&from_files, key), of(&by_daemon, key));
        for name in ["constraint", "constraint_kind", "vocabulary", "vocabulary_digest", "bytes"] {
            assert_eq!(one[name], two[name], "{name}");
        }
    }
    // A daemon whose store is not at hand tells everything itself.
    let elsewhere = tempfile::tempdir().unwrap();
    let server = format!("unix:{}", store.join("daemon.sock").display());
    let there = json(elsewhere.path(), 0, &["ls", "--server", &server]);
    assert_eq!(of(&there, &keys[0])["constraint"], "a+");
    assert_eq!(of(&there, &keys[0])["vocabulary"], "tiny");
    drop(daemon);
}

#[test]
fn the_beginning_of_a_key_is_taken_wherever_a_file_is() {
    let (home, _) = store();
    let store = home.path();
    let (key, other) = (get(store, "tiny", "a+"), get(store, "tiny", "b+"));
    let start = &key[..8];
    for args in [
        &["mask", "--index", start][..],
        &["explain", "--index", start],
        &["sample", "--index", start],
        &["inspect", start],
        &["verify", start],
        &["diff", start, "regex:a+"],
        &["pin", start],
        &["unpin", start],
    ] {
        one(store, 0, args);
    }
    // Of a daemon too.
    let daemon = Daemon::start(store, &[]);
    assert_eq!(one(store, 0, &["pin", start, &other])["pinned"], 2);
    assert_eq!(one(store, 0, &["unpin", start])["unpinned"], 1);
    drop(daemon);
    // A second index whose key begins like the first: only the name of its file counts here.
    let twin = format!("{}{}", &key[..32], "0".repeat(32));
    let path = |key: &str| store.join("v0/index").join(&key[..2]).join(format!("{key}.gobo"));
    std::fs::copy(path(&key), path(&twin)).unwrap();
    // Not of commands that open the catalog: that sets the stranger aside.
    for args in [&["mask", "--index", start][..], &["diff", start, "regex:a"], &["verify", start]] {
        let said = complaint(store, args);
        assert!(said.contains(&format!("2 indices have keys that begin with {start}")), "{said}");
        assert!(said.contains(&key) && said.contains(&twin), "{said}");
    }
    for (given, words) in
        [("0000000000", "no index here has a key that begins with 0000000000"), ("abc", "abc")]
    {
        let said = complaint(store, &["mask", "--index", given]);
        assert!(said.contains(words), "{said}");
    }
    assert!(complaint(store, &["pin", "xyz"]).contains("begins no key of an index"));
}

#[test]
fn a_tokenizer_is_removed_unless_indices_need_it() {
    let (home, tiny) = store();
    let store = home.path();
    one(store, 0, &["tokenizer", "import", &tiny, "--name", "twin"]);
    get(store, "tiny", "a+");
    let removed = one(store, 0, &["tokenizer", "rm", "tiny"]);
    assert_eq!((&removed["vocabulary_removed"], &removed["other_names"][0]), (&false.into(), &"twin".into()));
    let said = complaint(store, &["tokenizer", "rm", "twin"]);
    assert!(
        said.contains("1 indices in the store are for the vocabulary of twin")
            && said.contains("hint: --force"),
        "{said}"
    );
    assert!(complaint(store, &["tokenizer", "rm", "twni"]).contains("hint: did you mean twin?"));
    let removed = one(store, 0, &["tokenizer", "rm", "twin", "--force"]);
    assert_eq!((&removed["vocabulary_removed"], &removed["indices"]), (&false.into(), &1.into()));
    // Nothing needs it.
    assert_eq!(gobo(store, &["gc", "--max-store-bytes", "0"]).status.code(), Some(0));
    let index = json(store, 0, &["ls"])[0]["index_key"].as_str().unwrap().to_owned();
    std::fs::remove_file(store.join("v0/index").join(&index[..2]).join(format!("{index}.gobo"))).unwrap();
    one(store, 0, &["tokenizer", "import", &tiny, "--name", "tiny"]);
    let removed = one(store, 0, &["tokenizer", "rm", "tiny"]);
    assert_eq!(removed["vocabulary_removed"], true);
    assert!(!json(store, 0, &["tokenizer", "list"]).iter().any(|line| line["name"] == "tiny"));
    assert!(complaint(store, &["tokenizer", "rm", "o200k_base"]).contains("is built in"));
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let (home, _) = store();
    let store = home.path();
    let said = complaint(store, &["compile", "--tokenizer", "o200k", "--regex", "a"]);
    assert!(said.starts_with("error: no tokenizer \"o200k\": it is no name in the store"), "{said}");
    assert!(said.contains("\nhint: did you mean o200k_base?\nhint: `gobo tokenizer list` shows"), "{said}");
    assert!(said.contains("`gobo tokenizer import PATH`"), "{said}");
    assert!(
        complaint(store, &["get", "--tokenizer", "tinny", "--regex", "a"]).contains("did you mean tiny?")
    );
    let folder = store.to_str().unwrap();
    for args in [&["mask", "--index", folder][..], &["inspect", folder], &["diff", folder, "regex:a"]] {
        let said = complaint(store, args);
        assert!(said.contains("a folder, not a regular file"), "{said}");
    }
    let said = complaint(store, &["compile", "--tokenizer", "tiny", "--schema", folder]);
    assert!(said.starts_with(&format!("error: cannot read {folder}\n  caused by: ")), "{said}");
    let said = complaint(store, &["mask", "--index", "nowhere.gobo"]);
    assert!(said.contains("nowhere.gobo") && said.contains("\n  caused by: No such file"), "{said}");
    // A file of another epoch.
    let index = store.join("a.gobo");
    let out = index.to_str().unwrap();
    one(store, 0, &["compile", "--tokenizer", "tiny", "--regex", "a", "--out", out]);
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[8] ^= 0x40;
    std::fs::write(&index, bytes).unwrap();
    for args in [&["mask", "--index", out][..], &["inspect", out], &["diff", out, "regex:a"]] {
        let said = complaint(store, args);
        assert!(said.contains("format version") && said.contains("\nhint: compile it again"), "{said}");
    }
}

#[test]
fn a_token_is_explained_by_its_text_too() {
    let (home, _) = store();
    let store = home.path();
    let explain = |args: &[&str]| {
        let printed =
            one(store, 0, &[&["explain", "--tokenizer", "tiny", "--regex", "(ab)*c"], args].concat());
        printed["token"].as_str().unwrap().to_owned()
    };
    assert_eq!(explain(&["--token", "ab"]), explain(&["--token", "3"]));
    assert_eq!(explain(&["--token-text", "ab"]), "token 3 \"ab\" is allowed");
    assert!(explain(&["--token", "<eos>"]).starts_with("token 4 \"<eos>\" is refused"));
    let target = ["explain", "--tokenizer", "tiny", "--regex", "a"];
    let said = complaint(store, &[&target[..], &["--token", "abc"]].concat());
    assert!(
        said.contains("no token of the vocabulary is \"abc\"") && said.contains("is \"ab\", token 3"),
        "{said}"
    );
    let said = complaint(store, &[&target[..], &["--token-text", "3"]].concat());
    assert!(said.contains("no token of the vocabulary is \"3\""), "{said}");
    // Ids are names: no separators.
    let shown = gobo(store, &["mask", "--tokenizer", "r50k_base", "--regex", "a", "--text", "a"]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains("    50256  "));
    let shown = gobo(store, &["tokenizer", "show", "r50k_base"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("[50256]") && shown.contains("tokens          50,257"), "{shown}");
}

/// The first use of a built-in name imports it, and later ones map it.
#[test]
fn a_built_in_vocabulary_is_kept_where_it_can_be() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("cache");
    let compile = ["compile", "--tokenizer", "r50k_base", "--regex", "a"];
    let stderr = |store: &Path| String::from_utf8(gobo(store, &compile).stderr).unwrap();
    assert!(stderr(&store).contains("first use of r50k_base: imported in "));
    assert!(!stderr(&store).contains("first use"));
    let named = json(&store, 0, &["tokenizer", "list"]);
    assert!(named.iter().any(|line| line["name"] == "r50k_base" && line["tokens"] == 50_257), "{named:?}");
    assert!(one(&store, 0, &compile)["import_us"].is_null());
    // A file stands in the way: it goes on without, and says no more.
    let blocked = home.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    for _ in 0..2 {
        let output = gobo(&blocked, &compile);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(!stderr.contains("cannot"), "{stderr}");
        assert!(stderr.contains("first use of r50k_base"), "{stderr}");
    }
}

/// Keywords of the subschema in which a text stands, or in which a token is refused.
#[test]
fn explain_names_the_place_in_a_schema() {
    let (home, _) = store();
    let schema = home.path().join("order.schema.json");
    std::fs::write(
        &schema,
        r#"{"type":"object","additionalProperties":false,"required":["sku","qty"],"properties":{
            "sku":{"type":"string","maxLength":3},"qty":{"type":"integer","maximum":999}}}"#,
    )
    .unwrap();
    let target = ["explain", "--tokenizer", "r50k_base", "--schema", schema.to_str().unwrap()];
    let explain =
        |status, args: &[&str]| one(home.path(), status, &[&target[..], args].concat())["schema"].clone();
    let inside = explain(0, &["--text", r#"{"sku": "a", "qty": 99"#, "--token", "99"]);
    assert_eq!(inside["pointer"], "/properties/qty");
    assert_eq!(inside["keywords"], serde_json::json!({"type": "integer", "maximum": 999}));
    let between = explain(1, &["--text", r#"{"qty": 1"#]);
    assert_eq!((&between["pointer"], &between["is_between"]), (&"".into(), &true.into()));
    assert_eq!(
        between["name"],
        "\"qty\" cannot come before \"sku\", which is required: the order is declared"
    );
    let shown = gobo(home.path(), &[&target[..], &["--text", r#"{"sku": "abc"#, "--token", "d"]].concat());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\nschema    inside /properties/sku: type \"string\", maxLength 3\n"), "{shown}");
    let regex = one(home.path(), 0, &["explain", "--tokenizer", "tiny", "--regex", "a"]);
    assert!(regex["schema"].is_null());
}
