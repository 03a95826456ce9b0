//! Libraries with bad entries, other owners of the catalog, and people who lose patience.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gobo::{Daemon, gobo, json};

const TOKENIZER: &str = "r50k_base";

/// Starts a command over a store, its temporary folders below `temporary`.
fn start(store: &Path, temporary: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
    command.args(args).env("GOBO_STORE", store).env("TMPDIR", temporary).env_remove("GOBO_SERVER");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_bad_entry_is_counted_and_hides_no_other() {
    let home = tempfile::tempdir().unwrap();
    let library = home.path().join("library");
    fs::create_dir(&library).unwrap();
    let lines = [
        r#"{"id":"a","regex":"a"}"#,
        "{",
        "",
        r#"{"id":"b","regex":"b","choice":["b"]}"#,
        r#"{"id":"c","regex":"c"}"#,
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n\xff\n");
    fs::write(library.join("lines.jsonl"), bytes).unwrap();
    fs::write(library.join("binary.regex"), b"\xff").unwrap();
    fs::write(library.join("refused.regex"), "(").unwrap();
    fs::write(library.join("empty.choice"), "a\n\n").unwrap();
    let path = library.to_str().unwrap();
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, path];
    let printed = json(home.path(), 1, &prewarm);
    let (summary, entries) = printed.split_last().unwrap();
    let of = |verdict: &str| -> Vec<String> {
        let of = entries.iter().filter(|line| line["verdict"] == verdict);
        of.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("index"), ["a", "c"]);
    assert_eq!(of("refused"), [format!("{path}/refused.regex")]);
    let unreadable = ["binary.regex", "empty.choice", "lines.jsonl:2", "lines.jsonl:4", "lines.jsonl:6"];
    assert_eq!(of("unreadable"), unreadable.map(|name| format!("{path}/{name}")));
    let summary = &summary["summary"];
    let counts =
        ["done", "compiled", "refused", "unreadable", "left"].map(|name| summary[name].as_u64().unwrap());
    assert_eq!(counts, [3, 2, 1, 5, 0]);
    assert!(entries.iter().all(|line| line["verdict"] != "index" || line["index_key"].is_string()));
    // For a person too.
    let shown = gobo(home.path(), &prewarm);
    let stderr = String::from_utf8(shown.stderr).unwrap();
    assert_eq!(shown.status.code(), Some(1));
    assert!(
        stderr.contains("lines.jsonl:2: ") && stderr.contains("\n5 entries are no constraints"),
        "{stderr}"
    );
    // What is given by name and is not there is a slip of the pen.
    for missing in ["nowhere", "Cargo.toml"] {
        assert_eq!(gobo(home.path(), &["prewarm", "--tokenizer", TOKENIZER, missing]).status.code(), Some(2));
    }
}

#[test]
fn indices_are_pinned_with_and_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let library = home.path().join("library.jsonl");
    fs::write(&library, "{\"regex\":\"a\"}\n{\"regex\":\"b\"}\n{\"regex\":\"(\"}\n").unwrap();
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, "--pin", library.to_str().unwrap()];
    let pinned = || json(home.path(), 0, &prewarm).pop().unwrap()["summary"]["pinned"].as_u64().unwrap();
    assert_eq!((pinned(), pinned()), (2, 0));
    let get =
        |regex: &str| json(home.path(), 0, &["get", "--pin", "--tokenizer", TOKENIZER, "--regex", regex]);
    get("c");
    let pins = || json(home.path(), 0, &["pin", "--list"]);
    assert_eq!(pins().len(), 3);
    let daemon = Daemon::start(home.path(), &[]);
    let key = get("d")[0]["index_key"].clone();
    assert!(pins().iter().any(|pin| pin["index_key"] == key));
    assert_eq!(pinned(), 0);
    drop(daemon);
}

/// Constraints that take some time each, so that a signal comes between.
fn slow(path: &Path, count: usize) {
    let lines = (0..count).map(|at| format!("{{\"id\":\"{at}\",\"regex\":\"(.{{0,20}}foo{at}){{0,9}}\"}}"));
    fs::write(path, lines.collect::<Vec<_>>().join("\n")).unwrap();
}

#[test]
fn an_interrupted_prewarm_says_how_far_it_got_and_the_owner_of_the_catalog_is_named() {
    let home = tempfile::tempdir().unwrap();
    let (store, temporary) = (home.path().join("store"), home.path().join("tmp"));
    fs::create_dir(&temporary).unwrap();
    let library = home.path().join("library.jsonl");
    slow(&library, 500);
    let args = ["prewarm", "--json", "--threads", "1", "--tokenizer", TOKENIZER, library.to_str().unwrap()];
    let mut child = start(&store, &temporary, &args);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    // Meanwhile nobody else may own the catalog, and nobody is told to ask a daemon that is not there.
    let second = gobo(&store, &["status"]);
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains(&format!("`gobo prewarm` (process {}) owns the catalog", child.id())),
        "{stderr}"
    );
    assert!(stderr.contains("\nhint: wait until it ends"), "{stderr}");
    // Listing needs no catalog.
    assert!(!json(&store, 0, &["ls"]).is_empty());
    signal(&child, "-INT");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let last: Value = serde_json::from_str(rest.last().unwrap()).unwrap();
    let count = |name: &str| last["summary"][name].as_u64().unwrap();
    assert_eq!(last["summary"]["interrupted"], true);
    assert!(count("done") > 0 && count("left") > 0 && count("done") + count("left") == 500, "{last}");
    let said = format!(
        "interrupted: {} of 500 done, 0 of them without an index, {} left",
        count("done"),
        count("left")
    );
    assert!(stderr.contains(&said), "{stderr}");
    assert!(is_empty(&temporary));
    // What is done is done.
    let library = json(&store, 0, &["ls"]);
    assert!(library.len() as u64 >= count("done"), "{library:?}");
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing() {
    for (name, status) in [("-INT", 130), ("-TERM", 143)] {
        let home = tempfile::tempdir().unwrap();
        let temporary = home.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let mut child = start(&home.path().join("store"), &temporary, &["demo"]);
        let begun = Instant::now();
        // In the middle of its import.
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("imports the vocabulary")));
        assert!(!is_empty(&temporary));
        std::thread::sleep(Duration::from_millis(200));
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "after {:?}", begun.elapsed());
        assert!(is_empty(&temporary));
    }
}
